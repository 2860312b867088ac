-- GET endpoints

-- apps.find_scope
SELECT
  (SELECT count() FROM apps_v1 FINAL WHERE team_id = {team_id:UInt32} AND id = {app_id:Int64}) AS owned,
  (SELECT groupArray(id) FROM endpoints_v1 FINAL WHERE app_id = {app_id:Int64} AND (excluded OR arrayExists(
    pattern -> method LIKE pattern.1 AND path LIKE pattern.2,
    (SELECT groupArray((replaceAll(replaceAll(replaceAll(replaceAll(method, '\\', '\\\\'), '%', '\\%'), '_', '\\_'), '*', '%'), replaceAll(replaceAll(replaceAll(replaceAll(path, '\\', '\\\\'), '%', '\\%'), '_', '\\_'), '*', '%'))) FROM endpoint_exclusions_v1 FINAL WHERE app_id = {app_id:Int64} AND marked)
  ))) AS excluded_endpoint_ids,
  (SELECT groupArray((endpoint_id, status_code)) FROM endpoint_expected_errors_v1 FINAL WHERE app_id = {app_id:Int64} AND marked) AS expected_errors;

-- endpoints.list
SELECT id, method, path
FROM endpoints_v1 FINAL
WHERE app_id = {app_id:UInt32}
ORDER BY path, method, id
LIMIT 10000;
