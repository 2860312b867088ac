-- POST request-logs {"since":"2099-05-13T09:17","fields":["url","request_headers","exception_type"],"filters":[{"field":"request_headers","key":"accept","op":"contains","value":"json"},{"field":"url","op":"like","value":"%users%"}]}

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
SELECT concat('{"timestamp":', concat('"', replaceOne(toString(timestamp), ' ', 'T'), 'Z"'), ',"request_uuid":', concat('"', toString(request_uuid), '"'), ',"trace_id":', ifNull(toJSONString(nullIf(lower(hex(trace_id)), '00000000000000000000000000000000')), 'null'), ',"method":', toJSONString(method), ',"url":', substring(record_json, position(record_json, ',"url":') + 7, position(record_json, ',"status_code":') - (position(record_json, ',"url":') + 7)), ',"request_headers":', toJSONString(capture_members.request_headers), ',"exception_type":', ifNull(toJSONString(exception_type), 'null'), '}') AS line
FROM (
  SELECT * FROM (
    SELECT timestamp, request_uuid, endpoint_id, app_env_id, consumer_id, method, status_code, request_size_bytes, response_size_bytes, response_time_ms, client_country_iso_code, trace_id, exception_type, record_json,
    JSONExtract(concat('{', record_json), 'Tuple(url String)') AS record_members
    FROM request_logs_v1
    WHERE app_id = {app_id:UInt32}
    AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
    AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')
  ) AS logs
  LEFT ANY JOIN (
    SELECT timestamp, request_uuid, captured_json,
    JSONExtract(concat(substring(captured_json, 1, position(captured_json, ',"logs":[') - 1), '}'), 'Tuple(request_headers Array(Tuple(String, String)))') AS capture_members
    FROM request_details_v1
    WHERE app_id = {app_id:UInt32}
    AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
    AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')
      AND request_uuid IN (SELECT request_uuid FROM request_logs_v1 WHERE app_id = {app_id:UInt32}
    AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
    AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC'))
  ) AS details USING (timestamp, request_uuid)
  WHERE true
  AND arrayExists(header -> lower(header.1) = {filter_0_key:String} AND positionCaseInsensitiveUTF8(header.2, {filter_0:String}) > 0, capture_members.request_headers)
  AND record_members.url LIKE {filter_1:String}
  ORDER BY timestamp, request_uuid
  LIMIT 1 BY timestamp, request_uuid
)
);
