-- POST metrics {"since":"2099-05-13T09:17","metrics":["requests"]}

-- app_metrics.query
SELECT
  start AS period_start,
  end AS period_end,
  sum_requests AS requests
FROM (
  SELECT {from:UInt32} AS period, toDateTime(period, 'UTC') AS start, toDateTime(toUInt32(period + {width:UInt32}), 'UTC') AS end, sum(f.n) AS sum_requests
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
ORDER BY period_start;
