-- GET prometheus

-- apps.list
SELECT id, name, framework, client_id, created_at
FROM apps_v1 FINAL
WHERE team_id = {team_id:UInt32} AND id > {after_id:UInt32}
  AND id IN {app_ids:Array(UInt32)}
ORDER BY id
LIMIT 500;

-- apps.list_envs
SELECT e.app_id AS app_id, e.id AS id, e.name AS name, e.created_at AS created_at,
  if(a.last_sync_at = toDateTime64(0, 3), NULL, a.last_sync_at) AS last_sync_at
FROM app_envs_v1 AS e FINAL
LEFT JOIN (
  SELECT app_id, app_env_id, max(last_sync_at) AS last_sync_at
  FROM env_activity_v1
  WHERE app_id IN {app_ids:Array(UInt32)}
  GROUP BY app_id, app_env_id
) AS a ON a.app_id = e.app_id AND a.app_env_id = e.id
WHERE e.app_id IN {app_ids:Array(UInt32)}
ORDER BY e.id;

-- prometheus.buckets
WITH (
  SELECT groupArray(endpoint_id)
  FROM (
    SELECT endpoint_id
    FROM counts_per_day_v1 AS f
    WHERE app_id = {app_id:UInt32} AND measure = 'requests' AND bucket >= {ranked_from:UInt32} AND endpoint_id != 0
    GROUP BY endpoint_id
    ORDER BY sumIf(toInt64(f.n), f.bucket < {origin:UInt32}) DESC, min(f.bucket), endpoint_id
    LIMIT {routes:UInt32}
  )
) AS named_ids
SELECT toString(envs.name) AS env, toString(endpoints.method) AS method,
  multiIf(c.endpoint_id = 0, '', has(named_ids, c.endpoint_id), endpoints.path, '_other') AS route,
  c.status_code AS status, sumMapIf([c.first_bin], [c.n], c.measure = 'time') AS times, toFloat64(sumIf(c.microseconds, c.measure = 'time')) / 1000000 AS seconds,
  sumMapIf([c.first_bin], [c.n], c.measure = 'received') AS received,
  sumMapIf([c.first_bin], [c.n], c.measure = 'sent') AS sent
FROM (
  SELECT app_env_id, endpoint_id, status_code, measure,
    if(f.measure = 'time', roundDown(toInt32(f.k), {time_bins:Array(Int32)}), roundDown(toInt32(f.k), {size_bins:Array(Int32)})) AS first_bin,
    sum(toInt64(f.n)) AS n,
    sum(toInt128(toInt64(f.n)) * toInt64(least(round(1000000 * exp2(f.k / 32)), 1e15))) AS microseconds
  FROM counts_per_day_v1 AS f
  WHERE app_id = {app_id:UInt32} AND measure != 'requests' AND bucket >= {origin:UInt32}
  GROUP BY app_env_id, endpoint_id, status_code, measure, first_bin
) AS c
LEFT JOIN (SELECT id, name FROM app_envs_v1 FINAL WHERE app_id = {app_id:UInt32}) AS envs
  ON envs.id = c.app_env_id
LEFT JOIN (SELECT id, method, path FROM endpoints_v1 FINAL WHERE app_id = {app_id:UInt32}) AS endpoints
  ON endpoints.id = c.endpoint_id
GROUP BY env, method, route, status
ORDER BY env, method, route, status
LIMIT {limit:UInt32};

-- prometheus.counts
WITH (
  SELECT groupArray(endpoint_id)
  FROM (
    SELECT endpoint_id
    FROM counts_per_day_v1 AS f
    WHERE app_id = {app_id:UInt32} AND measure = 'requests' AND bucket >= {ranked_from:UInt32} AND endpoint_id != 0
    GROUP BY endpoint_id
    ORDER BY sumIf(toInt64(f.n), f.bucket < {origin:UInt32}) DESC, min(f.bucket), endpoint_id
    LIMIT {routes:UInt32}
  )
) AS named_ids
SELECT toString(envs.name) AS env, toString(endpoints.method) AS method,
  multiIf(c.endpoint_id = 0, '', has(named_ids, c.endpoint_id), endpoints.path, '_other') AS route,
  c.status_code AS status, sum(c.requests) AS requests, sum(c.bytes_received) AS bytes_received, sum(c.bytes_sent) AS bytes_sent
FROM (
  SELECT app_env_id, endpoint_id, status_code,
    sumIf(toInt64(f.n), f.bucket >= {origin:UInt32}) AS requests,
    sumIf(toInt64(f.bytes_received), f.bucket >= {origin:UInt32}) AS bytes_received,
    sumIf(toInt64(f.bytes_sent), f.bucket >= {origin:UInt32}) AS bytes_sent
  FROM counts_per_day_v1 AS f
  WHERE app_id = {app_id:UInt32} AND measure = 'requests' AND bucket >= {ranked_from:UInt32}
  GROUP BY app_env_id, endpoint_id, status_code
) AS c
LEFT JOIN (SELECT id, name FROM app_envs_v1 FINAL WHERE app_id = {app_id:UInt32}) AS envs
  ON envs.id = c.app_env_id
LEFT JOIN (SELECT id, method, path FROM endpoints_v1 FINAL WHERE app_id = {app_id:UInt32}) AS endpoints
  ON endpoints.id = c.endpoint_id
GROUP BY env, method, route, status
ORDER BY env, method, route, status
LIMIT {limit:UInt32};
