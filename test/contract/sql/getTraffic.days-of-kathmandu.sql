-- GET traffic?start=2099-05-13T09:17&interval=day&timezone=Asia/Kathmandu

-- traffic.sums
WITH intDiv(toUInt32(toUnixTimestamp(bucket) - {from:UInt32}), {width:UInt32}) AS period
SELECT
  toUnixTimestamp(toDateTime(toUInt32({from:UInt32} + period * {width:UInt32}), 'UTC')) AS start,
  concat(
    '"requests":', toString(sum(t.n) AS requests),
    ',"bytes_received":', toString(toInt64(if(sum(toFloat64(toInt64(t.bytes_received))) >= 9223372036854775807, 9223372036854775807, sum(t.bytes_received)))),
    ',"bytes_sent":', toString(toInt64(if(sum(toFloat64(toInt64(t.bytes_sent))) >= 9223372036854775807, 9223372036854775807, sum(t.bytes_sent))))
  ) AS json
FROM counts_per_15m_v1 AS t
WHERE app_id = {app_id:UInt32} AND measure = 'requests'
  AND bucket >= toDateTime({from:UInt32}, 'UTC')
  AND bucket < toDateTime({to:UInt32}, 'UTC')
GROUP BY period
HAVING requests > 0
ORDER BY period
LIMIT {limit:UInt32};
