-- Get Request Details: one row by its key. Everything captured is one packed column of JSON text in the contract's
-- shape: a row is read whole or not at all, 64-bit integers keep their digits, and opening one wide column is
-- cheaper than opening eight.
CREATE TABLE IF NOT EXISTS request_details_v1
(
    app_id                  UInt32,
    timestamp               DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    request_uuid            UUID CODEC(NONE),
    env                     LowCardinality(String),
    endpoint_id             UInt32,
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
    capture                 String CODEC(ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toStartOfInterval(timestamp, INTERVAL 3 DAY)
ORDER BY (app_id, request_uuid)
TTL toDateTime(timestamp) + INTERVAL 15 DAY
SETTINGS index_granularity = 64, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 1000;
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS request_details_mv_v1 TO request_details_v1 AS
SELECT * EXCEPT (app_env_id, consumer_id)
FROM logged_requests;
