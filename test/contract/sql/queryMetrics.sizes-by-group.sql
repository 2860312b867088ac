-- POST metrics {"since":"2099-05-13T09:17","metrics":["request_size_avg","request_size_p95","response_size_p50","response_time_p50","response_time_histogram"],"group_by":["consumer_group","status_class"],"filters":[{"field":"consumer_group","op":"like","value":"P%"},{"field":"status_class","op":"in","value":["2xx","4xx"]}]}

-- app_metrics.query
SELECT period_start, period_end, consumer_group, status_class, response_time_p50, request_size_avg, request_size_p95, response_size_p50, response_time_histogram FROM (
SELECT
  start AS period_start,
  end AS period_end,
  if(c.group_id = 0, NULL, toString(consumer_groups.name)) AS consumer_group,
  if(c.status_class = 0, NULL, concat(toString(c.status_class), 'xx')) AS status_class,
  if(empty(time_percentiles), NULL, time_percentiles[1]) AS response_time_p50,
  sum_bytes_received / nullIf(sized_requests, 0) AS request_size_avg,
  if(empty(received_percentiles), NULL, received_percentiles[1]) AS request_size_p95,
  if(empty(sent_percentiles), NULL, sent_percentiles[1]) AS response_size_p50,
  arrayMap((k, n) -> (if(k = -32768, 0., round(1000 * exp2((k + 0.5) / 32), 3)), toInt64(n)),
    time_bins.1, time_bins.2) AS response_time_histogram
FROM (
  SELECT {from:UInt32} AS period, f.group_id AS group_id, intDiv(f.status_code, 100) AS status_class, toDateTime(period, 'UTC') AS start, toDateTime(toUInt32(period + {width:UInt32}), 'UTC') AS end, sum(f.n) AS sum_requests, toInt64(if(sum(toFloat64(toInt64(f.bytes_received))) >= 9223372036854775807, 9223372036854775807, sum(f.bytes_received))) AS sum_bytes_received
  FROM (
    SELECT r.*, g.group_id AS group_id
    FROM (
    SELECT bucket, consumer_id, status_code, endpoint_id, n, bytes_received, bytes_sent
    FROM counts_per_15m_by_consumer_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32} AND bucket NOT IN {except_0:Array(UInt32)}
      AND consumer_id IN (
        SELECT id FROM consumers_v1 FINAL
        WHERE app_id = {app_id:UInt32}
          AND group_id IN (SELECT id FROM consumer_groups_v1 FINAL WHERE app_id = {app_id:UInt32} AND name LIKE {filter_0:String}))
      AND (concat(toString(intDiv(status_code, 100)), 'xx') IN {filter_1:Array(String)} AND NOT (status_code = 0))
    UNION ALL
    WITH 0 AS consumer_id SELECT bucket, consumer_id, status_code, endpoint_id, n, bytes_received, bytes_sent
    FROM counts_per_15m_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND without_consumer AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32} AND bucket NOT IN {except_0:Array(UInt32)}
      AND consumer_id IN (
        SELECT id FROM consumers_v1 FINAL
        WHERE app_id = {app_id:UInt32}
          AND group_id IN (SELECT id FROM consumer_groups_v1 FINAL WHERE app_id = {app_id:UInt32} AND name LIKE {filter_0:String}))
      AND (concat(toString(intDiv(status_code, 100)), 'xx') IN {filter_1:Array(String)} AND NOT (status_code = 0))
    UNION ALL
    SELECT bucket, consumer_id, status_code, endpoint_id, n, bytes_received, bytes_sent
    FROM counts_per_minute_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket IN {only_1:Array(UInt32)}
      AND consumer_id IN (
        SELECT id FROM consumers_v1 FINAL
        WHERE app_id = {app_id:UInt32}
          AND group_id IN (SELECT id FROM consumer_groups_v1 FINAL WHERE app_id = {app_id:UInt32} AND name LIKE {filter_0:String}))
      AND (concat(toString(intDiv(status_code, 100)), 'xx') IN {filter_1:Array(String)} AND NOT (status_code = 0))
  ) AS r
    LEFT ANY JOIN (
      SELECT id, group_id FROM consumers_v1 FINAL WHERE app_id = {app_id:UInt32} AND group_id != 0
    ) AS g ON g.id = r.consumer_id
  ) AS f
  GROUP BY period, group_id, status_class
  HAVING sum_requests > 0
) AS c
LEFT JOIN (
  SELECT {from:UInt32} AS period, f.group_id AS group_id, intDiv(f.status_code, 100) AS status_class, sumMap([f.k], [f.n]) AS time_bins, arrayMap(k -> toInt32(least(round(1000 * exp2(k / 32)), 2147483647)), quantilesExactWeighted(0.5)(f.k, f.n)) AS time_percentiles
  FROM (
    SELECT r.*, g.group_id AS group_id
    FROM (
    SELECT bucket, consumer_id, status_code, k, n
    FROM counts_per_15m_by_consumer_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'time'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32} AND bucket NOT IN {except_0:Array(UInt32)}
      AND consumer_id IN (
        SELECT id FROM consumers_v1 FINAL
        WHERE app_id = {app_id:UInt32}
          AND group_id IN (SELECT id FROM consumer_groups_v1 FINAL WHERE app_id = {app_id:UInt32} AND name LIKE {filter_0:String}))
      AND (concat(toString(intDiv(status_code, 100)), 'xx') IN {filter_1:Array(String)} AND NOT (status_code = 0))
    UNION ALL
    WITH 0 AS consumer_id SELECT bucket, consumer_id, status_code, k, n
    FROM counts_per_15m_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'time'
      AND without_consumer AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32} AND bucket NOT IN {except_0:Array(UInt32)}
      AND consumer_id IN (
        SELECT id FROM consumers_v1 FINAL
        WHERE app_id = {app_id:UInt32}
          AND group_id IN (SELECT id FROM consumer_groups_v1 FINAL WHERE app_id = {app_id:UInt32} AND name LIKE {filter_0:String}))
      AND (concat(toString(intDiv(status_code, 100)), 'xx') IN {filter_1:Array(String)} AND NOT (status_code = 0))
    UNION ALL
    SELECT bucket, consumer_id, status_code, k, n
    FROM counts_per_minute_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'time'
      AND bucket IN {only_1:Array(UInt32)}
      AND consumer_id IN (
        SELECT id FROM consumers_v1 FINAL
        WHERE app_id = {app_id:UInt32}
          AND group_id IN (SELECT id FROM consumer_groups_v1 FINAL WHERE app_id = {app_id:UInt32} AND name LIKE {filter_0:String}))
      AND (concat(toString(intDiv(status_code, 100)), 'xx') IN {filter_1:Array(String)} AND NOT (status_code = 0))
  ) AS r
    LEFT ANY JOIN (
      SELECT id, group_id FROM consumers_v1 FINAL WHERE app_id = {app_id:UInt32} AND group_id != 0
    ) AS g ON g.id = r.consumer_id
  ) AS f
  GROUP BY period, group_id, status_class
) AS time_bins USING (period, group_id, status_class)
LEFT JOIN (
  SELECT {from:UInt32} AS period, f.group_id AS group_id, intDiv(f.status_code, 100) AS status_class, sum(f.n) AS sized_requests, arrayMap(k -> toInt64(least(round(exp2(k / 32)), 9.2e18)), quantilesExactWeighted(0.95)(f.k, f.n)) AS received_percentiles
  FROM (
    SELECT r.*, g.group_id AS group_id
    FROM (
    SELECT bucket, consumer_id, status_code, k, n
    FROM counts_per_15m_by_consumer_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'received'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32} AND bucket NOT IN {except_0:Array(UInt32)}
      AND consumer_id IN (
        SELECT id FROM consumers_v1 FINAL
        WHERE app_id = {app_id:UInt32}
          AND group_id IN (SELECT id FROM consumer_groups_v1 FINAL WHERE app_id = {app_id:UInt32} AND name LIKE {filter_0:String}))
      AND (concat(toString(intDiv(status_code, 100)), 'xx') IN {filter_1:Array(String)} AND NOT (status_code = 0))
    UNION ALL
    WITH 0 AS consumer_id SELECT bucket, consumer_id, status_code, k, n
    FROM counts_per_15m_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'received'
      AND without_consumer AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32} AND bucket NOT IN {except_0:Array(UInt32)}
      AND consumer_id IN (
        SELECT id FROM consumers_v1 FINAL
        WHERE app_id = {app_id:UInt32}
          AND group_id IN (SELECT id FROM consumer_groups_v1 FINAL WHERE app_id = {app_id:UInt32} AND name LIKE {filter_0:String}))
      AND (concat(toString(intDiv(status_code, 100)), 'xx') IN {filter_1:Array(String)} AND NOT (status_code = 0))
    UNION ALL
    SELECT bucket, consumer_id, status_code, k, n
    FROM counts_per_minute_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'received'
      AND bucket IN {only_1:Array(UInt32)}
      AND consumer_id IN (
        SELECT id FROM consumers_v1 FINAL
        WHERE app_id = {app_id:UInt32}
          AND group_id IN (SELECT id FROM consumer_groups_v1 FINAL WHERE app_id = {app_id:UInt32} AND name LIKE {filter_0:String}))
      AND (concat(toString(intDiv(status_code, 100)), 'xx') IN {filter_1:Array(String)} AND NOT (status_code = 0))
  ) AS r
    LEFT ANY JOIN (
      SELECT id, group_id FROM consumers_v1 FINAL WHERE app_id = {app_id:UInt32} AND group_id != 0
    ) AS g ON g.id = r.consumer_id
  ) AS f
  GROUP BY period, group_id, status_class
) AS received_bins USING (period, group_id, status_class)
LEFT JOIN (
  SELECT {from:UInt32} AS period, f.group_id AS group_id, intDiv(f.status_code, 100) AS status_class, arrayMap(k -> toInt64(least(round(exp2(k / 32)), 9.2e18)), quantilesExactWeighted(0.5)(f.k, f.n)) AS sent_percentiles
  FROM (
    SELECT r.*, g.group_id AS group_id
    FROM (
    SELECT bucket, consumer_id, status_code, k, n
    FROM counts_per_15m_by_consumer_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'sent'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32} AND bucket NOT IN {except_0:Array(UInt32)}
      AND consumer_id IN (
        SELECT id FROM consumers_v1 FINAL
        WHERE app_id = {app_id:UInt32}
          AND group_id IN (SELECT id FROM consumer_groups_v1 FINAL WHERE app_id = {app_id:UInt32} AND name LIKE {filter_0:String}))
      AND (concat(toString(intDiv(status_code, 100)), 'xx') IN {filter_1:Array(String)} AND NOT (status_code = 0))
    UNION ALL
    WITH 0 AS consumer_id SELECT bucket, consumer_id, status_code, k, n
    FROM counts_per_15m_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'sent'
      AND without_consumer AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32} AND bucket NOT IN {except_0:Array(UInt32)}
      AND consumer_id IN (
        SELECT id FROM consumers_v1 FINAL
        WHERE app_id = {app_id:UInt32}
          AND group_id IN (SELECT id FROM consumer_groups_v1 FINAL WHERE app_id = {app_id:UInt32} AND name LIKE {filter_0:String}))
      AND (concat(toString(intDiv(status_code, 100)), 'xx') IN {filter_1:Array(String)} AND NOT (status_code = 0))
    UNION ALL
    SELECT bucket, consumer_id, status_code, k, n
    FROM counts_per_minute_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'sent'
      AND bucket IN {only_1:Array(UInt32)}
      AND consumer_id IN (
        SELECT id FROM consumers_v1 FINAL
        WHERE app_id = {app_id:UInt32}
          AND group_id IN (SELECT id FROM consumer_groups_v1 FINAL WHERE app_id = {app_id:UInt32} AND name LIKE {filter_0:String}))
      AND (concat(toString(intDiv(status_code, 100)), 'xx') IN {filter_1:Array(String)} AND NOT (status_code = 0))
  ) AS r
    LEFT ANY JOIN (
      SELECT id, group_id FROM consumers_v1 FINAL WHERE app_id = {app_id:UInt32} AND group_id != 0
    ) AS g ON g.id = r.consumer_id
  ) AS f
  GROUP BY period, group_id, status_class
) AS sent_bins USING (period, group_id, status_class)
LEFT JOIN (SELECT id, name FROM consumer_groups_v1 FINAL WHERE app_id = {app_id:UInt32}) AS consumer_groups
  ON consumer_groups.id = c.group_id
ORDER BY period_start, consumer_group, status_class
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
