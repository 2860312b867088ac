-- GET request-logs?start=2099-05-13T09:17&method=GET,POST&status_code=2xx,404

-- request_logs.page
SELECT concat('{"timestamp":"', replaceOne(toString(timestamp), ' ', 'T'), 'Z","request_uuid":"', toString(request_uuid), '",', replaceOne(record_json, '"response_time_ms":null', '"response_time_ms":0'))
FROM request_logs_v1
WHERE app_id = {app_id:UInt32}
  AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
  AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')
  AND method IN {methods:Array(String)}
  AND (status_code IN {codes:Array(UInt16)} OR intDiv(status_code, 100) IN {classes:Array(UInt16)})
ORDER BY timestamp DESC, request_uuid DESC
LIMIT {limit:UInt32};
