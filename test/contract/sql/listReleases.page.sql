-- GET releases?start=2099-05-14&end=2099-05-15&app_env_id=1

-- releases.page
SELECT p.version AS version, e.name AS env, p.first AS first_seen, p.last AS last_seen, p.instances AS instances, p.app_env_id AS app_env_id
FROM (
  SELECT app_env_id, app_version AS version, min(began) AS first, max(ended) AS last, toUInt32(uniqExact(instance)) AS instances
  FROM (
    SELECT p.app_env_id AS app_env_id, run.2 AS app_version, run.1 AS began,
      greatest(run.3, if(p.instance_uuid = toUUID('00000000-0000-0000-0000-000000000000'), run.3, least(p.unnamed, next))) AS ended,
      toNullable(p.instance_uuid) AS instance
    FROM (
      SELECT app_env_id, instance_uuid,
        arraySort(groupArrayIf((first, app_version, last), app_version != '')) AS runs,
        maxIf(last, app_version = '') AS unnamed
      FROM (
        SELECT app_env_id, instance_uuid, app_version, min(i.first_seen) AS first, max(i.last_seen) AS last
        FROM instances_v1 AS i
        WHERE app_id = {app_id:UInt32}
        GROUP BY app_env_id, instance_uuid, app_version
      )
      GROUP BY app_env_id, instance_uuid
      HAVING notEmpty(runs)
    ) AS p
    ARRAY JOIN p.runs AS run,
      arrayPushBack(arrayPopFront(arrayMap(one -> one.1, p.runs)), toDateTime64('2200-01-01', 3, 'UTC')) AS next
    UNION ALL
    SELECT app_env_id, app_version, released_at, released_at, NULL
    FROM release_marks_v1 FINAL
    WHERE app_id = {app_id:UInt32} AND marked
  )
  WHERE app_version != ''
  AND app_env_id = {app_env_id:Int64}
  GROUP BY app_env_id, app_version
  HAVING first >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
    AND first < fromUnixTimestamp64Milli({end:Int64}, 'UTC')
  ORDER BY first DESC, version DESC, app_env_id DESC
  LIMIT {limit:UInt32}
) AS p
LEFT JOIN (SELECT id, name FROM app_envs_v1 FINAL WHERE app_id = {app_id:UInt32}) AS e ON e.id = p.app_env_id
ORDER BY p.first DESC, p.version DESC, p.app_env_id DESC;
