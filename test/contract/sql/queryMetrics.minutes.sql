-- POST metrics {"since":"2099-05-14T08:00","metrics":["requests","error_rate","response_time_p50","response_time_p99","apdex"],"interval":"minute"}

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
  SELECT f.bucket AS period, period AS start, period + {width:UInt32} AS end, sum(f.n) AS sum_requests, sumIf(f.n, f.status_code != 0) AS sum_known_requests, sumIf(f.n, f.status_code >= 400 AND f.status_code < 500) AS sum_client_errors, sumIf(f.n, f.status_code >= 500 AND f.status_code < 600) AS sum_server_errors
  FROM counts_per_minute_v1 AS f
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32}
  GROUP BY period
  HAVING sum_requests > 0
) AS c
LEFT JOIN (
  SELECT f.bucket AS period, sum(f.n) AS timed_requests, sumIf(f.n, f.k <= {satisfying_k:Int16}) AS satisfied, sumIf(f.n, f.k > {satisfying_k:Int16} AND f.k <= {tolerable_k:Int16}) AS tolerated, arrayMap(k -> toInt32(least(round(1000 * exp2(k / 32)), 2147483647)), quantilesExactWeighted(0.5, 0.99)(f.k, f.n)) AS time_percentiles
  FROM counts_per_minute_v1 AS f
    WHERE app_id = {app_id:UInt32} AND measure = 'time'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32}
  GROUP BY period
) AS time_bins USING (period)
ORDER BY period_start;

-- app_metrics.accuracy
SELECT max(relative_error) AS relative_error, max(absolute_error_ms) AS absolute_error_ms
FROM percentile_accuracy_v1
WHERE app_id = {app_id:UInt32} AND day >= toDate({day:UInt16}) AND day <= toDate({last_day:UInt16});
