-- GET traffic?start=2099-05-13T09:17&interval=hour&app_env_id=1&consumer_id=1

-- traffic.sums
WITH intDiv(toUInt32(toUnixTimestamp(bucket) - {from:UInt32}), {width:UInt32}) AS period
SELECT
  toUnixTimestamp(toDateTime(toUInt32({from:UInt32} + period * {width:UInt32}), 'UTC')) AS start,
  concat(
    '"requests":', toString(sum(t.n) AS requests),
    ',"bytes_received":', toString(toInt64(if(sum(toFloat64(toInt64(t.bytes_received))) >= 9223372036854775807, 9223372036854775807, sum(t.bytes_received)))),
    ',"bytes_sent":', toString(toInt64(if(sum(toFloat64(toInt64(t.bytes_sent))) >= 9223372036854775807, 9223372036854775807, sum(t.bytes_sent))))
  ) AS json
FROM counts_per_15m_by_consumer_v1 AS t
WHERE app_id = {app_id:UInt32} AND measure = 'requests'
  AND bucket >= toDateTime({from:UInt32}, 'UTC')
  AND bucket < toDateTime({to:UInt32}, 'UTC')
  AND app_env_id = {app_env_id:Int64}
  AND consumer_id = {consumer_id:Int64}
GROUP BY period
HAVING requests > 0
ORDER BY period
LIMIT {limit:UInt32};

-- consumers.coverage
SELECT sum(i.measured) AS measured, sum(least(i.seen, i.measured)) AS seen
FROM (
  SELECT sum(c.measured) AS measured, sum(c.seen) AS seen
  FROM consumer_coverage_v1 AS c
  WHERE c.app_id = {app_id:UInt32} AND c.day >= toDate({day:UInt16}) AND c.day <= toDate({last_day:UInt16})
  GROUP BY c.instance_uuid
) AS i;
