-- Minutes, for 32 days. A minute has few requests of an endpoint: one table serves questions with and without consumer.
-- What is older would only be written to be dropped.
CREATE TABLE IF NOT EXISTS counts_per_minute_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.counts_per_minute_v1_local ON CLUSTER {cluster}
(
    app_id         UInt32,
    measure        Enum8('time' = 0, 'received' = 1, 'sent' = 2, 'requests' = 3),
    bucket         DateTime('UTC') CODEC(Delta(4), ZSTD(1)),
    app_env_id     UInt32 CODEC(ZSTD(1)),
    endpoint_id    UInt32 CODEC(T64, ZSTD(1)),
    consumer_id    UInt32 CODEC(ZSTD(1)),
    status_code    UInt16 CODEC(ZSTD(1)),
    k              Int16 CODEC(T64, ZSTD(1)),
    n              UInt64 CODEC(T64, ZSTD(1)),
    bytes_received UInt64 CODEC(T64, ZSTD(1)),
    bytes_sent     UInt64 CODEC(T64, ZSTD(1))
)
ENGINE = SummingMergeTree((n, bytes_received, bytes_sent))
-- cluster: ENGINE = ReplicatedSummingMergeTree('/clickhouse/tables/{shard}/{database}/counts_per_minute_v1', '{replica}', (n, bytes_received, bytes_sent))
PARTITION BY toMonday(bucket)
ORDER BY (app_id, measure, bucket, app_env_id, endpoint_id, consumer_id, status_code, k)
TTL bucket + INTERVAL 32 DAY
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000,
-- cluster: SETTINGS ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800,
    min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1,
    merge_selector_base = 20, ratio_of_defaults_for_sparse_serialization = 1;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.counts_per_minute_v1 ON CLUSTER {cluster} AS {database}.counts_per_minute_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'counts_per_minute_v1_local', sipHash64(app_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS counts_per_minute_mv_v1 TO counts_per_minute_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.counts_per_minute_mv_v1 ON CLUSTER {cluster} TO {database}.counts_per_minute_v1_local AS
SELECT
    app_id,
    measure,
    toStartOfMinute(toDateTime(timestamp, 'UTC')) AS bucket,
    app_env_id,
    endpoint_id,
    consumer_id,
    status_code,
    k,
    sum(s.n) AS n,
    sum(s.bytes_received) AS bytes_received,
    sum(s.bytes_sent) AS bytes_sent
FROM request_sums AS s
-- cluster: FROM {database}.request_sums_local AS s
WHERE timestamp > now64(3) - INTERVAL 32 DAY
GROUP BY app_id, measure, bucket, app_env_id, endpoint_id, consumer_id, status_code, k;
