-- POST metrics {"since":"2099-05-13T09:17","metrics":["requests","error_rate","response_time_p50","response_time_p99","apdex"],"filters":[{"field":"path","op":"not_like","value":"/health%"},{"field":"env","op":"eq","value":"prod"},{"field":"status_code","op":"gte","value":400}]}

-- app_metrics.query
SELECT
  start AS period_start,
  end AS period_end,
  sum_requests AS requests,
  (sum_client_errors + sum_server_errors) / nullIf(sum_known_requests, 0) AS error_rate,
  if(empty(time_percentiles), NULL, time_percentiles[1]) AS response_time_p50,
  if(empty(time_percentiles), NULL, time_percentiles[2]) AS response_time_p99,
  (satisfied + tolerated / 2) / nullIf(timed_requests, 0) AS apdex
FROM (
  SELECT {from:UInt32} AS period, toDateTime(period, 'UTC') AS start, toDateTime(toUInt32(period + {width:UInt32}), 'UTC') AS end, sum(f.n) AS sum_requests, sumIf(f.n, f.status_code != 0) AS sum_known_requests, sumIf(f.n, f.status_code >= 400 AND f.status_code < 500) AS sum_client_errors, sumIf(f.n, f.status_code >= 500 AND f.status_code < 600) AS sum_server_errors
  FROM (
    SELECT bucket, endpoint_id, status_code, n, bytes_received, bytes_sent
    FROM counts_per_hour_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32} AND bucket NOT IN {except_0:Array(UInt32)}
      AND NOT (endpoint_id IN (SELECT id FROM endpoints_v1 WHERE app_id = {app_id:UInt32} AND path LIKE {filter_0:String}))
      AND app_env_id IN (SELECT id FROM app_envs_v1 WHERE app_id = {app_id:UInt32} AND name = {filter_1:String})
      AND (status_code >= {filter_2:Int64} AND NOT (status_code = 0))
    UNION ALL
    SELECT bucket, endpoint_id, status_code, n, bytes_received, bytes_sent
    FROM counts_per_15m_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket IN {only_1:Array(UInt32)}
      AND NOT (endpoint_id IN (SELECT id FROM endpoints_v1 WHERE app_id = {app_id:UInt32} AND path LIKE {filter_0:String}))
      AND app_env_id IN (SELECT id FROM app_envs_v1 WHERE app_id = {app_id:UInt32} AND name = {filter_1:String})
      AND (status_code >= {filter_2:Int64} AND NOT (status_code = 0))
    UNION ALL
    SELECT bucket, endpoint_id, status_code, n, bytes_received, bytes_sent
    FROM counts_per_minute_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket IN {only_2:Array(UInt32)}
      AND NOT (endpoint_id IN (SELECT id FROM endpoints_v1 WHERE app_id = {app_id:UInt32} AND path LIKE {filter_0:String}))
      AND app_env_id IN (SELECT id FROM app_envs_v1 WHERE app_id = {app_id:UInt32} AND name = {filter_1:String})
      AND (status_code >= {filter_2:Int64} AND NOT (status_code = 0))
  ) AS f
  GROUP BY period
  HAVING sum_requests > 0
) AS c
LEFT JOIN (
  SELECT {from:UInt32} AS period, sum(f.n) AS timed_requests, sumIf(f.n, f.k <= {satisfying_k:Int16}) AS satisfied, sumIf(f.n, f.k > {satisfying_k:Int16} AND f.k <= {tolerable_k:Int16}) AS tolerated, arrayMap(k -> toInt32(least(round(1000 * exp2(k / 32)), 2147483647)), quantilesExactWeighted(0.5, 0.99)(f.k, f.n)) AS time_percentiles
  FROM (
    SELECT bucket, k, n
    FROM counts_per_hour_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'time'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32} AND bucket NOT IN {except_0:Array(UInt32)}
      AND NOT (endpoint_id IN (SELECT id FROM endpoints_v1 WHERE app_id = {app_id:UInt32} AND path LIKE {filter_0:String}))
      AND app_env_id IN (SELECT id FROM app_envs_v1 WHERE app_id = {app_id:UInt32} AND name = {filter_1:String})
      AND (status_code >= {filter_2:Int64} AND NOT (status_code = 0))
    UNION ALL
    SELECT bucket, k, n
    FROM counts_per_15m_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'time'
      AND bucket IN {only_1:Array(UInt32)}
      AND NOT (endpoint_id IN (SELECT id FROM endpoints_v1 WHERE app_id = {app_id:UInt32} AND path LIKE {filter_0:String}))
      AND app_env_id IN (SELECT id FROM app_envs_v1 WHERE app_id = {app_id:UInt32} AND name = {filter_1:String})
      AND (status_code >= {filter_2:Int64} AND NOT (status_code = 0))
    UNION ALL
    SELECT bucket, k, n
    FROM counts_per_minute_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'time'
      AND bucket IN {only_2:Array(UInt32)}
      AND NOT (endpoint_id IN (SELECT id FROM endpoints_v1 WHERE app_id = {app_id:UInt32} AND path LIKE {filter_0:String}))
      AND app_env_id IN (SELECT id FROM app_envs_v1 WHERE app_id = {app_id:UInt32} AND name = {filter_1:String})
      AND (status_code >= {filter_2:Int64} AND NOT (status_code = 0))
  ) AS f
  GROUP BY period
) AS time_bins USING (period)
ORDER BY period_start;

-- app_metrics.accuracy
SELECT max(relative_error) AS relative_error, max(absolute_error_ms) AS absolute_error_ms
FROM percentile_accuracy_v1
WHERE app_id = {app_id:UInt32} AND day >= toDate({day:UInt16}) AND day <= toDate({last_day:UInt16});
