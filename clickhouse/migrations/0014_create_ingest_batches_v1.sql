-- Write-ahead log of batches: what is counted and logged is written here first and then inserted into the landing tables,
-- under deduplication tokens made of the batch's ID. A process that dies in between leaves a batch that is not applied;
-- it is applied again from here, and each table takes the blocks that it does not have.
-- A batch has numbered pieces of rows and a header, piece 0, which is written last: a batch without header was never
-- acknowledged. Once applied, each piece is replaced by one without rows.
-- Kept longer than its messages: a message whose batch is not here was never taken.
CREATE TABLE IF NOT EXISTS ingest_batches_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.ingest_batches_v1_local ON CLUSTER {cluster}
(
    batch_id       UUID CODEC(NONE),
    piece          UInt16,
    created_at     DateTime('UTC'),
    pieces         UInt16 COMMENT 'header: how many pieces of rows the batch has',
    app_ids        Array(UInt32) COMMENT 'header: of each message',
    message_uuids  Array(UUID) COMMENT 'header: of each message',
    instance_uuids Array(UUID) COMMENT 'header: the process that sent it, of each message; all zeros: not given',
    table_name     LowCardinality(String),
    payload        String COMMENT 'as the insert takes it: JSON arrays, names of columns first' CODEC(LZ4),
    applied        UInt8
)
ENGINE = ReplacingMergeTree(applied)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/ingest_batches_v1', '{replica}', applied)
PARTITION BY toYYYYMMDD(created_at)
ORDER BY (batch_id, piece)
TTL created_at + INTERVAL 3 DAY
SETTINGS index_granularity = 64, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;
-- cluster: SETTINGS index_granularity = 64, ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.ingest_batches_v1 ON CLUSTER {cluster} AS {database}.ingest_batches_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'ingest_batches_v1_local', sipHash64(batch_id));
-- statement
-- Client libraries send a message again for up to an hour.
CREATE TABLE IF NOT EXISTS ingest_messages_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.ingest_messages_v1_local ON CLUSTER {cluster}
(
    app_id        UInt32,
    message_uuid  UUID CODEC(NONE),
    instance_uuid UUID CODEC(ZSTD(1)),
    batch_id      UUID CODEC(ZSTD(1)),
    created_at    DateTime('UTC') CODEC(Delta(4), ZSTD(1))
)
ENGINE = MergeTree
-- cluster: ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/ingest_messages_v1', '{replica}')
PARTITION BY toYYYYMMDD(created_at)
ORDER BY (message_uuid, app_id)
TTL created_at + INTERVAL 1 DAY
SETTINGS index_granularity = 256, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;
-- cluster: SETTINGS index_granularity = 256, ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.ingest_messages_v1 ON CLUSTER {cluster} AS {database}.ingest_messages_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'ingest_messages_v1_local', sipHash64(batch_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS ingest_messages_mv_v1 TO ingest_messages_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.ingest_messages_mv_v1 ON CLUSTER {cluster} TO {database}.ingest_messages_v1_local AS
SELECT app_id, message_uuid, instance_uuid, batch_id, created_at
FROM ingest_batches_v1
-- cluster: FROM {database}.ingest_batches_v1_local
ARRAY JOIN app_ids AS app_id, message_uuids AS message_uuid, instance_uuids AS instance_uuid
WHERE applied = 0;
