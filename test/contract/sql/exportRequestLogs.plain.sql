-- POST request-logs {"since":"2099-05-13T09:17"}

-- request_logs.export_key
SELECT max((timestamp, request_uuid)) AS key, toUnixTimestamp64Milli(key.1) AS at, toString(key.2) AS uuid, count() AS rows
FROM (
  SELECT timestamp, request_uuid
  FROM request_logs_v1
  WHERE app_id = {app_id:UInt32}
    AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
    AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')
  ORDER BY timestamp, request_uuid
  LIMIT {count:UInt32}
);

-- request_logs.export
SELECT line FROM (
SELECT concat('{"timestamp":', concat('"', replaceOne(toString(timestamp), ' ', 'T'), 'Z"'), ',"request_uuid":', concat('"', toString(request_uuid), '"'), ',"trace_id":', ifNull(toJSONString(nullIf(lower(hex(trace_id)), '00000000000000000000000000000000')), 'null'), ',"env":', substring(record_json, length('"env":') + 1, position(record_json, ',"consumer":') - (length('"env":') + 1)), ',"method":', toJSONString(method), ',"path":', substring(record_json, position(record_json, ',"path":') + 8, position(record_json, ',"url":') - (position(record_json, ',"path":') + 8)), ',"url":', substring(record_json, position(record_json, ',"url":') + 7, position(record_json, ',"status_code":') - (position(record_json, ',"url":') + 7)), ',"consumer_id":', if(consumer_id = 0, 'null', toString(consumer_id)), ',"request_size_bytes":', if(request_size_bytes < 0, 'null', toString(request_size_bytes)), ',"status_code":', toJSONString(toInt32(status_code)), ',"response_time_ms":', toJSONString(response_time_ms), ',"response_size_bytes":', if(response_size_bytes < 0, 'null', toString(response_size_bytes)), ',"client_ip":', substring(record_json, position(record_json, ',"client_ip":') + 13, position(record_json, ',"client_country_iso_code":') - (position(record_json, ',"client_ip":') + 13)), ',"client_country_iso_code":', if(client_country_iso_code = '', 'null', toJSONString(client_country_iso_code)), '}') AS line
FROM (
  SELECT * FROM (
    SELECT timestamp, request_uuid, endpoint_id, app_env_id, consumer_id, method, status_code, request_size_bytes, response_size_bytes, response_time_ms, client_country_iso_code, trace_id, exception_type, record_json
    FROM request_logs_v1
    WHERE app_id = {app_id:UInt32}
    AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
    AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')
  ) AS logs
  ORDER BY timestamp, request_uuid
  LIMIT 1 BY timestamp, request_uuid
)
);
