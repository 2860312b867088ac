-- Requests in quarter-hours: the finest period any of today's time zones needs. Status 0: not known.
-- n of the requests are in bin k of a measure, and all of them in the row of measure `requests`; see `request_sums`. A row for
-- each bin takes as many bytes as packed states of quantiles, and is read two to six times as fast.
-- TTL: 28 February and 13 months are 28 March, but it is shown until 31 March: four days more are kept.
-- Rows without consumer are marked, and are not in the table by consumer: an app without consumers would have all of its
-- rows twice. See docs/performance.md, "Room". The primary key ends before the mark, which no query looks for alone.
-- These tables have the most rows. With the default `merge_selector_base` of 5 the engine writes each row about four
-- times more while an import adds parts; with 20, once or twice. See docs/performance.md, "What each lever gave".
-- Endpoints ascend within a period and bins within an endpoint, so their differences are small. Behind a consumer they do
-- not ascend, and only unused bits can be removed.
-- Rows of bins have no bytes. As sparse columns, bytes take 1 % of the room less, and reads of counts take 1.4 times as long.
CREATE TABLE IF NOT EXISTS counts_per_15m_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.counts_per_15m_v1_local ON CLUSTER {cluster}
(
    app_id           UInt32,
    measure          Enum8('time' = 0, 'received' = 1, 'sent' = 2, 'requests' = 3),
    bucket           DateTime('UTC') CODEC(Delta(4), ZSTD(1)),
    app_env_id       UInt32 CODEC(ZSTD(1)),
    endpoint_id      UInt32 CODEC(Delta(4), T64, ZSTD(1)),
    status_code      UInt16 CODEC(ZSTD(1)),
    k                Int16 CODEC(Delta(2), T64, ZSTD(1)),
    without_consumer Bool CODEC(ZSTD(1)),
    n                UInt64 CODEC(T64, ZSTD(1)),
    bytes_received   UInt64 CODEC(T64, ZSTD(1)),
    bytes_sent       UInt64 CODEC(T64, ZSTD(1))
)
ENGINE = SummingMergeTree((n, bytes_received, bytes_sent))
-- cluster: ENGINE = ReplicatedSummingMergeTree('/clickhouse/tables/{shard}/{database}/counts_per_15m_v1', '{replica}', (n, bytes_received, bytes_sent))
PARTITION BY toYYYYMM(bucket)
PRIMARY KEY (app_id, measure, bucket, app_env_id, endpoint_id, status_code, k)
ORDER BY (app_id, measure, bucket, app_env_id, endpoint_id, status_code, k, without_consumer)
TTL bucket + INTERVAL 13 MONTH + INTERVAL 4 DAY
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000,
-- cluster: SETTINGS ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800,
    min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1,
    merge_selector_base = 20, ratio_of_defaults_for_sparse_serialization = 1;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.counts_per_15m_v1 ON CLUSTER {cluster} AS {database}.counts_per_15m_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'counts_per_15m_v1_local', sipHash64(app_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS counts_per_15m_mv_v1 TO counts_per_15m_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.counts_per_15m_mv_v1 ON CLUSTER {cluster} TO {database}.counts_per_15m_v1_local AS
SELECT
    app_id,
    measure,
    toStartOfFifteenMinutes(toDateTime(timestamp, 'UTC')) AS bucket,
    app_env_id,
    endpoint_id,
    status_code,
    k,
    consumer_id = 0 AS without_consumer,
    sum(s.n) AS n,
    sum(s.bytes_received) AS bytes_received,
    sum(s.bytes_sent) AS bytes_sent
FROM request_sums AS s
-- cluster: FROM {database}.request_sums_local AS s
GROUP BY app_id, measure, bucket, app_env_id, endpoint_id, status_code, k, without_consumer;
-- statement
-- The same of each consumer, in a table of its own: with consumers in one table, every other question reads 12 times as much.
CREATE TABLE IF NOT EXISTS counts_per_15m_by_consumer_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.counts_per_15m_by_consumer_v1_local ON CLUSTER {cluster}
(
    app_id         UInt32,
    measure        Enum8('time' = 0, 'received' = 1, 'sent' = 2, 'requests' = 3),
    consumer_id    UInt32 CODEC(ZSTD(1)),
    bucket         DateTime('UTC') CODEC(Delta(4), ZSTD(1)),
    app_env_id     UInt32 CODEC(ZSTD(1)),
    endpoint_id    UInt32 CODEC(T64, ZSTD(1)),
    status_code    UInt16 CODEC(ZSTD(1)),
    k              Int16 CODEC(T64, ZSTD(1)),
    n              UInt64 CODEC(T64, ZSTD(1)),
    bytes_received UInt64 CODEC(T64, ZSTD(1)),
    bytes_sent     UInt64 CODEC(T64, ZSTD(1))
)
ENGINE = SummingMergeTree((n, bytes_received, bytes_sent))
-- cluster: ENGINE = ReplicatedSummingMergeTree('/clickhouse/tables/{shard}/{database}/counts_per_15m_by_consumer_v1', '{replica}', (n, bytes_received, bytes_sent))
PARTITION BY toYYYYMM(bucket)
ORDER BY (app_id, measure, consumer_id, bucket, app_env_id, endpoint_id, status_code, k)
TTL bucket + INTERVAL 13 MONTH + INTERVAL 4 DAY
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000,
-- cluster: SETTINGS ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800,
    min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1,
    merge_selector_base = 20, ratio_of_defaults_for_sparse_serialization = 1;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.counts_per_15m_by_consumer_v1 ON CLUSTER {cluster} AS {database}.counts_per_15m_by_consumer_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'counts_per_15m_by_consumer_v1_local', sipHash64(app_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS counts_per_15m_by_consumer_mv_v1 TO counts_per_15m_by_consumer_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.counts_per_15m_by_consumer_mv_v1 ON CLUSTER {cluster} TO {database}.counts_per_15m_by_consumer_v1_local AS
SELECT
    app_id,
    measure,
    consumer_id,
    toStartOfFifteenMinutes(toDateTime(timestamp, 'UTC')) AS bucket,
    app_env_id,
    endpoint_id,
    status_code,
    k,
    sum(s.n) AS n,
    sum(s.bytes_received) AS bytes_received,
    sum(s.bytes_sent) AS bytes_sent
FROM request_sums AS s
-- cluster: FROM {database}.request_sums_local AS s
WHERE consumer_id != 0
GROUP BY app_id, measure, consumer_id, bucket, app_env_id, endpoint_id, status_code, k;
