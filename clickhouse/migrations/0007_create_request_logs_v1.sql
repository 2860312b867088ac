-- Get Request Logs. The sort key is the order of the pages, read backwards. A page costs by the number of columns and
-- parts more than by rows: what is only shown is one packed column, half the time of thirteen. A partition that takes
-- nothing any more is merged into one part.
-- Filters that few rows fulfil find these by `filter_terms`, which is nowhere but in its index: for each term the rows that have
-- it. A filter without an index of its own would read all of the app's rows. Such rows lie apart, each in a granule of its
-- own: granules and compressed blocks are small, so that little is unpacked for each.
-- Fields that exports filter by have columns, so that a filter reads a few bytes of a row and not its JSON. In JSON no text
-- contains such a name in quotes, because quotes are escaped in it. Absent values: -1 for sizes, '' for the country.
-- The TTL counts whole seconds of the timestamp: a second more keeps a request for all of its 15 days.
CREATE TABLE IF NOT EXISTS request_logs_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.request_logs_v1_local ON CLUSTER {cluster}
(
    app_id                  UInt32,
    timestamp               DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    request_uuid            UUID CODEC(ZSTD(1)),
    app_env_id              UInt32 CODEC(ZSTD(1)),
    endpoint_id             UInt32 CODEC(ZSTD(1)),
    consumer_id             UInt32 CODEC(ZSTD(1)),
    method                  LowCardinality(String) CODEC(ZSTD(1)),
    status_code             UInt16,
    record_json             String CODEC(ZSTD(1)),
    filter_terms            String ALIAS format('{0}c{1} {0}e{2} {0}v{3} {0}s{4} {0}x{5} {0}m{6}',
        app_id, consumer_id, endpoint_id, app_env_id, status_code, intDiv(status_code, 100), method)
        COMMENT 'What filters ask for: consumer, endpoint, environment, status, its class, method; each behind the app',
    request_size_bytes      Int64
        DEFAULT toInt64OrDefault(simpleJSONExtractRaw(record_json, 'request_size_bytes'), toInt64(-1)) CODEC(ZSTD(1)),
    response_size_bytes     Int64
        DEFAULT toInt64OrDefault(simpleJSONExtractRaw(record_json, 'response_size_bytes'), toInt64(-1)) CODEC(ZSTD(1)),
    response_time_ms        Int64
        DEFAULT simpleJSONExtractInt(record_json, 'response_time_ms') CODEC(ZSTD(1)),
    client_country_iso_code LowCardinality(String)
        DEFAULT simpleJSONExtractString(record_json, 'client_country_iso_code') CODEC(ZSTD(1)),
    trace_id                FixedString(16) COMMENT 'all zeros: none',
    exception_type          LowCardinality(Nullable(String)),
    INDEX ix_filter_terms filter_terms TYPE text(tokenizer = splitByString([' ']))
)
ENGINE = MergeTree
-- cluster: ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/request_logs_v1', '{replica}')
PARTITION BY toStartOfInterval(timestamp, INTERVAL 3 DAY)
ORDER BY (app_id, timestamp, request_uuid)
TTL toDateTime(timestamp) + INTERVAL 15 DAY + INTERVAL 1 SECOND
SETTINGS index_granularity = 512, min_compress_block_size = 8192, max_compress_block_size = 65536,
    ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000,
-- cluster:     ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800,
    min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.request_logs_v1 ON CLUSTER {cluster} AS {database}.request_logs_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'request_logs_v1_local', sipHash64(app_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS request_logs_mv_v1 TO request_logs_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.request_logs_mv_v1 ON CLUSTER {cluster} TO {database}.request_logs_v1_local AS
SELECT * EXCEPT (captured_json, is_captured, in_ledger)
FROM logged_requests;
-- cluster: FROM {database}.logged_requests_local;
