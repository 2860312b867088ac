-- OpenTelemetry SDKs report requests twice: as spans, which may be sampled, and in the metric of durations, which is complete.
-- Each instance is counted by one of the two. The decision is made once: by the metric if the instance sends one, by spans if none
-- arrives within a delay. The last decision counts: the metric has two names, and an instance may change from one to the other.
CREATE TABLE IF NOT EXISTS counted_instances_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.counted_instances_v1_local ON CLUSTER {cluster}
(
    app_id        UInt32,
    instance_uuid UUID CODEC(NONE),
    counted_by    Enum8('spans' = 0, 'metric' = 1, 'older_metric' = 2),
    decided_at    DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(decided_at)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/counted_instances_v1', '{replica}', decided_at)
PARTITION BY toYYYYMM(decided_at)
ORDER BY (app_id, instance_uuid)
TTL toDateTime(decided_at) + INTERVAL 13 MONTH
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;
-- cluster: SETTINGS ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.counted_instances_v1 ON CLUSTER {cluster} AS {database}.counted_instances_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'counted_instances_v1_local', sipHash64(app_id));
-- statement
-- Counts of spans of undecided instances, as rows of the landing table `request_counts`.
CREATE TABLE IF NOT EXISTS pending_counts_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.pending_counts_v1_local ON CLUSTER {cluster}
(
    app_id         UInt32,
    instance_uuid  UUID CODEC(NONE),
    received_at    DateTime64(3, 'UTC'),
    timestamp      DateTime64(3, 'UTC'),
    app_env_id     UInt32,
    endpoint_id    UInt32,
    consumer_id    UInt32,
    status_code    UInt16,
    requests       UInt64,
    bytes_received UInt64,
    bytes_sent     UInt64,
    bins           Array(Tuple(Enum8('time' = 0, 'received' = 1, 'sent' = 2), Int16, UInt64)) COMMENT 'measure, k, n'
)
ENGINE = MergeTree
-- cluster: ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/pending_counts_v1', '{replica}')
PARTITION BY toYYYYMMDD(received_at)
ORDER BY (app_id, instance_uuid, received_at)
TTL toDateTime(received_at) + INTERVAL 3 DAY
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;
-- cluster: SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.pending_counts_v1 ON CLUSTER {cluster} AS {database}.pending_counts_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'pending_counts_v1_local', sipHash64(app_id));
-- statement
-- The last point of each cumulative stream of a metric; the next point counts by its difference from it. It is kept for as long as the
-- counts of a stream are, from its receipt on: points may be old, and streams may pause.
CREATE TABLE IF NOT EXISTS metric_streams_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.metric_streams_v1_local ON CLUSTER {cluster}
(
    app_id      UInt32,
    stream      UUID COMMENT 'of the instance, the metric, its attributes and the start of the stream' CODEC(NONE),
    time_ns     Int64,
    count       UInt64,
    sum         Float64,
    bins        Array(Tuple(Int16, UInt64)) COMMENT 'k, n' CODEC(ZSTD(1)),
    received_at DateTime('UTC') DEFAULT now() CODEC(Delta(4), ZSTD(1))
)
ENGINE = ReplacingMergeTree(time_ns)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/metric_streams_v1', '{replica}', time_ns)
PARTITION BY app_id % 16
ORDER BY (app_id, stream)
TTL received_at + INTERVAL 13 MONTH + INTERVAL 4 DAY
SETTINGS non_replicated_deduplication_window = 10000;
-- cluster: SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.metric_streams_v1 ON CLUSTER {cluster} AS {database}.metric_streams_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'metric_streams_v1_local', sipHash64(app_id));
-- statement
-- Records that were counted: points of intervals, and log records that report errors. One that comes again in another body does not count
-- again. Senders repeat a record for minutes, and a queue on a disk for as long as the receiver is away.
CREATE TABLE IF NOT EXISTS counted_records_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.counted_records_v1_local ON CLUSTER {cluster}
(
    app_id      UInt32,
    time_ns     Int64 CODEC(Delta(8), ZSTD(1)),
    record_hash UInt64 COMMENT 'of all of the record, and how many equal ones were before it in its body' CODEC(NONE),
    received_at DateTime('UTC') DEFAULT now() CODEC(Delta(4), ZSTD(1))
)
ENGINE = MergeTree
-- cluster: ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/counted_records_v1', '{replica}')
PARTITION BY toYYYYMMDD(received_at)
ORDER BY (app_id, time_ns, record_hash)
TTL received_at + INTERVAL 3 DAY
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;
-- cluster: SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.counted_records_v1 ON CLUSTER {cluster} AS {database}.counted_records_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'counted_records_v1_local', sipHash64(app_id));
-- statement
-- Largest errors of response times that were counted from histograms, by day: their buckets may be wider than the bins.
CREATE TABLE IF NOT EXISTS percentile_accuracy_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.percentile_accuracy_v1_local ON CLUSTER {cluster}
(
    app_id            UInt32,
    day               Date,
    relative_error    SimpleAggregateFunction(max, Float32) COMMENT 'as a part of the value',
    absolute_error_ms SimpleAggregateFunction(max, Float32)
)
ENGINE = AggregatingMergeTree
-- cluster: ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/{database}/percentile_accuracy_v1', '{replica}')
PARTITION BY toYYYYMM(day)
ORDER BY (app_id, day)
TTL day + INTERVAL 13 MONTH + INTERVAL 4 DAY
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;
-- cluster: SETTINGS ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.percentile_accuracy_v1 ON CLUSTER {cluster} AS {database}.percentile_accuracy_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'percentile_accuracy_v1_local', sipHash64(app_id));
-- statement
-- What the metric of an instance counted and no span has assigned to a consumer or an operation, and spans with one of these that the
-- metric has not counted yet. Both wait for each other for three days. A row with negative numbers takes from earlier ones, so rows are added up. Rows
-- that belong together have one `ends_at`; none of them is dropped while any is read.
CREATE TABLE IF NOT EXISTS unassigned_requests_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.unassigned_requests_v1_local ON CLUSTER {cluster}
(
    app_id        UInt32,
    instance_uuid UUID CODEC(NONE),
    app_env_id    UInt32 CODEC(ZSTD(1)),
    endpoint_id   UInt32 CODEC(ZSTD(1)),
    status_code   UInt16 CODEC(ZSTD(1)),
    measure       Enum8('time' = 0, 'received' = 1, 'sent' = 2),
    consumer_id   UInt32 CODEC(ZSTD(1)),
    source        Enum8('span' = 0, 'count' = 1, 'count_by_consumer' = 2) COMMENT 'count: of a metric that names no consumers',
    operation_id  UInt32 COMMENT 'the endpoint that spans name where the metric names endpoint_id; 0: the same' CODEC(ZSTD(1)),
    sampled       Bool COMMENT 'whether a span stands for other requests too',
    starts_at     DateTime64(3, 'UTC') COMMENT 'the interval of a point, without its first millisecond; of a span twice its end' CODEC(Delta(8), ZSTD(1)),
    ends_at       DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    timestamp     DateTime64(3, 'UTC') COMMENT 'of the counts of a point' CODEC(Delta(8), ZSTD(1)),
    requests      Int64 CODEC(ZSTD(1)),
    bytes         Int64 CODEC(ZSTD(1)),
    bins          Array(Tuple(Int16, Int64)) COMMENT 'k, n' CODEC(ZSTD(1))
)
ENGINE = MergeTree
-- cluster: ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/unassigned_requests_v1', '{replica}')
PARTITION BY toYYYYMMDD(ends_at)
ORDER BY (app_id, instance_uuid, ends_at)
TTL toDateTime(ends_at) + INTERVAL 4 DAY
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;
-- cluster: SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.unassigned_requests_v1 ON CLUSTER {cluster} AS {database}.unassigned_requests_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'unassigned_requests_v1_local', sipHash64(app_id));
-- statement
-- Of each instance and day, how many requests its metric counted, and how many of their spans arrived.
CREATE TABLE IF NOT EXISTS consumer_coverage_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.consumer_coverage_v1_local ON CLUSTER {cluster}
(
    app_id        UInt32,
    day           Date,
    instance_uuid UUID CODEC(NONE),
    measured      UInt64 COMMENT 'requests counted by a metric without consumers' CODEC(ZSTD(1)),
    seen          UInt64 COMMENT 'spans of requests' CODEC(ZSTD(1))
)
ENGINE = SummingMergeTree((measured, seen))
-- cluster: ENGINE = ReplicatedSummingMergeTree('/clickhouse/tables/{shard}/{database}/consumer_coverage_v1', '{replica}', (measured, seen))
PARTITION BY toYYYYMM(day)
ORDER BY (app_id, day, instance_uuid)
TTL day + INTERVAL 13 MONTH + INTERVAL 4 DAY
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;
-- cluster: SETTINGS ttl_only_drop_parts = 1, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.consumer_coverage_v1 ON CLUSTER {cluster} AS {database}.consumer_coverage_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'consumer_coverage_v1_local', sipHash64(app_id));
