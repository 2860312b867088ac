-- POST request-logs {"since":"2099-05-13T09:17","format":"har"}

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
SELECT concat(',{"startedDateTime":', concat('"', replaceOne(toString(timestamp), ' ', 'T'), 'Z"'),
  ',"_request_uuid":', concat('"', toString(request_uuid), '"'),
  ',"time":', toString(response_time_ms),
  ',"request":{"method":', toJSONString(method), ',"url":', substring(record_json, position(record_json, ',"url":') + 7, position(record_json, ',"status_code":') - (position(record_json, ',"url":') + 7)), ',"httpVersion":"","cookies":',
  toJSONString(CAST(arrayMap(part -> (trimBoth(splitByChar('=', part)[1]), substring(part, length(splitByChar('=', part)[1]) + 2)), arrayFilter(part -> position(part, '=') > 0,
    arrayFlatten(arrayMap(h -> splitByChar(';', h.2), arrayFilter(h -> lower(h.1) = 'cookie', capture_members.request_headers))))), 'Array(Tuple(name String, value String))')),
  ',"headers":', toJSONString(CAST(capture_members.request_headers, 'Array(Tuple(name String, value String))')), ',"queryString":', toJSONString(CAST(arrayMap(part -> (toValidUTF8(decodeURLFormComponent(splitByChar('=', part)[1])), toValidUTF8(decodeURLFormComponent(substring(part, length(splitByChar('=', part)[1]) + 2)))),
    arrayFilter(part -> part != '', splitByChar('&', queryString(cutFragment(JSONExtractString(substring(record_json, position(record_json, ',"url":') + 7, position(record_json, ',"status_code":') - (position(record_json, ',"url":') + 7)))))))), 'Array(Tuple(name String, value String))')),
  if(isNull(capture_members.request_body_json), '', concat(',"postData":{"mimeType":', toJSONString(if((arrayFirst(h -> lower(h.1) = 'content-type', capture_members.request_headers)).2 = '' AND match(ifNull(capture_members.request_body_json, ''), '^[[{]'), 'application/json', (arrayFirst(h -> lower(h.1) = 'content-type', capture_members.request_headers)).2)), ',"text":', toJSONString(if(startsWith(assumeNotNull(capture_members.request_body_json), '"') AND position(lower((arrayFirst(h -> lower(h.1) = 'content-type', capture_members.request_headers)).2), 'json') = 0, JSONExtractString(assumeNotNull(capture_members.request_body_json)), assumeNotNull(capture_members.request_body_json))), '}')),
  ',"headersSize":-1,"bodySize":', toString(greatest(request_size_bytes, -1)),
  '},"response":{"status":', toString(status_code), ',"statusText":"","httpVersion":"","cookies":',
  toJSONString(CAST(arrayMap(part -> (trimBoth(splitByChar('=', part)[1]), substring(part, length(splitByChar('=', part)[1]) + 2)), arrayFilter(part -> position(part, '=') > 0,
    arrayFlatten(arrayMap(h -> [splitByChar(';', h.2)[1]], arrayFilter(h -> lower(h.1) = 'set-cookie', capture_members.response_headers))))), 'Array(Tuple(name String, value String))')),
  ',"headers":', toJSONString(CAST(capture_members.response_headers, 'Array(Tuple(name String, value String))')),
  ',"content":{"size":', toString(greatest(response_size_bytes, -1)), ',"mimeType":', toJSONString(if((arrayFirst(h -> lower(h.1) = 'content-type', capture_members.response_headers)).2 = '' AND match(ifNull(capture_members.response_body_json, ''), '^[[{]'), 'application/json', (arrayFirst(h -> lower(h.1) = 'content-type', capture_members.response_headers)).2)),
  if(isNull(capture_members.response_body_json), '', concat(',"text":', toJSONString(if(startsWith(assumeNotNull(capture_members.response_body_json), '"') AND position(lower((arrayFirst(h -> lower(h.1) = 'content-type', capture_members.response_headers)).2), 'json') = 0, JSONExtractString(assumeNotNull(capture_members.response_body_json)), assumeNotNull(capture_members.response_body_json))))),
  '},"redirectURL":', toJSONString((arrayFirst(h -> lower(h.1) = 'location', capture_members.response_headers)).2),
  ',"headersSize":-1,"bodySize":', toString(greatest(response_size_bytes, -1)),
  '},"cache":{},"timings":{"send":0,"wait":', toString(response_time_ms), ',"receive":0},"_consumer":', substring(record_json, position(record_json, ',"consumer":') + 12, position(record_json, ',"method":') - (position(record_json, ',"consumer":') + 12)),
  ',"_trace_id":', ifNull(toJSONString(nullIf(lower(hex(trace_id)), '00000000000000000000000000000000')), 'null'), '}') AS line
FROM (
  SELECT * FROM (
    SELECT timestamp, request_uuid, endpoint_id, app_env_id, consumer_id, method, status_code, request_size_bytes, response_size_bytes, response_time_ms, client_country_iso_code, trace_id, exception_type, record_json
    FROM request_logs_v1
    WHERE app_id = {app_id:UInt32}
    AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
    AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')
  ) AS logs
  LEFT ANY JOIN (
    SELECT timestamp, request_uuid, captured_json,
    JSONExtract(concat(substring(captured_json, 1, position(captured_json, ',"logs":[') - 1), '}'), 'Tuple(request_headers Array(Tuple(String, String)), request_body_json Nullable(String), response_headers Array(Tuple(String, String)), response_body_json Nullable(String))') AS capture_members
    FROM request_details_v1
    WHERE app_id = {app_id:UInt32}
    AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
    AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')
      AND request_uuid IN (SELECT request_uuid FROM request_logs_v1 WHERE app_id = {app_id:UInt32}
    AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
    AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC'))
  ) AS details USING (timestamp, request_uuid)
  ORDER BY timestamp, request_uuid
  LIMIT 1 BY timestamp, request_uuid
)
);
