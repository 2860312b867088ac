-- UTC hours: for zones whose offset is whole hours.
-- The current month is read most, and each of its parts costs time to choose and to open. The tables of hours and days are
-- small, so their parts are merged once they are an hour old, and not only when the month has ended.
-- Percentiles of a whole app need neither endpoints nor statuses: the engine reads them from a projection with a twentieth
-- of the rows. A merge of the table sums rows, so it must build the projection again.
CREATE TABLE IF NOT EXISTS counts_per_hour_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.counts_per_hour_v1_local ON CLUSTER {cluster}
(
    app_id         UInt32,
    measure        Enum8('time' = 0, 'received' = 1, 'sent' = 2, 'requests' = 3),
    bucket         DateTime('UTC') CODEC(Delta(4), ZSTD(1)),
    app_env_id     UInt32 CODEC(ZSTD(1)),
    endpoint_id    UInt32 CODEC(Delta(4), T64, ZSTD(1)),
    status_code    UInt16 CODEC(ZSTD(1)),
    k              Int16 CODEC(Delta(2), T64, ZSTD(1)),
    n              UInt64 CODEC(T64, ZSTD(1)),
    bytes_received UInt64 CODEC(T64, ZSTD(1)),
    bytes_sent     UInt64 CODEC(T64, ZSTD(1)),
    PROJECTION sums_of_app (SELECT app_id, measure, bucket, k, sum(n) GROUP BY app_id, measure, bucket, k)
)
ENGINE = SummingMergeTree((n, bytes_received, bytes_sent))
-- cluster: ENGINE = ReplicatedSummingMergeTree('/clickhouse/tables/{shard}/{database}/counts_per_hour_v1', '{replica}', (n, bytes_received, bytes_sent))
PARTITION BY toYYYYMM(bucket)
ORDER BY (app_id, measure, bucket, app_env_id, endpoint_id, status_code, k)
TTL bucket + INTERVAL 13 MONTH + INTERVAL 4 DAY
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000,
-- cluster: SETTINGS ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800,
    min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 0,
    merge_selector_base = 20, ratio_of_defaults_for_sparse_serialization = 1,
    deduplicate_merge_projection_mode = 'rebuild';
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.counts_per_hour_v1 ON CLUSTER {cluster} AS {database}.counts_per_hour_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'counts_per_hour_v1_local', sipHash64(app_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS counts_per_hour_mv_v1 TO counts_per_hour_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.counts_per_hour_mv_v1 ON CLUSTER {cluster} TO {database}.counts_per_hour_v1_local AS
SELECT
    app_id,
    measure,
    toStartOfHour(toDateTime(timestamp, 'UTC')) AS bucket,
    app_env_id,
    endpoint_id,
    status_code,
    k,
    sum(s.n) AS n,
    sum(s.bytes_received) AS bytes_received,
    sum(s.bytes_sent) AS bytes_sent
FROM request_sums AS s
-- cluster: FROM {database}.request_sums_local AS s
GROUP BY app_id, measure, bucket, app_env_id, endpoint_id, status_code, k;
