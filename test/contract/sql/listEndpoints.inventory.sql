-- GET endpoints?include=inventory&app_env_id=1

-- endpoints.inventory
SELECT e.id AS id, e.method AS method, e.path AS path,
  d.is_deprecated AS deprecated, if(d.sunset = toDateTime64(0, 3), NULL, d.sunset) AS sunset, if(l.at = toDateTime64(0, 3), NULL, l.at) AS last_request_at,
  r.requests AS requests_30d, c.consumers AS consumers_30d
FROM (
SELECT id, method, path
FROM endpoints_v1 FINAL
WHERE app_id = {app_id:UInt32}
  AND id IN (
    SELECT endpoint_id FROM endpoint_activity_v1
    WHERE app_id = {app_id:UInt32} AND app_env_id = {app_env_id:Int64}
  )
ORDER BY path, method, id
LIMIT 10000
) AS e
LEFT JOIN (
  SELECT endpoint_id, max(n.last_request_at) AS at FROM endpoint_activity_v1 AS n WHERE app_id = {app_id:UInt32}
  AND app_env_id = {app_env_id:Int64}
  GROUP BY endpoint_id
) AS l ON l.endpoint_id = e.id
LEFT JOIN (
  SELECT endpoint_id, toInt64(sum(t.n)) AS requests FROM counts_per_hour_v1 AS t
  WHERE app_id = {app_id:UInt32} AND measure = 'requests' AND t.bucket >= {since:UInt32}
  AND app_env_id = {app_env_id:Int64}
  GROUP BY endpoint_id
) AS r ON r.endpoint_id = e.id
LEFT JOIN (
  SELECT endpoint_id, uniqExact(t.consumer_id) AS consumers FROM counts_per_15m_by_consumer_v1 AS t
  WHERE app_id = {app_id:UInt32} AND measure = 'requests' AND t.bucket >= {since:UInt32}
  AND app_env_id = {app_env_id:Int64}
  GROUP BY endpoint_id
) AS c ON c.endpoint_id = e.id
LEFT JOIN (
  SELECT endpoint_id, toBool(max(s.deprecated_at > toDateTime(0) AND s.deprecated_at <= now())) AS is_deprecated,
    toDateTime64(argMax(s.sunset_at, s.seen_at), 3, 'UTC') AS sunset
  FROM endpoint_deprecations_v1 AS s FINAL
  WHERE app_id = {app_id:UInt32} AND s.seen_at >= now() - INTERVAL 30 DAY
  AND app_env_id = {app_env_id:Int64}
  GROUP BY endpoint_id
) AS d ON d.endpoint_id = e.id
ORDER BY path, method, id;

-- endpoints.documents
SELECT d.routes AS routes
FROM api_documents_v1 AS d
WHERE app_id = {app_id:UInt32} AND (d.slot, d.received_at) IN (
  SELECT n.slot, n.received_at FROM api_documents_v1 AS n FINAL
  WHERE app_id = {app_id:UInt32}
  AND n.app_env_id IN (0, {app_env_id:Int64})
  ORDER BY n.received_at DESC
  LIMIT 1 BY n.is_imported, n.app_env_id
  LIMIT 10
)
ORDER BY d.is_imported DESC, d.received_at DESC;
