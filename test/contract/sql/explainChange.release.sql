-- POST changes {"measure":"requests","since_release":"2.0"}

-- releases.begin
SELECT count() AS runs, toUnixTimestamp64Milli(min(began)) AS began_ms
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
WHERE app_version = {version:String};

-- app_metrics.query
SELECT
  start AS period_start,
  end AS period_end,
  sum_requests AS requests,
  if(sum_known_requests = 0, NULL, sum_client_errors) AS client_errors,
  if(sum_known_requests = 0, NULL, sum_server_errors) AS server_errors,
  (sum_client_errors + sum_server_errors) / nullIf(sum_known_requests, 0) AS error_rate,
  if(empty(time_percentiles), NULL, time_percentiles[1]) AS response_time_p50,
  if(empty(time_percentiles), NULL, time_percentiles[2]) AS response_time_p95
FROM (
  SELECT {from:UInt32} AS period, toDateTime(period, 'UTC') AS start, toDateTime(toUInt32(period + {width:UInt32}), 'UTC') AS end, sum(f.n) AS sum_requests, sumIf(f.n, f.status_code != 0) AS sum_known_requests, sumIf(f.n, f.status_code >= 400 AND f.status_code < 500) AS sum_client_errors, sumIf(f.n, f.status_code >= 500 AND f.status_code < 600) AS sum_server_errors
  FROM (
    SELECT bucket, endpoint_id, status_code, n, bytes_received, bytes_sent
    FROM counts_per_hour_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32} AND bucket NOT IN {except_0:Array(UInt32)}
    UNION ALL
    SELECT bucket, endpoint_id, status_code, n, bytes_received, bytes_sent
    FROM counts_per_15m_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket IN {only_1:Array(UInt32)}
    UNION ALL
    SELECT bucket, endpoint_id, status_code, n, bytes_received, bytes_sent
    FROM counts_per_minute_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket IN {only_2:Array(UInt32)}
  ) AS f
  GROUP BY period
  HAVING sum_requests > 0
) AS c
LEFT JOIN (
  SELECT {from:UInt32} AS period, arrayMap(k -> toInt32(least(round(1000 * exp2(k / 32)), 2147483647)), quantilesExactWeighted(0.5, 0.95)(f.k, f.n)) AS time_percentiles
  FROM (
    SELECT bucket, k, sum(n) AS n
    FROM counts_per_hour_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'time'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32} AND bucket NOT IN {except_0:Array(UInt32)}
    GROUP BY bucket, k
    UNION ALL
    SELECT bucket, k, n
    FROM counts_per_15m_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'time'
      AND bucket IN {only_1:Array(UInt32)}
    UNION ALL
    SELECT bucket, k, n
    FROM counts_per_minute_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'time'
      AND bucket IN {only_2:Array(UInt32)}
  ) AS f
  GROUP BY period
) AS time_bins USING (period)
ORDER BY period_start;

-- app_metrics.accuracy
SELECT max(relative_error) AS relative_error, max(absolute_error_ms) AS absolute_error_ms
FROM percentile_accuracy_v1
WHERE app_id = {app_id:UInt32} AND day >= toDate({day:UInt16}) AND day <= toDate({last_day:UInt16});

-- app_metrics.query
SELECT period_start, period_end, method, path, requests FROM (
SELECT
  start AS period_start,
  end AS period_end,
  nullIf(toString(endpoints.method), '') AS method,
  nullIf(endpoints.path, '') AS path,
  sum_requests AS requests
FROM (
  SELECT {from:UInt32} AS period, f.endpoint_id AS endpoint_id, toDateTime(period, 'UTC') AS start, toDateTime(toUInt32(period + {width:UInt32}), 'UTC') AS end, sum(f.n) AS sum_requests
  FROM (
    SELECT bucket, endpoint_id, status_code, n, bytes_received, bytes_sent
    FROM counts_per_hour_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32} AND bucket NOT IN {except_0:Array(UInt32)}
    UNION ALL
    SELECT bucket, endpoint_id, status_code, n, bytes_received, bytes_sent
    FROM counts_per_15m_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket IN {only_1:Array(UInt32)}
    UNION ALL
    SELECT bucket, endpoint_id, status_code, n, bytes_received, bytes_sent
    FROM counts_per_minute_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket IN {only_2:Array(UInt32)}
  ) AS f
  GROUP BY period, endpoint_id
  HAVING sum_requests > 0
) AS c
LEFT JOIN (SELECT id, method, path FROM endpoints_v1 FINAL WHERE app_id = {app_id:UInt32}) AS endpoints
  ON endpoints.id = c.endpoint_id
ORDER BY period_start, method, path
)
WHERE NOT throwIf(rowNumberInAllBlocks() >= 100000);

-- app_metrics.query
SELECT period_start, period_end, consumer_id, requests FROM (
SELECT
  start AS period_start,
  end AS period_end,
  nullIf(toInt64(c.consumer_id), 0) AS consumer_id,
  sum_requests AS requests
FROM (
  SELECT {from:UInt32} AS period, f.consumer_id AS consumer_id, toDateTime(period, 'UTC') AS start, toDateTime(toUInt32(period + {width:UInt32}), 'UTC') AS end, sum(f.n) AS sum_requests
  FROM (
    SELECT bucket, consumer_id, endpoint_id, status_code, n, bytes_received, bytes_sent
    FROM counts_per_15m_by_consumer_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32} AND bucket NOT IN {except_0:Array(UInt32)}
    UNION ALL
    WITH 0 AS consumer_id SELECT bucket, consumer_id, endpoint_id, status_code, n, bytes_received, bytes_sent
    FROM counts_per_15m_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND without_consumer AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32} AND bucket NOT IN {except_0:Array(UInt32)}
    UNION ALL
    SELECT bucket, consumer_id, endpoint_id, status_code, n, bytes_received, bytes_sent
    FROM counts_per_minute_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket IN {only_1:Array(UInt32)}
  ) AS f
  GROUP BY period, consumer_id
  HAVING sum_requests > 0
) AS c
ORDER BY period_start, consumer_id
)
WHERE NOT throwIf(rowNumberInAllBlocks() >= 100000);

-- consumers.coverage
SELECT sum(i.measured) AS measured, sum(least(i.seen, i.measured)) AS seen
FROM (
  SELECT sum(c.measured) AS measured, sum(c.seen) AS seen
  FROM consumer_coverage_v1 AS c
  WHERE c.app_id = {app_id:UInt32} AND c.day >= toDate({day:UInt16}) AND c.day <= toDate({last_day:UInt16})
  GROUP BY c.instance_uuid
) AS i;

-- app_metrics.query
SELECT period_start, period_end, status_code, requests FROM (
SELECT
  start AS period_start,
  end AS period_end,
  nullIf(toInt32(c.status_code), 0) AS status_code,
  sum_requests AS requests
FROM (
  SELECT {from:UInt32} AS period, f.status_code AS status_code, toDateTime(period, 'UTC') AS start, toDateTime(toUInt32(period + {width:UInt32}), 'UTC') AS end, sum(f.n) AS sum_requests
  FROM (
    SELECT bucket, status_code, endpoint_id, n, bytes_received, bytes_sent
    FROM counts_per_hour_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32} AND bucket NOT IN {except_0:Array(UInt32)}
    UNION ALL
    SELECT bucket, status_code, endpoint_id, n, bytes_received, bytes_sent
    FROM counts_per_15m_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket IN {only_1:Array(UInt32)}
    UNION ALL
    SELECT bucket, status_code, endpoint_id, n, bytes_received, bytes_sent
    FROM counts_per_minute_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket IN {only_2:Array(UInt32)}
  ) AS f
  GROUP BY period, status_code
  HAVING sum_requests > 0
) AS c
ORDER BY period_start, status_code
)
WHERE NOT throwIf(rowNumberInAllBlocks() >= 100000);
