-- POST metrics {"since":"2098-05-01","metrics":["requests","error_rate","response_time_p50","response_time_p99","apdex"],"group_by":["consumer_id"]}

-- app_metrics.query
SELECT period_start, period_end, consumer_id, requests, error_rate, response_time_p50, response_time_p99, apdex FROM (
SELECT
  start AS period_start,
  end AS period_end,
  nullIf(toInt64(c.consumer_id), 0) AS consumer_id,
  sum_requests AS requests,
  (sum_client_errors + sum_server_errors) / nullIf(sum_known_requests, 0) AS error_rate,
  if(empty(time_percentiles), NULL, time_percentiles[1]) AS response_time_p50,
  if(empty(time_percentiles), NULL, time_percentiles[2]) AS response_time_p99,
  (satisfied + tolerated / 2) / nullIf(timed_requests, 0) AS apdex
FROM (
  SELECT {from:UInt32} AS period, f.consumer_id AS consumer_id, toDateTime(period, 'UTC') AS start, toDateTime(toUInt32(period + {width:UInt32}), 'UTC') AS end, sum(f.n) AS sum_requests, sumIf(f.n, f.status_code != 0) AS sum_known_requests, sumIf(f.n, f.status_code >= 400 AND f.status_code < 500) AS sum_client_errors, sumIf(f.n, f.status_code >= 500 AND f.status_code < 600) AS sum_server_errors
  FROM (
    SELECT bucket, consumer_id, endpoint_id, status_code, n, bytes_received, bytes_sent
    FROM counts_per_15m_by_consumer_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32}
    UNION ALL
    WITH 0 AS consumer_id SELECT bucket, consumer_id, endpoint_id, status_code, n, bytes_received, bytes_sent
    FROM counts_per_15m_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND without_consumer AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32}
  ) AS f
  GROUP BY period, consumer_id
  HAVING sum_requests > 0
) AS c
LEFT JOIN (
  SELECT {from:UInt32} AS period, f.consumer_id AS consumer_id, sum(f.n) AS timed_requests, sumIf(f.n, f.k <= {satisfying_k:Int16}) AS satisfied, sumIf(f.n, f.k > {satisfying_k:Int16} AND f.k <= {tolerable_k:Int16}) AS tolerated, arrayMap(k -> toInt32(least(round(1000 * exp2(k / 32)), 2147483647)), quantilesExactWeighted(0.5, 0.99)(f.k, f.n)) AS time_percentiles
  FROM (
    SELECT bucket, consumer_id, k, n
    FROM counts_per_15m_by_consumer_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'time'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32}
    UNION ALL
    WITH 0 AS consumer_id SELECT bucket, consumer_id, k, n
    FROM counts_per_15m_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'time'
      AND without_consumer AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32}
  ) AS f
  GROUP BY period, consumer_id
) AS time_bins USING (period, consumer_id)
ORDER BY period_start, consumer_id
)
WHERE NOT throwIf(rowNumberInAllBlocks() >= 1000000);

-- app_metrics.accuracy
SELECT max(relative_error) AS relative_error, max(absolute_error_ms) AS absolute_error_ms
FROM percentile_accuracy_v1
WHERE app_id = {app_id:UInt32} AND day >= toDate({day:UInt16}) AND day <= toDate({last_day:UInt16});

-- consumers.coverage
SELECT sum(i.measured) AS measured, sum(least(i.seen, i.measured)) AS seen
FROM (
  SELECT sum(c.measured) AS measured, sum(c.seen) AS seen
  FROM consumer_coverage_v1 AS c
  WHERE c.app_id = {app_id:UInt32} AND c.day >= toDate({day:UInt16}) AND c.day <= toDate({last_day:UInt16})
  GROUP BY c.instance_uuid
) AS i;
