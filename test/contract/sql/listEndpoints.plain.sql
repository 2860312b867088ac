-- GET endpoints

-- apps.find_scope
SELECT
  (SELECT count() FROM apps_v1 FINAL WHERE team_id = {team_id:UInt32} AND id = {app_id:Int64}) AS owned,
  (SELECT groupArray(id) FROM endpoints_v1 FINAL WHERE app_id = {app_id:Int64} AND (excluded OR id IN (SELECT e.id FROM endpoints_v1 AS e FINAL CROSS JOIN endpoint_exclusions_v1 AS x FINAL WHERE e.app_id = {app_id:Int64} AND x.app_id = {app_id:Int64} AND x.marked AND e.method LIKE replaceAll(replaceAll(replaceAll(replaceAll(x.method, '\\', '\\\\'), '%', '\\%'), '_', '\\_'), '*', '%') AND e.path LIKE replaceAll(replaceAll(replaceAll(replaceAll(x.path, '\\', '\\\\'), '%', '\\%'), '_', '\\_'), '*', '%')))) AS excluded_endpoint_ids,
  (SELECT groupArray((endpoint_id, status_code)) FROM endpoint_expected_errors_v1 FINAL WHERE app_id = {app_id:Int64} AND marked) AS expected_errors;

-- endpoints.list
SELECT id, method, path
FROM endpoints_v1 FINAL
WHERE app_id = {app_id:UInt32}
ORDER BY path, method, id
LIMIT 10000;
