-- Time of each consumer's most recent request. Requests that were assigned later have the time of a metric's interval.
CREATE TABLE IF NOT EXISTS consumer_activity_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.consumer_activity_v1_local ON CLUSTER {cluster}
(
    app_id          UInt32,
    consumer_id     UInt32,
    last_request_at SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
-- cluster: ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/{database}/consumer_activity_v1', '{replica}')
ORDER BY (app_id, consumer_id)
SETTINGS non_replicated_deduplication_window = 10000;
-- cluster: SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.consumer_activity_v1 ON CLUSTER {cluster} AS {database}.consumer_activity_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'consumer_activity_v1_local', sipHash64(app_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS consumer_activity_mv_v1 TO consumer_activity_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.consumer_activity_mv_v1 ON CLUSTER {cluster} TO {database}.consumer_activity_v1_local AS
SELECT app_id, consumer_id, max(timestamp) AS last_request_at
FROM request_counts
-- cluster: FROM {database}.request_counts_local
WHERE consumer_id != 0 AND NOT assigned
GROUP BY app_id, consumer_id;
-- statement
-- Which endpoints were seen in which environment.
CREATE TABLE IF NOT EXISTS endpoint_activity_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.endpoint_activity_v1_local ON CLUSTER {cluster}
(
    app_id          UInt32,
    app_env_id      UInt32,
    endpoint_id     UInt32,
    last_request_at SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
-- cluster: ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/{database}/endpoint_activity_v1', '{replica}')
ORDER BY (app_id, app_env_id, endpoint_id)
SETTINGS non_replicated_deduplication_window = 10000;
-- cluster: SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.endpoint_activity_v1 ON CLUSTER {cluster} AS {database}.endpoint_activity_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'endpoint_activity_v1_local', sipHash64(app_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS endpoint_activity_mv_v1 TO endpoint_activity_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.endpoint_activity_mv_v1 ON CLUSTER {cluster} TO {database}.endpoint_activity_v1_local AS
SELECT app_id, app_env_id, endpoint_id, max(timestamp) AS last_request_at
FROM request_counts
-- cluster: FROM {database}.request_counts_local
WHERE endpoint_id != 0
GROUP BY app_id, app_env_id, endpoint_id;
-- statement
-- What responses last said of the end of their endpoint: the headers Deprecation (RFC 9745) and Sunset (RFC 8594).
CREATE TABLE IF NOT EXISTS endpoint_deprecations_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.endpoint_deprecations_v1_local ON CLUSTER {cluster}
(
    app_id        UInt32,
    app_env_id    UInt32,
    endpoint_id   UInt32,
    seen_at       DateTime('UTC') COMMENT 'of the request',
    deprecated_at DateTime('UTC') COMMENT '1970: not said',
    sunset_at     DateTime('UTC') COMMENT '1970: not said'
)
ENGINE = ReplacingMergeTree(seen_at)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/endpoint_deprecations_v1', '{replica}', seen_at)
ORDER BY (app_id, app_env_id, endpoint_id)
TTL seen_at + INTERVAL 30 DAY
SETTINGS non_replicated_deduplication_window = 10000;
-- cluster: SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.endpoint_deprecations_v1 ON CLUSTER {cluster} AS {database}.endpoint_deprecations_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'endpoint_deprecations_v1_local', sipHash64(app_id));
-- statement
-- When data of an environment last arrived: the time of the sync, not of the requests in it.
CREATE TABLE IF NOT EXISTS env_activity_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.env_activity_v1_local ON CLUSTER {cluster}
(
    app_id       UInt32,
    app_env_id   UInt32,
    last_sync_at SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
-- cluster: ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/{database}/env_activity_v1', '{replica}')
ORDER BY (app_id, app_env_id)
SETTINGS non_replicated_deduplication_window = 10000;
-- cluster: SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.env_activity_v1 ON CLUSTER {cluster} AS {database}.env_activity_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'env_activity_v1_local', sipHash64(app_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS env_activity_mv_v1 TO env_activity_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.env_activity_mv_v1 ON CLUSTER {cluster} TO {database}.env_activity_v1_local AS
SELECT app_id, app_env_id, now64(3) AS last_sync_at
FROM request_counts
-- cluster: FROM {database}.request_counts_local
GROUP BY app_id, app_env_id;
