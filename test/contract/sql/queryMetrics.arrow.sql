-- POST metrics {"since":"2099-05-13T09:17","metrics":["requests","error_rate","response_time_p50","response_time_p99","apdex"],"interval":"hour","format":"arrow"}

-- app_metrics.query
SELECT period_start AS period_start_{nonce}, period_end, requests, error_rate, response_time_p50, response_time_p99, apdex FROM (
SELECT
  toDateTime64(start, 3, 'UTC') AS period_start,
  toDateTime64(end, 3, 'UTC') AS period_end,
  sum_requests AS requests,
  (sum_client_errors + sum_server_errors) / nullIf(sum_known_requests, 0) AS error_rate,
  if(empty(time_percentiles), NULL, time_percentiles[1]) AS response_time_p50,
  if(empty(time_percentiles), NULL, time_percentiles[2]) AS response_time_p99,
  (satisfied + tolerated / 2) / nullIf(timed_requests, 0) AS apdex
FROM (
  SELECT f.bucket AS period, period AS start, period + {width:UInt32} AS end, toInt64(sum(f.n)) AS sum_requests, toInt64(sumIf(f.n, f.status_code != 0)) AS sum_known_requests, toInt64(sumIf(f.n, f.status_code >= 400 AND f.status_code < 500)) AS sum_client_errors, toInt64(sumIf(f.n, f.status_code >= 500 AND f.status_code < 600)) AS sum_server_errors
  FROM counts_per_hour_v1 AS f
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32}
  GROUP BY period
  HAVING sum_requests > 0
) AS c
LEFT JOIN (
  SELECT f.bucket AS period, sum(f.n) AS timed_requests, sumIf(f.n, f.k <= {satisfying_k:Int16}) AS satisfied, sumIf(f.n, f.k > {satisfying_k:Int16} AND f.k <= {tolerable_k:Int16}) AS tolerated, arrayMap(k -> toInt32(least(round(1000 * exp2(k / 32)), 2147483647)), quantilesExactWeighted(0.5, 0.99)(f.k, f.n)) AS time_percentiles
  FROM (
    SELECT bucket, k, sum(n) AS n
    FROM counts_per_hour_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'time'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32}
    GROUP BY bucket, k
  ) AS f
  GROUP BY period
) AS time_bins USING (period)
ORDER BY period_start
);

-- app_metrics.accuracy
SELECT max(relative_error) AS relative_error, max(absolute_error_ms) AS absolute_error_ms
FROM percentile_accuracy_v1
WHERE app_id = {app_id:UInt32} AND day >= toDate({day:UInt16}) AND day <= toDate({last_day:UInt16});
