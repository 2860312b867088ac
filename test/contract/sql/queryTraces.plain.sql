-- POST traces {"since":"2099-05-13T09:17"}

-- traces.key
SELECT toString(s.start_time_ns) AS start, lower(hex(s.trace_id)) AS trace, lower(hex(s.span_id)) AS span
FROM spans_v1 AS s
WHERE s.app_id = {app_id:UInt32}
    AND s.start_time_ns >= {from:Int64} AND s.start_time_ns < {to:Int64}
ORDER BY s.start_time_ns, s.trace_id, s.span_id
LIMIT 1 OFFSET {skipped:UInt32};

-- traces.query
SELECT concat('{', '"trace_id":', ifNull(toJSONString(trace_id), 'null'), ',"span_id":', ifNull(toJSONString(span_id), 'null'), ',"start_time_ns":', ifNull(toJSONString(start_time_ns), 'null'), ',"parent_span_id":', ifNull(toJSONString(parent_span_id), 'null'), ',"env":', ifNull(toJSONString(env), 'null'), ',"name":', ifNull(toJSONString(name), 'null'), ',"kind":', ifNull(toJSONString(kind), 'null'), ',"status":', ifNull(toJSONString(status), 'null'), ',"end_time_ns":', ifNull(toJSONString(end_time_ns), 'null'), ',"duration_ns":', ifNull(toJSONString(duration_ns), 'null'), '}') FROM (
WITH (SELECT (groupArray(id), groupArray(name)) FROM app_envs_v1 FINAL WHERE app_id = {app_id:UInt32}) AS envs
SELECT lower(hex(s.trace_id)) AS trace_id,
  lower(hex(s.span_id)) AS span_id,
  s.start_time_ns AS start_time_ns,
  if(s.parent_span_id = toFixedString(unhex('0000000000000000'), 8), NULL, lower(hex(s.parent_span_id))) AS parent_span_id,
  nullIf(transform(s.app_env_id, envs.1, envs.2, ''), '') AS env,
  toString(s.name) AS name,
  toString(s.kind) AS kind,
  toString(s.status) AS status,
  (s.start_time_ns + s.duration_ns) AS end_time_ns,
  s.duration_ns AS duration_ns
FROM (
  SELECT * FROM spans_v1 AS s
  WHERE s.app_id = {app_id:UInt32}
    AND s.start_time_ns >= {from:Int64} AND s.start_time_ns < {to:Int64}
  ORDER BY s.start_time_ns, s.trace_id, s.span_id
  LIMIT 1 BY s.start_time_ns, s.trace_id, s.span_id
) AS s
);
