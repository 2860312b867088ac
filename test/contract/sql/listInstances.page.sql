-- GET instances?start=2099-05-14&end=2099-05-15&app_env_id=1&periods=4

-- instances.page
SELECT p.app_env_id AS app_env_id, e.name AS env, p.uuid AS instance_uuid, nullIf(p.version, '') AS app_version, nullIf(p.used, '') AS framework,
  p.first AS first_seen, p.last AS last_seen
FROM (
  SELECT app_env_id, toString(instance_uuid) AS uuid, argMaxIf(i.app_version, i.last_seen, i.app_version != '') AS version,
    max(i.framework) AS used, min(i.first_seen) AS first, max(i.last_seen) AS last
  FROM instances_v1 AS i
  WHERE app_id = {app_id:UInt32}
  AND app_env_id = {app_env_id:Int64}
  GROUP BY app_env_id, instance_uuid
  HAVING last >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
    AND first < fromUnixTimestamp64Milli({end:Int64}, 'UTC')
  ORDER BY first DESC, uuid DESC, app_env_id DESC
  LIMIT {limit:UInt32}
) AS p
LEFT JOIN (SELECT id, name FROM app_envs_v1 FINAL WHERE app_id = {app_id:UInt32}) AS e ON e.id = p.app_env_id
ORDER BY p.first DESC, p.uuid DESC, p.app_env_id DESC;

-- instances.starts
SELECT app_env_id, toString(v.instance_uuid) AS instance_uuid, nullIf(argMax(v.client, v.started_at), '') AS client,
  argMax(v.versions, v.started_at) AS versions
FROM instance_versions_v1 AS v
WHERE app_id = {app_id:UInt32} AND v.instance_uuid IN {uuids:Array(UUID)}
GROUP BY app_env_id, v.instance_uuid;

-- instances.resources
SELECT app_env_id, toString(r.instance_uuid) AS instance_uuid,
  toUInt32(intDiv(toUnixTimestamp64Milli(timestamp) - {start:Int64}, {step:Int64})) AS period,
  if(countIf(r.cpu_percent >= 0) = 0, NULL, round(avgIf(toFloat64(r.cpu_percent), r.cpu_percent >= 0), 1)) AS cpu_percent,
  if(countIf(r.memory_rss >= 0) = 0, NULL, toFloat64(maxIf(r.memory_rss, r.memory_rss >= 0))) AS memory_rss_bytes
FROM instance_resources_v1 AS r
WHERE app_id = {app_id:UInt32} AND r.instance_uuid IN {uuids:Array(UUID)}
  AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
  AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')
GROUP BY app_env_id, r.instance_uuid, period
ORDER BY period;
