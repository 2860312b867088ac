CREATE TABLE IF NOT EXISTS consumer_groups_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.consumer_groups_v1 ON CLUSTER {cluster}
(
    app_id     UInt32,
    id         UInt32,
    name       String,
    created_at DateTime64(3, 'UTC'),
    updated_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree(updated_at)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/global/{database}/consumer_groups_v1', '{shard}-{replica}', updated_at)
ORDER BY (app_id, id);
-- statement
CREATE TABLE IF NOT EXISTS consumers_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.consumers_v1 ON CLUSTER {cluster}
(
    app_id     UInt32,
    id         UInt32,
    identifier String,
    name       String COMMENT 'the identifier where no name was given',
    group_id   UInt32 COMMENT '0: no group',
    attributes String COMMENT 'JSON: an object of strings; empty: none',
    created_at DateTime64(3, 'UTC'),
    updated_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree(updated_at)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/global/{database}/consumers_v1', '{shard}-{replica}', updated_at)
ORDER BY (app_id, id);
