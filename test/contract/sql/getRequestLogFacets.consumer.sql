-- GET request-logs/facets?field=consumer&start=2099-05-13

-- request_logs.facets
SELECT if(t.v = 0, NULL, c.identifier) AS value, nullIf(t.v, 0) AS id, t.n AS requests, t.all_values AS all_values, t.all_requests AS all_requests
FROM (
  SELECT v, n, count() OVER () AS all_values, sum(n) OVER () AS all_requests
  FROM (
    SELECT consumer_id AS v, count() AS n
    FROM request_logs_v1
    WHERE app_id = {app_id:UInt32}
      AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
      AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')
    GROUP BY v
  )
  ORDER BY n DESC, v
  LIMIT {limit:UInt32}
) AS t
LEFT JOIN (
  SELECT id, identifier FROM consumers_v1 FINAL WHERE app_id = {app_id:UInt32}
) AS c ON c.id = t.v
ORDER BY requests DESC, value;
