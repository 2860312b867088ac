CREATE TABLE IF NOT EXISTS apps_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.apps_v1 ON CLUSTER {cluster}
(
    id         UInt32,
    team_id    UInt32,
    name       String,
    framework  String,
    client_id  UUID,
    disabled   Bool DEFAULT false COMMENT 'the collector takes nothing for it',
    graphql    Bool DEFAULT false COMMENT 'GraphQL operations are told apart',
    created_at DateTime64(3, 'UTC'),
    updated_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree(updated_at)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/global/{database}/apps_v1', '{shard}-{replica}', updated_at)
ORDER BY (team_id, id);
-- statement
CREATE TABLE IF NOT EXISTS app_envs_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.app_envs_v1 ON CLUSTER {cluster}
(
    app_id     UInt32,
    id         UInt32,
    name       String,
    created_at DateTime64(3, 'UTC'),
    updated_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree(updated_at)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/global/{database}/app_envs_v1', '{shard}-{replica}', updated_at)
ORDER BY (app_id, id);
-- statement
-- How many names of a kind an app may have, where it is another number than the configured one; 0: the configured one.
-- One row for each kind, so that changes of two of them at the same time are both kept.
CREATE TABLE IF NOT EXISTS app_limits_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.app_limits_v1 ON CLUSTER {cluster}
(
    app_id     UInt32,
    kind       Enum8('endpoints' = 1, 'consumers' = 2, 'consumer_groups' = 3, 'environments' = 4),
    max_names  UInt32,
    updated_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree(updated_at)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/global/{database}/app_limits_v1', '{shard}-{replica}', updated_at)
ORDER BY (app_id, kind);
