-- Get Request Logs. The sort key is the order of the pages, read backwards.
CREATE TABLE IF NOT EXISTS request_logs_v1
(
    app_id                  UInt32,
    timestamp               DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    request_uuid            UUID CODEC(NONE),
    app_env_id              UInt32,
    env                     LowCardinality(String),
    endpoint_id             UInt32,
    consumer_id             UInt32,
    consumer                String CODEC(ZSTD(1)),
    method                  LowCardinality(String),
    path                    LowCardinality(String),
    url                     String CODEC(ZSTD(1)),
    status_code             UInt16,
    request_size_bytes      Int64 CODEC(ZSTD(1)),
    response_size_bytes     Int64 CODEC(ZSTD(1)),
    response_time_ms        UInt32 CODEC(ZSTD(1)),
    client_ip               String CODEC(ZSTD(1)),
    client_country_iso_code LowCardinality(String),
    INDEX ix_consumer consumer_id TYPE bloom_filter(0.01) GRANULARITY 4,
    INDEX ix_endpoint endpoint_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toStartOfInterval(timestamp, INTERVAL 3 DAY)
ORDER BY (app_id, timestamp, request_uuid)
TTL toDateTime(timestamp) + INTERVAL 15 DAY
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 1000;
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS request_logs_mv_v1 TO request_logs_v1 AS
SELECT * EXCEPT (capture)
FROM logged_requests;
