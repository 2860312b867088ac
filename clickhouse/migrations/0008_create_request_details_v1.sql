-- Get Request Details: from the key to the place in the logs, and what was captured, one packed column of JSON text in
-- the contract's shape; empty: nothing but the trace ID, which the logs have. It is read whole or not at all, 64-bit
-- integers keep their digits, and opening one wide column is cheaper than opening eight. The record itself is in the logs
-- alone. A request without captured data has no row if the ledger of imports has its time: a row took 12 bytes.
-- Requests that the ledger does not know lie together, so that a batch is looked up in one of both.
CREATE TABLE IF NOT EXISTS request_details_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.request_details_v1_local ON CLUSTER {cluster}
(
    app_id        UInt32,
    timestamp     DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    request_uuid  UUID CODEC(ZSTD(1)),
    in_ledger     Bool COMMENT 'whether the ledger of imports has the request and its time',
    captured_json String CODEC(ZSTD(1))
)
ENGINE = MergeTree
-- cluster: ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/request_details_v1', '{replica}')
PARTITION BY toStartOfInterval(timestamp, INTERVAL 3 DAY)
ORDER BY (app_id, in_ledger, request_uuid)
TTL toDateTime(timestamp) + INTERVAL 15 DAY + INTERVAL 1 SECOND
SETTINGS index_granularity = 64, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000,
-- cluster: SETTINGS index_granularity = 64, ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800,
    min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.request_details_v1 ON CLUSTER {cluster} AS {database}.request_details_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'request_details_v1_local', sipHash64(app_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS request_details_mv_v1 TO request_details_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.request_details_mv_v1 ON CLUSTER {cluster} TO {database}.request_details_v1_local AS
SELECT app_id, timestamp, request_uuid, in_ledger, if(is_captured, captured_json, '') AS captured_json
FROM logged_requests
-- cluster: FROM {database}.logged_requests_local
WHERE is_captured OR NOT in_ledger;
