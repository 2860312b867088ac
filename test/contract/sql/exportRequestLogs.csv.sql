-- POST request-logs {"since":"2099-05-13T09:17","format":"csv","fields":["path","status_code","response_time_ms"]}

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
SELECT timestamp AS timestamp,
  toString(request_uuid) AS request_uuid,
  nullIf(lower(hex(trace_id)), '00000000000000000000000000000000') AS trace_id,
  toString(method) AS method,
  record_members.path AS path,
  record_members.url AS url,
  toInt32(status_code) AS status_code,
  response_time_ms AS response_time_ms
FROM (
  SELECT * FROM (
    SELECT timestamp, request_uuid, endpoint_id, app_env_id, consumer_id, method, status_code, request_size_bytes, response_size_bytes, response_time_ms, client_country_iso_code, trace_id, exception_type, record_json,
    JSONExtract(concat('{', record_json), 'Tuple(path Nullable(String), url String)') AS record_members
    FROM request_logs_v1
    WHERE app_id = {app_id:UInt32}
    AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
    AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')
  ) AS logs
  ORDER BY timestamp, request_uuid
  LIMIT 1 BY timestamp, request_uuid
);
