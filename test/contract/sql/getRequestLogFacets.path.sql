-- GET request-logs/facets?field=path&start=2099-05-13&method=GET&app_env_id=1

-- request_logs.facets
SELECT v AS value, t.n AS requests, t.all_values AS all_values, t.all_requests AS all_requests
FROM (
  SELECT v, n, count() OVER () AS all_values, sum(n) OVER () AS all_requests
  FROM (
    SELECT if(c.v = 0, NULL, e.path) AS v, sum(c.n) AS n
    FROM (
    SELECT endpoint_id AS v, count() AS n
    FROM request_logs_v1
    WHERE app_id = {app_id:UInt32}
      AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
      AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')
  AND app_env_id = {app_env_id:Int64}
  AND method IN {methods:Array(String)}
    GROUP BY v
    ) AS c
    LEFT JOIN (SELECT id, path FROM endpoints_v1 FINAL WHERE app_id = {app_id:UInt32}) AS e ON e.id = c.v
    GROUP BY v
  )
  ORDER BY n DESC, v
  LIMIT {limit:UInt32}
) AS t
ORDER BY requests DESC, value;
