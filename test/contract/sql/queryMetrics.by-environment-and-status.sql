-- POST metrics {"since":"2099-05-13T09:17","metrics":["requests"],"group_by":["env","status_code"]}

-- app_metrics.query
SELECT period_start, period_end, env, status_code, requests FROM (
SELECT
  start AS period_start,
  end AS period_end,
  toString(envs.name) AS env,
  nullIf(toInt32(c.status_code), 0) AS status_code,
  sum_requests AS requests
FROM (
  SELECT {from:UInt32} AS period, f.app_env_id AS app_env_id, f.status_code AS status_code, toDateTime(period, 'UTC') AS start, toDateTime(toUInt32(period + {width:UInt32}), 'UTC') AS end, sum(f.n) AS sum_requests
  FROM (
    SELECT bucket, app_env_id, status_code, endpoint_id, n, bytes_received, bytes_sent
    FROM counts_per_hour_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32} AND bucket NOT IN {except_0:Array(UInt32)}
    UNION ALL
    SELECT bucket, app_env_id, status_code, endpoint_id, n, bytes_received, bytes_sent
    FROM counts_per_15m_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket IN {only_1:Array(UInt32)}
    UNION ALL
    SELECT bucket, app_env_id, status_code, endpoint_id, n, bytes_received, bytes_sent
    FROM counts_per_minute_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket IN {only_2:Array(UInt32)}
  ) AS f
  GROUP BY period, app_env_id, status_code
  HAVING sum_requests > 0
) AS c
LEFT JOIN (SELECT id, name FROM app_envs_v1 FINAL WHERE app_id = {app_id:UInt32}) AS envs
  ON envs.id = c.app_env_id
ORDER BY period_start, env, status_code
)
WHERE NOT throwIf(rowNumberInAllBlocks() >= 1000000);
