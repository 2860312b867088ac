-- What applications report beside counts and logs.
-- Landing table for errors: those that client libraries report with their number, and exceptions of single requests. A row whose
-- `errors` is 0 is an example of an error that is counted by a report.
CREATE TABLE IF NOT EXISTS reported_errors
-- cluster: CREATE TABLE IF NOT EXISTS {database}.reported_errors_local ON CLUSTER {cluster}
(
    app_id          UInt32,
    timestamp       DateTime64(3, 'UTC'),
    app_env_id      UInt32,
    endpoint_id     UInt32,
    consumer_id     UInt32,
    fingerprint     UInt64 COMMENT 'equal for occurrences of one error',
    kind            Enum8('validation' = 0, 'server' = 1, 'exception' = 2),
    type            LowCardinality(String),
    message         String,
    location        Array(String) COMMENT 'of a validation error: the path to the value',
    stacktrace      String,
    sentry_event_id String,
    request_uuid    UUID COMMENT 'all zeros: a report of several requests',
    trace_id        String COMMENT 'hex; empty: none',
    errors          UInt64
)
ENGINE = Null;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.reported_errors ON CLUSTER {cluster} AS {database}.reported_errors_local
ENGINE = Distributed('{cluster}', '{database}', 'reported_errors_local', sipHash64(app_id));
-- statement
-- Errors with their texts, kept as long as the logs. Equal texts are next to each other, so that they take little room.
CREATE TABLE IF NOT EXISTS errors_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.errors_v1_local ON CLUSTER {cluster}
(
    app_id          UInt32,
    timestamp       DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    app_env_id      UInt32 CODEC(ZSTD(1)),
    endpoint_id     UInt32 CODEC(ZSTD(1)),
    consumer_id     UInt32 CODEC(ZSTD(1)),
    fingerprint     UInt64 CODEC(ZSTD(1)),
    kind            Enum8('validation' = 0, 'server' = 1, 'exception' = 2),
    type            LowCardinality(String),
    message         String CODEC(ZSTD(1)),
    location        Array(String) CODEC(ZSTD(1)),
    stacktrace      String CODEC(ZSTD(1)),
    sentry_event_id String CODEC(ZSTD(1)),
    request_uuid    UUID CODEC(NONE),
    trace_id        FixedString(16) CODEC(NONE),
    errors          UInt64 CODEC(T64, ZSTD(1))
)
ENGINE = MergeTree
-- cluster: ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/errors_v1', '{replica}')
PARTITION BY toStartOfInterval(timestamp, INTERVAL 3 DAY)
ORDER BY (app_id, fingerprint, app_env_id, timestamp)
TTL toDateTime(timestamp) + INTERVAL 15 DAY + INTERVAL 1 SECOND
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000,
-- cluster: SETTINGS ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800,
    min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.errors_v1 ON CLUSTER {cluster} AS {database}.errors_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'errors_v1_local', sipHash64(app_id));
-- statement
-- What is older than the logs' retention would only be written to be dropped.
CREATE MATERIALIZED VIEW IF NOT EXISTS errors_mv_v1 TO errors_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.errors_mv_v1 ON CLUSTER {cluster} TO {database}.errors_v1_local AS
SELECT * REPLACE (toFixedString(unhex(trace_id), 16) AS trace_id)
FROM reported_errors
-- cluster: FROM {database}.reported_errors_local
WHERE timestamp > now64(3) - INTERVAL 15 DAY;
-- statement
-- How often each error came, kept as long as the traffic. The fingerprint stands for kind, type and endpoint, which take no room behind it.
CREATE TABLE IF NOT EXISTS error_counts_per_15m_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.error_counts_per_15m_v1_local ON CLUSTER {cluster}
(
    app_id      UInt32,
    fingerprint UInt64 CODEC(ZSTD(1)),
    app_env_id  UInt32 CODEC(ZSTD(1)),
    bucket      DateTime('UTC') CODEC(Delta(4), ZSTD(1)),
    consumer_id UInt32 CODEC(ZSTD(1)),
    kind        Enum8('validation' = 0, 'server' = 1, 'exception' = 2),
    type        LowCardinality(String),
    endpoint_id UInt32 CODEC(ZSTD(1)),
    errors      SimpleAggregateFunction(sum, UInt64) CODEC(T64, ZSTD(1)),
    first_seen  SimpleAggregateFunction(min, DateTime64(3, 'UTC')) CODEC(Delta(8), ZSTD(1)),
    last_seen   SimpleAggregateFunction(max, DateTime64(3, 'UTC')) CODEC(Delta(8), ZSTD(1))
)
ENGINE = AggregatingMergeTree
-- cluster: ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/{database}/error_counts_per_15m_v1', '{replica}')
PARTITION BY toYYYYMM(bucket)
ORDER BY (app_id, fingerprint, app_env_id, bucket, consumer_id, kind, type, endpoint_id)
TTL bucket + INTERVAL 13 MONTH + INTERVAL 4 DAY
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000,
-- cluster: SETTINGS ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800,
    min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.error_counts_per_15m_v1 ON CLUSTER {cluster} AS {database}.error_counts_per_15m_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'error_counts_per_15m_v1_local', sipHash64(app_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS error_counts_per_15m_mv_v1 TO error_counts_per_15m_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.error_counts_per_15m_mv_v1 ON CLUSTER {cluster} TO {database}.error_counts_per_15m_v1_local AS
SELECT
    app_id,
    fingerprint,
    app_env_id,
    toStartOfFifteenMinutes(toDateTime(timestamp, 'UTC')) AS bucket,
    consumer_id,
    kind,
    type,
    endpoint_id,
    sum(e.errors) AS errors,
    min(e.timestamp) AS first_seen,
    max(e.timestamp) AS last_seen
FROM reported_errors AS e
-- cluster: FROM {database}.reported_errors_local AS e
WHERE e.errors > 0
GROUP BY app_id, fingerprint, app_env_id, bucket, consumer_id, kind, type, endpoint_id;
-- statement
-- Door for what a process of an application says of itself: that it started, that it is there, what it uses.
CREATE TABLE IF NOT EXISTS instance_reports
-- cluster: CREATE TABLE IF NOT EXISTS {database}.instance_reports_local ON CLUSTER {cluster}
(
    app_id        UInt32,
    timestamp     DateTime64(3, 'UTC'),
    app_env_id    UInt32,
    instance_uuid UUID COMMENT 'all zeros: not given',
    last_sync_at  DateTime64(3, 'UTC') COMMENT '1970: this is no sync',
    cpu_percent   Float32 COMMENT '-1: not given; may pass 100',
    memory_rss    Int64 COMMENT 'bytes; -1: not given',
    client        String COMMENT 'the client library, as it names itself; empty: this is no start',
    versions      Map(String, String) COMMENT 'of the packages, by name',
    app_version   String COMMENT 'of the application; empty: not given',
    framework     String COMMENT 'empty: not given'
)
ENGINE = Null;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.instance_reports ON CLUSTER {cluster} AS {database}.instance_reports_local
ENGINE = Distributed('{cluster}', '{database}', 'instance_reports_local', sipHash64(app_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS instance_reports_env_activity_mv TO env_activity_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.instance_reports_env_activity_mv ON CLUSTER {cluster} TO {database}.env_activity_v1_local AS
SELECT app_id, app_env_id, max(r.last_sync_at) AS last_sync_at
FROM instance_reports AS r
-- cluster: FROM {database}.instance_reports_local AS r
WHERE r.last_sync_at > toDateTime64(0, 3, 'UTC')
GROUP BY app_id, app_env_id;
-- statement
-- Processor time and memory of each process, as often as it reports.
CREATE TABLE IF NOT EXISTS instance_resources_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.instance_resources_v1_local ON CLUSTER {cluster}
(
    app_id        UInt32,
    app_env_id    UInt32 CODEC(ZSTD(1)),
    timestamp     DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    instance_uuid UUID CODEC(ZSTD(1)),
    cpu_percent   Float32 CODEC(ZSTD(1)),
    memory_rss    Int64 CODEC(T64, ZSTD(1))
)
ENGINE = MergeTree
-- cluster: ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/instance_resources_v1', '{replica}')
PARTITION BY toYYYYMM(timestamp)
ORDER BY (app_id, app_env_id, timestamp, instance_uuid)
TTL toDateTime(timestamp) + INTERVAL 13 MONTH + INTERVAL 4 DAY
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000,
-- cluster: SETTINGS ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800,
    min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.instance_resources_v1 ON CLUSTER {cluster} AS {database}.instance_resources_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'instance_resources_v1_local', sipHash64(app_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS instance_resources_mv_v1 TO instance_resources_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.instance_resources_mv_v1 ON CLUSTER {cluster} TO {database}.instance_resources_v1_local AS
SELECT app_id, app_env_id, timestamp, instance_uuid, cpu_percent, memory_rss
FROM instance_reports
-- cluster: FROM {database}.instance_reports_local
WHERE cpu_percent >= 0 OR memory_rss >= 0;
-- statement
-- What each process ran with, from its start on.
CREATE TABLE IF NOT EXISTS instance_versions_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.instance_versions_v1_local ON CLUSTER {cluster}
(
    app_id        UInt32,
    app_env_id    UInt32,
    started_at    DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    instance_uuid UUID CODEC(ZSTD(1)),
    client        String CODEC(ZSTD(1)),
    versions      Map(String, String) CODEC(ZSTD(1))
)
ENGINE = MergeTree
-- cluster: ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/instance_versions_v1', '{replica}')
PARTITION BY toYYYYMM(started_at)
ORDER BY (app_id, app_env_id, started_at, instance_uuid)
TTL toDateTime(started_at) + INTERVAL 13 MONTH + INTERVAL 4 DAY
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000,
-- cluster: SETTINGS ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800,
    min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.instance_versions_v1 ON CLUSTER {cluster} AS {database}.instance_versions_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'instance_versions_v1_local', sipHash64(app_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS instance_versions_mv_v1 TO instance_versions_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.instance_versions_mv_v1 ON CLUSTER {cluster} TO {database}.instance_versions_v1_local AS
SELECT app_id, app_env_id, timestamp AS started_at, instance_uuid, client, versions
FROM instance_reports
-- cluster: FROM {database}.instance_reports_local
WHERE client != '' OR notEmpty(versions);
-- statement
-- Which process ran which version of the application, and when. A process of a client library gives its version at its start only: its
-- other reports have none, and belong to the version that it started with last.
CREATE TABLE IF NOT EXISTS instances_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.instances_v1_local ON CLUSTER {cluster}
(
    app_id        UInt32,
    app_env_id    UInt32 CODEC(ZSTD(1)),
    instance_uuid UUID CODEC(ZSTD(1)),
    app_version   String CODEC(ZSTD(1)),
    framework     SimpleAggregateFunction(max, String) COMMENT 'empty: not given' CODEC(ZSTD(1)),
    first_seen    SimpleAggregateFunction(min, DateTime64(3, 'UTC')) CODEC(ZSTD(1)),
    last_seen     SimpleAggregateFunction(max, DateTime64(3, 'UTC')) CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
-- cluster: ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/{database}/instances_v1', '{replica}')
ORDER BY (app_id, app_env_id, instance_uuid, app_version)
TTL toDateTime(last_seen) + INTERVAL 13 MONTH + INTERVAL 4 DAY
SETTINGS non_replicated_deduplication_window = 10000;
-- cluster: SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.instances_v1 ON CLUSTER {cluster} AS {database}.instances_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'instances_v1_local', sipHash64(app_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS instances_mv_v1 TO instances_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.instances_mv_v1 ON CLUSTER {cluster} TO {database}.instances_v1_local AS
SELECT
    app_id,
    app_env_id,
    instance_uuid,
    app_version,
    max(r.framework) AS framework,
    min(timestamp) AS first_seen,
    max(timestamp) AS last_seen
FROM instance_reports AS r
-- cluster: FROM {database}.instance_reports_local AS r
GROUP BY app_id, app_env_id, instance_uuid, app_version;
-- statement
-- Releases that operators mark, for applications that do not send their version.
CREATE TABLE IF NOT EXISTS release_marks_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.release_marks_v1 ON CLUSTER {cluster}
(
    app_id      UInt32,
    app_env_id  UInt32,
    app_version String,
    released_at DateTime64(3, 'UTC'),
    marked      Bool COMMENT 'false: the mark was taken back',
    updated_at  DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree(updated_at)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/global/{database}/release_marks_v1', '{shard}-{replica}', updated_at)
ORDER BY (app_id, app_env_id, app_version);
-- statement
-- What applications say of their API at their start, and what was imported: the newest of each environment and version. An app has a number
-- of slots; a new version takes that of the oldest document, so that any number of versions and starts stay within bounds.
CREATE TABLE IF NOT EXISTS api_documents_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.api_documents_v1_local ON CLUSTER {cluster}
(
    app_id      UInt32,
    slot        UInt8,
    app_env_id  UInt32 COMMENT '0: all environments',
    is_imported Bool COMMENT 'by the operator, not sent by the application',
    app_version String COMMENT 'empty: not given',
    received_at DateTime64(3, 'UTC'),
    hash        UUID COMMENT 'of the document and the routes',
    document    String COMMENT 'JSON: the OpenAPI document as it was sent; empty: none' CODEC(ZSTD(3)),
    routes      String COMMENT 'JSON: the operations of the document, and routes that have a summary' CODEC(ZSTD(3))
)
ENGINE = ReplacingMergeTree(received_at)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/api_documents_v1', '{replica}', received_at)
ORDER BY (app_id, slot)
SETTINGS non_replicated_deduplication_window = 10000;
-- cluster: SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.api_documents_v1 ON CLUSTER {cluster} AS {database}.api_documents_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'api_documents_v1_local', sipHash64(app_id));
