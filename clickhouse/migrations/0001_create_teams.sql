-- Accounts. Small tables are replaced row by row and read with FINAL.
CREATE TABLE IF NOT EXISTS teams_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.teams_v1 ON CLUSTER {cluster}
(
    id         UInt32,
    name       String,
    plan       Enum8('free' = 0, 'premium' = 1),
    created_at DateTime64(3, 'UTC'),
    updated_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree(updated_at)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/global/{database}/teams_v1', '{shard}-{replica}', updated_at)
ORDER BY id;
-- statement
-- What every instance must agree on without being told: the secret that signs page tokens.
CREATE TABLE IF NOT EXISTS secrets_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.secrets_v1 ON CLUSTER {cluster}
(
    name       LowCardinality(String),
    value      String,
    created_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = MergeTree
-- cluster: ENGINE = ReplicatedMergeTree('/clickhouse/tables/global/{database}/secrets_v1', '{shard}-{replica}')
ORDER BY name;
-- statement
INSERT INTO secrets_v1 (name, value)
SELECT 'page_token', hex(SHA256(concat(toString(generateUUIDv4(1)), toString(generateUUIDv4(2)), toString(generateUUIDv4(3)))))
WHERE (SELECT count() FROM secrets_v1 WHERE name = 'page_token') = 0;
-- statement
-- IDs of teams and apps. A claim is inserted under a deduplication token made of the ID, so that the engine keeps one claim
-- for an ID however many processes make it: the process that finds its own has the ID.
CREATE TABLE IF NOT EXISTS id_claims_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.id_claims_v1 ON CLUSTER {cluster}
(
    table_name LowCardinality(String),
    id         UInt32,
    claim      UUID,
    claimed_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = MergeTree
-- cluster: ENGINE = ReplicatedMergeTree('/clickhouse/tables/global/{database}/id_claims_v1', '{shard}-{replica}')
ORDER BY (table_name, id)
SETTINGS non_replicated_deduplication_window = 10000;
-- cluster: SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
