-- Get Request Logs. The sort key is the order of the pages, read backwards. A page costs by the number of columns and
-- parts more than by rows: what is only shown is one packed column, half the time of thirteen. A partition that takes
-- nothing any more is merged into one part.
CREATE TABLE IF NOT EXISTS request_logs_v1
(
    app_id       UInt32,
    timestamp    DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    request_uuid UUID CODEC(NONE),
    app_env_id   UInt32,
    endpoint_id  UInt32,
    consumer_id  UInt32,
    method       LowCardinality(String),
    status_code  UInt16,
    record       String CODEC(ZSTD(1)),
    INDEX ix_consumer consumer_id TYPE bloom_filter(0.01) GRANULARITY 4,
    INDEX ix_endpoint endpoint_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toStartOfInterval(timestamp, INTERVAL 3 DAY)
ORDER BY (app_id, timestamp, request_uuid)
TTL toDateTime(timestamp) + INTERVAL 15 DAY
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000,
    min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1;
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS request_logs_mv_v1 TO request_logs_v1 AS
SELECT * EXCEPT (capture)
FROM logged_requests;
