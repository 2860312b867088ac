-- Landing table for spans of all protocols. IDs are lower-case hex; an empty parent is none.
CREATE TABLE IF NOT EXISTS logged_spans
-- cluster: CREATE TABLE IF NOT EXISTS {database}.logged_spans_local ON CLUSTER {cluster}
(
    app_id         UInt32,
    app_env_id     UInt32,
    start_time_ns  Int64,
    duration_ns    Int64,
    trace_id       String,
    span_id        String,
    parent_span_id String,
    name           String,
    kind           String,
    status         String,
    scope_name     String,
    scope_version  String,
    attributes     String COMMENT 'JSON: an object',
    events         String COMMENT 'JSON: a list of objects with timestamp, name and attributes'
)
ENGINE = Null;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.logged_spans ON CLUSTER {cluster} AS {database}.logged_spans_local
ENGINE = Distributed('{cluster}', '{database}', 'logged_spans_local', sipHash64(app_id));
-- statement
-- Spans in the order of Query Traces. The index finds those of one trace. A span that was sent in several messages has several
-- rows; queries return one of them.
CREATE TABLE IF NOT EXISTS spans_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.spans_v1_local ON CLUSTER {cluster}
(
    app_id         UInt32,
    start_time_ns  Int64 CODEC(Delta(8), ZSTD(1)),
    trace_id       FixedString(16) CODEC(NONE),
    span_id        FixedString(8) CODEC(NONE),
    parent_span_id FixedString(8) COMMENT 'all zeros: none',
    app_env_id     UInt32 CODEC(ZSTD(1)),
    duration_ns    Int64 CODEC(T64, ZSTD(1)),
    name           LowCardinality(String),
    kind           Enum8('UNSPECIFIED' = 0, 'INTERNAL' = 1, 'SERVER' = 2, 'CLIENT' = 3, 'PRODUCER' = 4, 'CONSUMER' = 5),
    status         Enum8('UNSET' = 0, 'OK' = 1, 'ERROR' = 2),
    scope_name     LowCardinality(String) COMMENT 'empty: absent',
    scope_version  LowCardinality(String) COMMENT 'empty: absent',
    attributes     String CODEC(ZSTD(1)),
    events         String CODEC(ZSTD(1)),
    INDEX ix_trace trace_id TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = MergeTree
-- cluster: ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/spans_v1', '{replica}')
PARTITION BY toStartOfInterval(toDateTime(intDiv(start_time_ns, 1000000000), 'UTC'), INTERVAL 3 DAY)
ORDER BY (app_id, start_time_ns, trace_id, span_id)
TTL toDateTime(intDiv(start_time_ns, 1000000000), 'UTC') + INTERVAL 15 DAY + INTERVAL 1 SECOND
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000,
-- cluster: SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800,
    min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.spans_v1 ON CLUSTER {cluster} AS {database}.spans_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'spans_v1_local', sipHash64(app_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS spans_mv_v1 TO spans_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.spans_mv_v1 ON CLUSTER {cluster} TO {database}.spans_v1_local AS
SELECT
    app_id,
    start_time_ns,
    toFixedString(unhex(trace_id), 16) AS trace_id,
    toFixedString(unhex(span_id), 8) AS span_id,
    toFixedString(unhex(parent_span_id), 8) AS parent_span_id,
    app_env_id,
    duration_ns,
    name,
    kind,
    status,
    scope_name,
    scope_version,
    attributes,
    events
FROM logged_spans;
-- cluster: FROM {database}.logged_spans_local;
-- statement
-- Landing table for log records that applications send apart from their requests.
CREATE TABLE IF NOT EXISTS logged_messages
-- cluster: CREATE TABLE IF NOT EXISTS {database}.logged_messages_local ON CLUSTER {cluster}
(
    app_id         UInt32,
    app_env_id     UInt32,
    timestamp_ns   Int64,
    trace_id       String,
    span_id        String,
    server_span_id String COMMENT 'the span of the request, if the sender names it',
    level          String,
    message        String,
    logger         String,
    file           String,
    line           UInt32,
    attributes     String COMMENT 'JSON: an object without what has a column',
    record_hash    UInt64
)
ENGINE = Null;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.logged_messages ON CLUSTER {cluster} AS {database}.logged_messages_local
ENGINE = Distributed('{cluster}', '{database}', 'logged_messages_local', sipHash64(app_id));
-- statement
-- Log records of traces. Get Request Details reads those of one trace. A record that was sent in several bodies has several rows with one
-- hash; queries return one of them.
CREATE TABLE IF NOT EXISTS application_logs_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.application_logs_v1_local ON CLUSTER {cluster}
(
    app_id         UInt32,
    trace_id       FixedString(16) CODEC(NONE),
    timestamp_ns   Int64 CODEC(Delta(8), ZSTD(1)),
    app_env_id     UInt32 CODEC(ZSTD(1)),
    span_id        FixedString(8) COMMENT 'all zeros: none',
    server_span_id FixedString(8) COMMENT 'all zeros: absent',
    level          LowCardinality(String),
    message        String CODEC(ZSTD(1)),
    logger         LowCardinality(String) COMMENT 'empty: absent',
    file           LowCardinality(String) COMMENT 'empty: absent',
    line           UInt32 COMMENT '0: absent' CODEC(ZSTD(1)),
    attributes     String COMMENT 'JSON: an object without what has a column' CODEC(ZSTD(1)),
    record_hash    UInt64 COMMENT 'of all of the record, and how many equal ones were before it in its body' CODEC(NONE)
)
ENGINE = MergeTree
-- cluster: ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/application_logs_v1', '{replica}')
PARTITION BY toStartOfInterval(toDateTime(intDiv(timestamp_ns, 1000000000), 'UTC'), INTERVAL 3 DAY)
ORDER BY (app_id, trace_id, timestamp_ns)
TTL toDateTime(intDiv(timestamp_ns, 1000000000), 'UTC') + INTERVAL 15 DAY + INTERVAL 1 SECOND
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000,
-- cluster: SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800,
    min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.application_logs_v1 ON CLUSTER {cluster} AS {database}.application_logs_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'application_logs_v1_local', sipHash64(app_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS application_logs_mv_v1 TO application_logs_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.application_logs_mv_v1 ON CLUSTER {cluster} TO {database}.application_logs_v1_local AS
SELECT
    app_id,
    toFixedString(unhex(trace_id), 16) AS trace_id,
    timestamp_ns,
    app_env_id,
    toFixedString(unhex(span_id), 8) AS span_id,
    toFixedString(unhex(server_span_id), 8) AS server_span_id,
    level,
    message,
    logger,
    file,
    line,
    attributes,
    record_hash
FROM logged_messages
-- cluster: FROM {database}.logged_messages_local
WHERE trace_id != '';
