-- POST metrics {"since":"2099-05-13T09:17","metrics":["requests","error_rate","response_time_p50","response_time_p99","apdex"],"interval":"day","group_by":["path"]}

-- app_metrics.query
SELECT period_start, period_end, path, requests, error_rate, response_time_p50, response_time_p99, apdex FROM (
WITH (
  SELECT (groupArray(id), groupArray(first_id))
  FROM (
    SELECT id, min(id) OVER (PARTITION BY path) AS first_id
    FROM endpoints_v1 FINAL
    WHERE app_id = {app_id:UInt32}
  )
) AS first_endpoints
SELECT
  start AS period_start,
  end AS period_end,
  nullIf(endpoints.path, '') AS path,
  sum_requests AS requests,
  (sum_client_errors + sum_server_errors) / nullIf(sum_known_requests, 0) AS error_rate,
  if(empty(time_percentiles), NULL, time_percentiles[1]) AS response_time_p50,
  if(empty(time_percentiles), NULL, time_percentiles[2]) AS response_time_p99,
  (satisfied + tolerated / 2) / nullIf(timed_requests, 0) AS apdex
FROM (
  SELECT f.bucket AS period, transform(f.endpoint_id, first_endpoints.1, first_endpoints.2, toUInt32(0)) AS endpoint_id, period AS start, period + {width:UInt32} AS end, sum(f.n) AS sum_requests, sumIf(f.n, f.status_code != 0) AS sum_known_requests, sumIf(f.n, f.status_code >= 400 AND f.status_code < 500) AS sum_client_errors, sumIf(f.n, f.status_code >= 500 AND f.status_code < 600) AS sum_server_errors
  FROM (
    SELECT bucket, endpoint_id, status_code, n, bytes_received, bytes_sent
    FROM counts_per_day_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32}
  ) AS f
  GROUP BY period, endpoint_id
  HAVING sum_requests > 0
) AS c
LEFT JOIN (
  SELECT f.bucket AS period, transform(f.endpoint_id, first_endpoints.1, first_endpoints.2, toUInt32(0)) AS endpoint_id, sum(f.n) AS timed_requests, sumIf(f.n, f.k <= {satisfying_k:Int16}) AS satisfied, sumIf(f.n, f.k > {satisfying_k:Int16} AND f.k <= {tolerable_k:Int16}) AS tolerated, arrayMap(k -> toInt32(least(round(1000 * exp2(k / 32)), 2147483647)), quantilesExactWeighted(0.5, 0.99)(f.k, f.n)) AS time_percentiles
  FROM (
    SELECT bucket, endpoint_id, k, n
    FROM counts_per_day_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'time'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32}
  ) AS f
  GROUP BY period, endpoint_id
) AS time_bins USING (period, endpoint_id)
LEFT JOIN (SELECT id, method, path FROM endpoints_v1 FINAL WHERE app_id = {app_id:UInt32}) AS endpoints
  ON endpoints.id = c.endpoint_id
ORDER BY period_start, path
)
WHERE NOT throwIf(rowNumberInAllBlocks() >= 1000000);

-- app_metrics.accuracy
SELECT max(relative_error) AS relative_error, max(absolute_error_ms) AS absolute_error_ms
FROM percentile_accuracy_v1
WHERE app_id = {app_id:UInt32} AND day >= toDate({day:UInt16}) AND day <= toDate({last_day:UInt16});
