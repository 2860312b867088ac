-- GET consumers?include=activity

-- consumers.page
WITH page AS (
  SELECT id, identifier, name, group_id, created_at
  FROM consumers_v1 FINAL
  WHERE app_id = {app_id:UInt32}
  ORDER BY id DESC
  LIMIT {limit:UInt32}
)
SELECT p.id AS id, p.identifier AS identifier, p.name AS name, p.group_id AS group_id, g.name AS group_name,
  p.created_at AS created_at, if(a.at = toDateTime64(0, 3), p.created_at, a.at) AS last_request_at
FROM page AS p
LEFT JOIN (
  SELECT consumer_id, max(last_request_at) AS at
  FROM consumer_activity_v1
  WHERE app_id = {app_id:UInt32} AND consumer_id IN (SELECT id FROM page)
  GROUP BY consumer_id
) AS a ON a.consumer_id = p.id
LEFT JOIN (SELECT id, name FROM consumer_groups_v1 FINAL WHERE app_id = {app_id:UInt32}) AS g ON g.id = p.group_id
ORDER BY p.id DESC;

-- consumers.requests
SELECT c.consumer_id AS consumer_id, min(c.bucket) AS first_request_at,
  sumIf(c.n, c.bucket >= {since:UInt32}) AS requests,
  multiIf(requests = 0, 'quiet', first_request_at >= {since:UInt32}, 'new', 'returning') AS state
FROM counts_per_15m_by_consumer_v1 AS c
WHERE app_id = {app_id:UInt32} AND measure = 'requests' AND bucket >= {retained_from:UInt32}
  AND consumer_id IN {ids:Array(UInt32)}
GROUP BY consumer_id;
