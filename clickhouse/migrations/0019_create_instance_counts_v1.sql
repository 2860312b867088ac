-- An application with an OpenTelemetry SDK says twice how many requests it had: by its spans, which may be sampled, and by the
-- metric of their durations, which is complete. Of each instance one of the two is counted, never both.
-- What an instance is counted by, decided once: by the metric where it sends one, else by spans after some time without.
CREATE TABLE IF NOT EXISTS counted_instances_v1
(
    app_id        UInt32,
    instance_uuid UUID CODEC(NONE),
    counted_by    Enum8('spans' = 0, 'metric' = 1),
    decided_at    DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(decided_at)
ORDER BY (app_id, instance_uuid)
TTL toDateTime(decided_at) + INTERVAL 13 MONTH
SETTINGS ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;
-- statement
-- Counts of spans of instances that are not decided yet, as the door `request_counts` takes them.
CREATE TABLE IF NOT EXISTS pending_counts_v1
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
PARTITION BY toYYYYMMDD(received_at)
ORDER BY (app_id, instance_uuid, received_at)
TTL toDateTime(received_at) + INTERVAL 3 DAY
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 10000;
-- statement
-- What each cumulative stream of a metric said last: the next point counts by what it has more.
CREATE TABLE IF NOT EXISTS metric_streams_v1
(
    app_id    UInt32,
    stream    UUID COMMENT 'of the instance, the metric, its attributes and the start of the stream' CODEC(NONE),
    time_ns   Int64,
    count     UInt64,
    sum       Float64,
    bins      Array(Tuple(Int16, UInt64)) COMMENT 'k, n' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(time_ns)
PARTITION BY app_id % 16
ORDER BY (app_id, stream)
TTL toDateTime(intDiv(time_ns, 1000000000), 'UTC') + INTERVAL 40 DAY
SETTINGS non_replicated_deduplication_window = 10000;
