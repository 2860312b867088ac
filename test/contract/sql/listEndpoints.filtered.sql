-- GET endpoints?app_env_id=1&method=GET&path=/users/*

-- endpoints.list
SELECT id, method, path
FROM endpoints_v1 FINAL
WHERE app_id = {app_id:UInt32}
  AND id IN (
    SELECT endpoint_id FROM endpoint_activity_v1
    WHERE app_id = {app_id:UInt32} AND app_env_id = {app_env_id:Int64}
  )
  AND method IN {methods:Array(String)}
  AND path LIKE {path_like:String}
ORDER BY path, method, id
LIMIT 10000;
