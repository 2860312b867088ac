-- Minutes, for 32 days. A minute has few requests of an endpoint: one table serves questions with and without consumer.
-- What is older would only be written to be dropped.
CREATE TABLE IF NOT EXISTS counts_per_minute_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.counts_per_minute_v1_local ON CLUSTER {cluster}
(
    app_id         UInt32,
    bucket         DateTime('UTC') CODEC(Delta(4), ZSTD(1)),
    app_env_id     UInt32 CODEC(ZSTD(1)),
    endpoint_id    UInt32 CODEC(T64, ZSTD(1)),
    consumer_id    UInt32 CODEC(ZSTD(1)),
    status_code    UInt16 CODEC(ZSTD(1)),
    requests       UInt64 CODEC(T64, ZSTD(1)),
    bytes_received UInt64 CODEC(T64, ZSTD(1)),
    bytes_sent     UInt64 CODEC(T64, ZSTD(1))
)
ENGINE = SummingMergeTree((requests, bytes_received, bytes_sent))
-- cluster: ENGINE = ReplicatedSummingMergeTree('/clickhouse/tables/{shard}/{database}/counts_per_minute_v1', '{replica}', (requests, bytes_received, bytes_sent))
PARTITION BY toMonday(bucket)
ORDER BY (app_id, bucket, app_env_id, endpoint_id, consumer_id, status_code)
TTL bucket + INTERVAL 32 DAY
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000,
-- cluster: SETTINGS ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800,
    min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1,
    merge_selector_base = 20;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.counts_per_minute_v1 ON CLUSTER {cluster} AS {database}.counts_per_minute_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'counts_per_minute_v1_local', sipHash64(app_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS counts_per_minute_mv_v1 TO counts_per_minute_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.counts_per_minute_mv_v1 ON CLUSTER {cluster} TO {database}.counts_per_minute_v1_local AS
SELECT
    app_id,
    toStartOfMinute(toDateTime(timestamp, 'UTC')) AS bucket,
    app_env_id,
    endpoint_id,
    consumer_id,
    status_code,
    sum(c.requests) AS requests,
    sum(c.bytes_received) AS bytes_received,
    sum(c.bytes_sent) AS bytes_sent
FROM request_counts AS c
-- cluster: FROM {database}.request_counts_local AS c
WHERE timestamp > now64(3) - INTERVAL 32 DAY
GROUP BY app_id, bucket, app_env_id, endpoint_id, consumer_id, status_code;
-- statement
CREATE TABLE IF NOT EXISTS bins_per_minute_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.bins_per_minute_v1_local ON CLUSTER {cluster}
(
    app_id      UInt32,
    measure     Enum8('time' = 0, 'received' = 1, 'sent' = 2),
    bucket      DateTime('UTC') CODEC(Delta(4), ZSTD(1)),
    app_env_id  UInt32 CODEC(ZSTD(1)),
    endpoint_id UInt32 CODEC(T64, ZSTD(1)),
    consumer_id UInt32 CODEC(ZSTD(1)),
    status_code UInt16 CODEC(ZSTD(1)),
    k           Int16 CODEC(T64, ZSTD(1)),
    n           UInt64 CODEC(T64, ZSTD(1))
)
ENGINE = SummingMergeTree(n)
-- cluster: ENGINE = ReplicatedSummingMergeTree('/clickhouse/tables/{shard}/{database}/bins_per_minute_v1', '{replica}', n)
PARTITION BY toMonday(bucket)
ORDER BY (app_id, measure, bucket, app_env_id, endpoint_id, consumer_id, status_code, k)
TTL bucket + INTERVAL 32 DAY
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000,
-- cluster: SETTINGS ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800,
    min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1,
    merge_selector_base = 20;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.bins_per_minute_v1 ON CLUSTER {cluster} AS {database}.bins_per_minute_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'bins_per_minute_v1_local', sipHash64(app_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS bins_per_minute_mv_v1 TO bins_per_minute_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.bins_per_minute_mv_v1 ON CLUSTER {cluster} TO {database}.bins_per_minute_v1_local AS
SELECT
    app_id,
    measure,
    toStartOfMinute(toDateTime(timestamp, 'UTC')) AS bucket,
    app_env_id,
    endpoint_id,
    consumer_id,
    status_code,
    k,
    sum(b.n) AS n
FROM request_bins AS b
-- cluster: FROM {database}.request_bins_local AS b
WHERE timestamp > now64(3) - INTERVAL 32 DAY
GROUP BY app_id, measure, bucket, app_env_id, endpoint_id, consumer_id, status_code, k;
