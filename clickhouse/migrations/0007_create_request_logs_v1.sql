-- Get Request Logs. The sort key is the order of the pages, read backwards. A page costs by the number of columns and
-- parts more than by rows: what is only shown is one packed column, half the time of thirteen. A partition that takes
-- nothing any more is merged into one part.
-- Filters that few rows fulfil find these by `filter_terms`, which is nowhere but in its index: for each term the rows that have
-- it. A filter without an index of its own would read all of the app's rows. Such rows lie apart, each in a granule of its
-- own: granules and compressed blocks are small, so that little is unpacked for each.
-- The TTL counts whole seconds of the timestamp: a second more keeps a request for all of its 15 days.
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
    record_json  String CODEC(ZSTD(1)),
    filter_terms String ALIAS format('{0}c{1} {0}e{2} {0}v{3} {0}s{4} {0}x{5} {0}m{6}',
        app_id, consumer_id, endpoint_id, app_env_id, status_code, intDiv(status_code, 100), method)
        COMMENT 'What filters ask for: consumer, endpoint, environment, status, its class, method; each behind the app',
    INDEX ix_filter_terms filter_terms TYPE text(tokenizer = splitByString([' ']))
)
ENGINE = MergeTree
PARTITION BY toStartOfInterval(timestamp, INTERVAL 3 DAY)
ORDER BY (app_id, timestamp, request_uuid)
TTL toDateTime(timestamp) + INTERVAL 15 DAY + INTERVAL 1 SECOND
SETTINGS index_granularity = 512, min_compress_block_size = 8192, max_compress_block_size = 65536,
    ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000,
    min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1;
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS request_logs_mv_v1 TO request_logs_v1 AS
SELECT * EXCEPT (captured_json)
FROM logged_requests;
