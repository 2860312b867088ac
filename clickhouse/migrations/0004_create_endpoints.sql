-- `excluded` acts when reading, so that it covers the past and can be taken back.
CREATE TABLE IF NOT EXISTS endpoints_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.endpoints_v1 ON CLUSTER {cluster}
(
    app_id     UInt32,
    id         UInt32,
    method     LowCardinality(String),
    path       String COMMENT 'pattern, parameters in braces',
    excluded   Bool DEFAULT false,
    created_at DateTime64(3, 'UTC'),
    updated_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree(updated_at)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/global/{database}/endpoints_v1', '{shard}-{replica}', updated_at)
ORDER BY (app_id, id);
-- statement
-- Status codes that count as successes of an endpoint though they are errors: a mark that acts when reading, as `excluded` does.
CREATE TABLE IF NOT EXISTS endpoint_expected_errors_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.endpoint_expected_errors_v1 ON CLUSTER {cluster}
(
    app_id      UInt32,
    endpoint_id UInt32,
    status_code UInt16,
    marked      Bool COMMENT 'false: the mark was taken back',
    updated_at  DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree(updated_at)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/global/{database}/endpoint_expected_errors_v1', '{shard}-{replica}', updated_at)
ORDER BY (app_id, endpoint_id, status_code);
-- statement
-- Patterns of endpoints that are excluded, also endpoints that come later: a mark that acts when reading, as `excluded` does.
CREATE TABLE IF NOT EXISTS endpoint_exclusions_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.endpoint_exclusions_v1 ON CLUSTER {cluster}
(
    app_id     UInt32,
    method     String COMMENT '`*` is any run of characters',
    path       String COMMENT 'pattern of patterns: `*` is any run of characters',
    marked     Bool COMMENT 'false: the mark was taken back',
    updated_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree(updated_at)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/global/{database}/endpoint_exclusions_v1', '{shard}-{replica}', updated_at)
ORDER BY (app_id, method, path);
