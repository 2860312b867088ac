-- GET request-logs?start=2099-05-13T09:17&path=/users/*&app_env_id=1

-- request_logs.page
SELECT concat('{"timestamp":"', replaceOne(toString(timestamp), ' ', 'T'), 'Z","request_uuid":"', toString(request_uuid), '",', replaceOne(record_json, '"response_time_ms":null', '"response_time_ms":0'))
FROM request_logs_v1
WHERE app_id = {app_id:UInt32}
  AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
  AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')
  AND app_env_id = {app_env_id:Int64}
  AND endpoint_id IN (SELECT id FROM endpoints_v1 WHERE app_id = {app_id:UInt32} AND path LIKE {path_like:String})
ORDER BY timestamp DESC, request_uuid DESC
LIMIT {limit:UInt32};
