-- What the collector took, so that a message counts once whoever sends it again, and whenever a process dies.
-- Messages are committed in groups. A group is written here first, rows and all; then its rows go through the doors
-- under a token made of its ID; then it is written once more, without its rows, as applied.
-- Kept longer than its messages: a message whose group is not here was never taken.
CREATE TABLE IF NOT EXISTS ingest_groups_v1
(
    group_id      UUID CODEC(NONE),
    created_at    DateTime('UTC'),
    app_ids       Array(UInt32) COMMENT 'of each message',
    message_uuids Array(UUID) COMMENT 'of each message',
    payload       String COMMENT 'JSON: rows by table; empty once applied' CODEC(ZSTD(1)),
    applied       UInt8
)
ENGINE = ReplacingMergeTree(applied)
PARTITION BY toYYYYMMDD(created_at)
ORDER BY group_id
TTL created_at + INTERVAL 3 DAY
SETTINGS index_granularity = 64, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;
-- statement
-- Libraries send a message again for up to an hour.
CREATE TABLE IF NOT EXISTS ingest_messages_v1
(
    app_id       UInt32,
    message_uuid UUID CODEC(NONE),
    group_id     UUID CODEC(ZSTD(1)),
    created_at   DateTime('UTC') CODEC(Delta(4), ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toYYYYMMDD(created_at)
ORDER BY (message_uuid, app_id)
TTL created_at + INTERVAL 1 DAY
SETTINGS index_granularity = 256, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS ingest_messages_mv_v1 TO ingest_messages_v1 AS
SELECT app_id, message_uuid, group_id, created_at
FROM ingest_groups_v1
ARRAY JOIN app_ids AS app_id, message_uuids AS message_uuid
WHERE applied = 0;
