-- POST metrics {"since":"2099-05-13T09:17","metrics":["requests","error_rate","response_time_p50","response_time_p99","apdex"],"group_by":["app_version","path"],"filters":[{"field":"app_version","op":"not_like","value":"1.%"}]}

-- releases.changes
SELECT app_env_id, app_version, toUnixTimestamp64Milli(at) AS at_ms, change
FROM (
  SELECT app_env_id, app_version, at, change, pauses,
    lagInFrame(pauses) OVER next_to AS paused, lagInFrame(app_version) OVER next_to AS last_version,
    leadInFrame(change) OVER next_to AS next_change, leadInFrame(app_version) OVER next_to AS next_version
  FROM (
    SELECT app_env_id, app_version, at, change,
      sum(change) OVER in_env = 0 AND anyLast(if(change = 1, app_version, NULL)) OVER in_env = app_version AS pauses
    FROM (
      SELECT app_env_id, app_version, event.1 AS at, event.2 AS change,
        sum(change) OVER (PARTITION BY app_env_id, app_version ORDER BY at, change DESC
          ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running
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
      ARRAY JOIN [(began, toInt8(1)), (ended, toInt8(-1))] AS event
    )
    WHERE if(change = 1, running = 1, running = 0)
    WINDOW in_env AS (PARTITION BY app_env_id ORDER BY at, change DESC, app_version
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
  )
  WINDOW next_to AS (PARTITION BY app_env_id ORDER BY at, change DESC, app_version
    ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)
)
WHERE NOT (pauses AND next_change = 1 AND next_version = app_version)
  AND NOT (change = 1 AND paused AND last_version = app_version)
ORDER BY app_env_id, at, change DESC, app_version
LIMIT {limit:UInt32};

-- app_metrics.query
SELECT period_start, period_end, app_version, path, requests, error_rate, response_time_p50, response_time_p99, apdex FROM (
WITH {version_starts:Array(UInt64)} AS version_starts, {version_indexes:Array(UInt32)} AS version_indexes, {version_names:Array(String)} AS version_names, (
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
  nullIf(version_names[c.version_index + 1], '') AS app_version,
  nullIf(endpoints.path, '') AS path,
  sum_requests AS requests,
  (sum_client_errors + sum_server_errors) / nullIf(sum_known_requests, 0) AS error_rate,
  if(empty(time_percentiles), NULL, time_percentiles[1]) AS response_time_p50,
  if(empty(time_percentiles), NULL, time_percentiles[2]) AS response_time_p99,
  (satisfied + tolerated / 2) / nullIf(timed_requests, 0) AS apdex
FROM (
  SELECT {from:UInt32} AS period, transform(roundDown(bitShiftLeft(toUInt64(f.app_env_id), 32) + toUnixTimestamp(f.bucket), version_starts), version_starts, version_indexes, toUInt32(0)) AS version_index, transform(f.endpoint_id, first_endpoints.1, first_endpoints.2, toUInt32(0)) AS endpoint_id, toDateTime(period, 'UTC') AS start, toDateTime(toUInt32(period + {width:UInt32}), 'UTC') AS end, sum(f.n) AS sum_requests, sumIf(f.n, f.status_code != 0) AS sum_known_requests, sumIf(f.n, f.status_code >= 400 AND f.status_code < 500) AS sum_client_errors, sumIf(f.n, f.status_code >= 500 AND f.status_code < 600) AS sum_server_errors
  FROM (
    SELECT bucket, app_env_id, endpoint_id, status_code, n, bytes_received, bytes_sent
    FROM counts_per_hour_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32} AND bucket NOT IN {except_0:Array(UInt32)}
      AND NOT (transform(roundDown(bitShiftLeft(toUInt64(app_env_id), 32) + toUnixTimestamp(bucket), version_starts), version_starts, version_indexes, toUInt32(0)) IN (SELECT version FROM (SELECT arrayJoin(version_names) AS name, toUInt32(indexOf(version_names, name) - 1) AS version) WHERE (name LIKE {filter_0:String} AND NOT (name = ''))))
    UNION ALL
    SELECT bucket, app_env_id, endpoint_id, status_code, n, bytes_received, bytes_sent
    FROM counts_per_15m_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket IN {only_1:Array(UInt32)}
      AND NOT (transform(roundDown(bitShiftLeft(toUInt64(app_env_id), 32) + toUnixTimestamp(bucket), version_starts), version_starts, version_indexes, toUInt32(0)) IN (SELECT version FROM (SELECT arrayJoin(version_names) AS name, toUInt32(indexOf(version_names, name) - 1) AS version) WHERE (name LIKE {filter_0:String} AND NOT (name = ''))))
    UNION ALL
    SELECT bucket, app_env_id, endpoint_id, status_code, n, bytes_received, bytes_sent
    FROM counts_per_minute_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'
      AND bucket IN {only_2:Array(UInt32)}
      AND NOT (transform(roundDown(bitShiftLeft(toUInt64(app_env_id), 32) + toUnixTimestamp(bucket), version_starts), version_starts, version_indexes, toUInt32(0)) IN (SELECT version FROM (SELECT arrayJoin(version_names) AS name, toUInt32(indexOf(version_names, name) - 1) AS version) WHERE (name LIKE {filter_0:String} AND NOT (name = ''))))
  ) AS f
  GROUP BY period, version_index, endpoint_id
  HAVING sum_requests > 0
) AS c
LEFT JOIN (
  SELECT {from:UInt32} AS period, transform(roundDown(bitShiftLeft(toUInt64(f.app_env_id), 32) + toUnixTimestamp(f.bucket), version_starts), version_starts, version_indexes, toUInt32(0)) AS version_index, transform(f.endpoint_id, first_endpoints.1, first_endpoints.2, toUInt32(0)) AS endpoint_id, sum(f.n) AS timed_requests, sumIf(f.n, f.k <= {satisfying_k:Int16}) AS satisfied, sumIf(f.n, f.k > {satisfying_k:Int16} AND f.k <= {tolerable_k:Int16}) AS tolerated, arrayMap(k -> toInt32(least(round(1000 * exp2(k / 32)), 2147483647)), quantilesExactWeighted(0.5, 0.99)(f.k, f.n)) AS time_percentiles
  FROM (
    SELECT bucket, app_env_id, endpoint_id, k, n
    FROM counts_per_hour_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'time'
      AND bucket >= {from_0:UInt32} AND bucket < {to_0:UInt32} AND bucket NOT IN {except_0:Array(UInt32)}
      AND NOT (transform(roundDown(bitShiftLeft(toUInt64(app_env_id), 32) + toUnixTimestamp(bucket), version_starts), version_starts, version_indexes, toUInt32(0)) IN (SELECT version FROM (SELECT arrayJoin(version_names) AS name, toUInt32(indexOf(version_names, name) - 1) AS version) WHERE (name LIKE {filter_0:String} AND NOT (name = ''))))
    UNION ALL
    SELECT bucket, app_env_id, endpoint_id, k, n
    FROM counts_per_15m_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'time'
      AND bucket IN {only_1:Array(UInt32)}
      AND NOT (transform(roundDown(bitShiftLeft(toUInt64(app_env_id), 32) + toUnixTimestamp(bucket), version_starts), version_starts, version_indexes, toUInt32(0)) IN (SELECT version FROM (SELECT arrayJoin(version_names) AS name, toUInt32(indexOf(version_names, name) - 1) AS version) WHERE (name LIKE {filter_0:String} AND NOT (name = ''))))
    UNION ALL
    SELECT bucket, app_env_id, endpoint_id, k, n
    FROM counts_per_minute_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'time'
      AND bucket IN {only_2:Array(UInt32)}
      AND NOT (transform(roundDown(bitShiftLeft(toUInt64(app_env_id), 32) + toUnixTimestamp(bucket), version_starts), version_starts, version_indexes, toUInt32(0)) IN (SELECT version FROM (SELECT arrayJoin(version_names) AS name, toUInt32(indexOf(version_names, name) - 1) AS version) WHERE (name LIKE {filter_0:String} AND NOT (name = ''))))
  ) AS f
  GROUP BY period, version_index, endpoint_id
) AS time_bins USING (period, version_index, endpoint_id)
LEFT JOIN (SELECT id, method, path FROM endpoints_v1 FINAL WHERE app_id = {app_id:UInt32}) AS endpoints
  ON endpoints.id = c.endpoint_id
ORDER BY period_start, app_version, path
)
WHERE NOT throwIf(rowNumberInAllBlocks() >= 1000000);

-- app_metrics.accuracy
SELECT max(relative_error) AS relative_error, max(absolute_error_ms) AS absolute_error_ms
FROM percentile_accuracy_v1
WHERE app_id = {app_id:UInt32} AND day >= toDate({day:UInt16}) AND day <= toDate({last_day:UInt16});
