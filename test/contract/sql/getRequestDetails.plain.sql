-- GET request-logs/0a0b0c0d-0e0f-4a0b-8c0d-0e0f0a0b0c0d

-- request_logs.find
WITH (
  SELECT argMax((timestamp, captured_json), timestamp) FROM request_details_v1 WHERE app_id = {app_id:UInt32} AND request_uuid = {request_uuid:UUID}
      AND timestamp >= fromUnixTimestamp64Milli({retained_from:Int64}, 'UTC')
) AS found
SELECT concat('{"timestamp":"', replaceOne(toString(timestamp), ' ', 'T'), 'Z","request_uuid":"', toString(request_uuid), '",', replaceOne(replaceOne(replaceOne(substring(record_json, 1, length(record_json) - 1), '"response_time_ms":null', '"response_time_ms":0'), '"request_size_bytes":null', '"request_size_bytes":0'), '"response_size_bytes":null', '"response_size_bytes":0'), ',',
  substring(if(found.2 = '', concat('{"request_headers":[],"response_headers":[],"request_body_json":null,"response_body_json":null,"trace_id":', if(trace_id = toFixedString('', 16), 'null', concat('"', lower(hex(trace_id)), '"')), ',"exception":null,"logs":[],"spans":[]}'), found.2), 2))
FROM request_logs_v1
WHERE app_id = {app_id:UInt32} AND request_uuid = {request_uuid:UUID}
  AND timestamp = found.1
LIMIT 1;

-- request_logs.find
WITH (
  SELECT argMax((timestamp, captured_json), (timestamp, captured_json != ''))
  FROM (
    SELECT timestamp, captured_json FROM request_details_v1 WHERE app_id = {app_id:UInt32} AND request_uuid = {request_uuid:UUID}
      AND timestamp >= fromUnixTimestamp64Milli({retained_from:Int64}, 'UTC')
    UNION ALL
    SELECT timestamp, '' FROM import_ledger_v1 WHERE app_id = {app_id:UInt32} AND request_uuid = {request_uuid:UUID}
      AND timestamp >= fromUnixTimestamp64Milli({retained_from:Int64}, 'UTC')
  )
) AS found
SELECT concat('{"timestamp":"', replaceOne(toString(timestamp), ' ', 'T'), 'Z","request_uuid":"', toString(request_uuid), '",', replaceOne(replaceOne(replaceOne(substring(record_json, 1, length(record_json) - 1), '"response_time_ms":null', '"response_time_ms":0'), '"request_size_bytes":null', '"request_size_bytes":0'), '"response_size_bytes":null', '"response_size_bytes":0'), ',',
  substring(if(found.2 = '', concat('{"request_headers":[],"response_headers":[],"request_body_json":null,"response_body_json":null,"trace_id":', if(trace_id = toFixedString('', 16), 'null', concat('"', lower(hex(trace_id)), '"')), ',"exception":null,"logs":[],"spans":[]}'), found.2), 2))
FROM request_logs_v1
WHERE app_id = {app_id:UInt32} AND request_uuid = {request_uuid:UUID}
  AND timestamp = found.1
LIMIT 1;
