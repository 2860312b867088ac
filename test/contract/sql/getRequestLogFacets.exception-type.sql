-- GET request-logs/facets?field=exception_type&start=2099-05-13

-- request_logs.facets
SELECT v AS value, t.n AS requests, t.all_values AS all_values, t.all_requests AS all_requests
FROM (
  SELECT v, n, count() OVER () AS all_values, sum(n) OVER () AS all_requests
  FROM (
    SELECT v, sum(n) AS n
    FROM (
    SELECT toNullable(toString(exception_type)) AS v, count() AS n
    FROM request_logs_v1
    WHERE app_id = {app_id:UInt32}
      AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
      AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')
      AND NOT (status_code >= 500 AND isNull(exception_type) AND trace_id != toFixedString('', 16))
    GROUP BY v
    UNION ALL
    SELECT found.found_type AS v, count() AS n
    FROM (
      SELECT timestamp, request_uuid
      FROM request_logs_v1
      WHERE app_id = {app_id:UInt32}
      AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
      AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')
        AND (status_code >= 500 AND isNull(exception_type) AND trace_id != toFixedString('', 16))
    ) AS logs
    LEFT ANY JOIN (
    WITH RECURSIVE failed AS (
      SELECT timestamp, request_uuid, trace_id FROM request_logs_v1
      WHERE app_id = {app_id:UInt32}
      AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
      AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')
        AND (status_code >= 500 AND isNull(exception_type) AND trace_id != toFixedString('', 16))
    ),
    spans AS (
      SELECT s.trace_id AS trace_id, s.span_id AS span_id, s.parent_span_id AS parent_span_id, (s.kind = 'SERVER' AND match(s.attributes, '"http[.](?:request[.])?method":')) AS is_request
      FROM spans_v1 AS s
      WHERE s.app_id = {app_id:UInt32} AND s.start_time_ns >= ({start:Int64} - 60000) * 1000000 AND s.start_time_ns < (least({end:Int64}, 7258118400000) + 86400000) * 1000000
        AND s.trace_id IN (SELECT trace_id FROM failed)
      LIMIT 1 BY s.trace_id, s.span_id
    ),
    recorded AS (
      SELECT l.trace_id AS trace_id, if(l.server_span_id = toFixedString('', 8), l.span_id, l.server_span_id) AS span_id,
        l.timestamp_ns AS at, l.attributes AS json, false AS is_span
      FROM application_logs_v1 AS l
      WHERE l.app_id = {app_id:UInt32} AND l.timestamp_ns >= ({start:Int64} - 60000) * 1000000 AND l.timestamp_ns < (least({end:Int64}, 7258118400000) + 86400000) * 1000000
        AND l.trace_id IN (SELECT trace_id FROM failed)
        AND multiSearchAny(l.attributes, ['"exception.type":"', '"exception.message":"'])
      UNION ALL
      SELECT s.trace_id AS trace_id, s.span_id AS span_id, s.start_time_ns AS at, s.events AS json, true AS is_span
      FROM spans_v1 AS s
      WHERE s.app_id = {app_id:UInt32} AND s.start_time_ns >= ({start:Int64} - 60000) * 1000000 AND s.start_time_ns < (least({end:Int64}, 7258118400000) + 86400000) * 1000000
        AND s.trace_id IN (SELECT trace_id FROM failed)
        AND s.status = 'ERROR' AND NOT (s.kind = 'SERVER' AND match(s.attributes, '"http[.](?:request[.])?method":')) AND position(s.events, '"name":"exception"') > 0
    ),
    above AS (
      SELECT trace_id, span_id, toUInt16(0) AS steps, groupArray(at) AS times, span_id AS of FROM recorded GROUP BY trace_id, span_id
      UNION ALL
      SELECT a.trace_id, s.parent_span_id, toUInt16(a.steps + 1), a.times, a.of
      FROM above AS a INNER JOIN spans AS s ON s.trace_id = a.trace_id AND s.span_id = a.span_id
      WHERE NOT s.is_request AND a.steps < 100
    ),
    in_time AS (
      SELECT f.timestamp AS timestamp, f.request_uuid AS request_uuid, a.trace_id AS trace_id, a.of AS of, a.steps AS steps,
        toUnixTimestamp64Milli(f.timestamp) AS began_at,
        arrayMax(arrayFilter(
          time -> time >= (began_at - 60000) * 1000000 AND time < (began_at + 86400000) * 1000000, a.times
        )) AS last
      FROM above AS a INNER JOIN failed AS f ON f.trace_id = a.trace_id AND substring(toString(f.request_uuid), 1, 18) = (lower(hex(SHA256(concat(lower(hex(a.trace_id)), lower(hex(a.span_id)))))) AS digest,
      concat(substring(digest, 1, 8), '-', substring(digest, 9, 4), '-8', substring(digest, 13, 3))).2
    ),
    nearest AS (
      SELECT timestamp, request_uuid, trace_id, argMax((of, last), (-steps, last, of)) AS found, found.1 AS span_id, found.2 AS at
      FROM in_time WHERE last > 0 GROUP BY timestamp, request_uuid, trace_id
    )
    SELECT n.timestamp AS timestamp, n.request_uuid AS request_uuid,
      if(r.is_span, JSONExtractRaw(arrayLast(event -> JSONExtractString(event, 'name') = 'exception',
        splitByString(',	', substring(r.json, 2, length(r.json) - 2))), 'attributes'), r.json) AS attributes, (
        substringUTF8(if(JSONExtractString(attributes, 'exception.type') = '', 'Error', JSONExtractString(attributes, 'exception.type')), 1, 256),
        substringUTF8(JSONExtractString(attributes, 'exception.message'), 1, 2048), substringUTF8(JSONExtractString(attributes, 'exception.stacktrace'), 1, 65536)
      ) AS exception,
      toNullable(exception.1) AS found_type, toNullable(exception.2) AS found_message, toNullable(exception.3) AS found_stacktrace
    FROM recorded AS r INNER JOIN nearest AS n ON r.trace_id = n.trace_id AND r.span_id = n.span_id AND r.at = n.at
    WHERE JSONExtractString(attributes, 'exception.type') != '' OR JSONExtractString(attributes, 'exception.message') != ''
    ORDER BY exception DESC
    LIMIT 1 BY n.timestamp, n.request_uuid
    ) AS found USING (timestamp, request_uuid)
    GROUP BY v
    )
    GROUP BY v
  )
  ORDER BY n DESC, v
  LIMIT {limit:UInt32}
) AS t
ORDER BY requests DESC, value;
