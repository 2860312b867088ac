-- POST traces {"since":"2099-05-13T09:17","fields":["name","attributes","events"],"filters":[{"field":"env","op":"eq","value":"prod"},{"field":"attributes","key":"http.request.method","op":"eq","value":"GET"},{"field":"events","event_name":"exception","op":"exists"}]}

-- traces.key
SELECT toString(s.start_time_ns) AS start, lower(hex(s.trace_id)) AS trace, lower(hex(s.span_id)) AS span
FROM spans_v1 AS s
WHERE s.app_id = {app_id:UInt32}
    AND s.start_time_ns >= {from:Int64} AND s.start_time_ns < {to:Int64}
  AND app_env_id IN (SELECT id FROM app_envs_v1 WHERE app_id = {app_id:UInt32} AND name = {filter_0:String})
ORDER BY s.start_time_ns, s.trace_id, s.span_id
LIMIT 1 OFFSET {skipped:UInt32};

-- traces.query
SELECT concat('{', '"trace_id":', ifNull(toJSONString(trace_id), 'null'), ',"span_id":', ifNull(toJSONString(span_id), 'null'), ',"start_time_ns":', ifNull(toJSONString(start_time_ns), 'null'), ',"name":', ifNull(toJSONString(name), 'null'), ',"attributes":', attributes, ',"events":', events, '}') FROM (
WITH (SELECT (groupArray(id), groupArray(name)) FROM app_envs_v1 FINAL WHERE app_id = {app_id:UInt32}) AS envs
SELECT lower(hex(s.trace_id)) AS trace_id,
  lower(hex(s.span_id)) AS span_id,
  s.start_time_ns AS start_time_ns,
  toString(s.name) AS name,
  s.attributes AS attributes,
  replaceAll(s.events, ',	', ',') AS events
FROM (
  SELECT * FROM spans_v1 AS s
  WHERE s.app_id = {app_id:UInt32}
    AND s.start_time_ns >= {from:Int64} AND s.start_time_ns < {to:Int64}
  AND app_env_id IN (SELECT id FROM app_envs_v1 WHERE app_id = {app_id:UInt32} AND name = {filter_0:String})
  AND (toString(JSONType(s.attributes, {filter_1_key:String})) IN ('String') AND JSONExtractString(s.attributes, {filter_1_key:String}) = {filter_1:String})
  AND arrayExists(event -> true
  AND JSONExtractString(event, 'name') = {filter_2_event:String}, if(s.events = '[]', [], splitByString(',	', substring(s.events, 2, length(s.events) - 2))))
  ORDER BY s.start_time_ns, s.trace_id, s.span_id
  LIMIT 1 BY s.start_time_ns, s.trace_id, s.span_id
) AS s
);
