-- POST errors {"since":"2098-05-01","group_by":["day","consumer_id"],"timezone":"Europe/Berlin","limit":5,"filters":[{"field":"kind","op":"eq","value":"exception"},{"field":"path","op":"like","value":"/users/%"}]}

-- errors.query
SELECT period_start, period_end, fingerprint, kind, type, message, method, path, env, consumer_id, errors, consumers, first_seen, last_seen, request_uuid, sentry_event_id, trace_id FROM (
WITH counted AS (
  SELECT c.fingerprint AS id, c.app_env_id AS env_id,
    argMax((toString(c.kind), toString(c.type), c.endpoint_id), c.last_seen) AS named,
    sumIf(c.errors, c.bucket >= {window_from:UInt32} AND c.bucket < {window_to:UInt32}) AS occurrences,
    uniqExactIf(c.consumer_id, c.consumer_id != 0 AND c.bucket >= {window_from:UInt32} AND c.bucket < {window_to:UInt32}) AS affected_consumers,
    min(c.first_seen) AS first, max(c.last_seen) AS last
  FROM error_counts_per_15m_v1 AS c
  WHERE app_id = {app_id:UInt32} AND c.bucket >= {counts_from:UInt32}
  AND toString(kind) = {filter_0:String}
  AND endpoint_id IN (SELECT id FROM endpoints_v1 WHERE app_id = {app_id:UInt32} AND path LIKE {filter_1:String})
  GROUP BY id, env_id
  HAVING occurrences > 0
  ORDER BY occurrences DESC, last DESC, id, env_id
  LIMIT {limit:UInt64}
),
newest AS (
  SELECT e.fingerprint AS id, e.app_env_id AS env_id,
    argMax(e.message, e.timestamp) AS text,
    argMaxIf(e.request_uuid, e.timestamp, e.request_uuid != toUUID('00000000-0000-0000-0000-000000000000')) AS uuid,
    argMaxIf(e.sentry_event_id, e.timestamp, e.sentry_event_id != '') AS event_id,
    argMaxIf(e.trace_id, e.timestamp, e.trace_id != toFixedString('', 16)) AS trace
  FROM errors_v1 AS e
  WHERE app_id = {app_id:UInt32} AND e.fingerprint IN (SELECT id FROM counted)
    AND e.timestamp >= fromUnixTimestamp64Milli({texts_from:Int64}, 'UTC')
    AND e.timestamp < fromUnixTimestamp64Milli({texts_to:Int64}, 'UTC')
  AND toString(kind) = {filter_0:String}
  AND endpoint_id IN (SELECT id FROM endpoints_v1 WHERE app_id = {app_id:UInt32} AND path LIKE {filter_1:String})
  GROUP BY id, env_id
)
SELECT
  groups.start AS period_start,
  groups.end AS period_end,
  lower(leftPad(hex(counted.id), 16, '0')) AS fingerprint,
  counted.named.1 AS kind,
  counted.named.2 AS type,
  nullIf(newest.text, '') AS message,
  nullIf(toString(endpoints.method), '') AS method,
  nullIf(endpoints.path, '') AS path,
  toString(envs.name) AS env,
  nullIf(toInt64(groups.consumer), 0) AS consumer_id,
  toInt64(groups.occurrences) AS errors,
  toInt64(groups.affected_consumers) AS consumers,
  counted.first AS first_seen,
  counted.last AS last_seen,
  if(newest.uuid = toUUID('00000000-0000-0000-0000-000000000000'), NULL, toString(newest.uuid)) AS request_uuid,
  nullIf(newest.event_id, '') AS sentry_event_id,
  if(newest.trace = toFixedString('', 16), NULL, lower(hex(newest.trace))) AS trace_id
FROM counted
INNER JOIN (
  SELECT c.fingerprint AS id, c.app_env_id AS env_id,
    intDiv(toUInt32(toUnixTimestamp(c.bucket) - {from:UInt32} + {shift_0:Int32} * (toUnixTimestamp(c.bucket) >= {shifted_0:UInt32}) + {shift_1:Int32} * (toUnixTimestamp(c.bucket) >= {shifted_1:UInt32})), {width:UInt32}) AS period, toDateTime({bounds:Array(UInt32)}[period + 1], 'UTC') AS start, toDateTime({bounds:Array(UInt32)}[period + 2], 'UTC') AS end,
    c.consumer_id AS consumer,
    sum(c.errors) AS occurrences, uniqExactIf(c.consumer_id, c.consumer_id != 0) AS affected_consumers
  FROM error_counts_per_15m_v1 AS c
  WHERE app_id = {app_id:UInt32} AND (c.fingerprint, c.app_env_id) IN (SELECT id, env_id FROM counted)
    AND c.bucket >= {window_from:UInt32} AND c.bucket < {window_to:UInt32}
  AND toString(kind) = {filter_0:String}
  AND endpoint_id IN (SELECT id FROM endpoints_v1 WHERE app_id = {app_id:UInt32} AND path LIKE {filter_1:String})
  GROUP BY id, env_id, period, consumer
) AS groups ON groups.id = counted.id AND groups.env_id = counted.env_id
LEFT JOIN newest ON newest.id = counted.id AND newest.env_id = counted.env_id
LEFT JOIN (SELECT id, name FROM app_envs_v1 FINAL WHERE app_id = {app_id:UInt32}) AS envs ON envs.id = counted.env_id
LEFT JOIN (SELECT id, method, path FROM endpoints_v1 FINAL WHERE app_id = {app_id:UInt32}) AS endpoints
  ON endpoints.id = counted.named.3
ORDER BY period_start, errors DESC, last_seen DESC, counted.id, counted.env_id, groups.consumer
)
WHERE NOT throwIf(rowNumberInAllBlocks() >= 100000);
