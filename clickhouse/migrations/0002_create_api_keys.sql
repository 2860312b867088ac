-- The key itself is never stored: its public identifier and the SHA-256 of the whole key are.
-- The columns behind `updated_at` say what a key may read of its team's data, and how often. Their defaults allow everything.
CREATE TABLE IF NOT EXISTS api_keys_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.api_keys_v1 ON CLUSTER {cluster}
(
    identifier          String,
    team_id             UInt32,
    name                String,
    key_sha256          String COMMENT 'lower-case hex',
    created_at          DateTime64(3, 'UTC'),
    expires_at          Nullable(DateTime64(3, 'UTC')),
    revoked_at          Nullable(DateTime64(3, 'UTC')),
    updated_at          DateTime64(6, 'UTC') DEFAULT now64(6),
    app_ids             Array(UInt32) COMMENT 'empty: all apps of the team',
    operations          Array(String) COMMENT 'operationIds of the OpenAPI document; empty: all',
    has_bodies          Bool DEFAULT true COMMENT 'whether headers and bodies are shown',
    consumer            String COMMENT 'the identifier of the only consumer; empty: all',
    requests_per_minute UInt32 COMMENT '0: the configured limit'
)
ENGINE = ReplacingMergeTree(updated_at)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/global/{database}/api_keys_v1', '{shard}-{replica}', updated_at)
ORDER BY identifier;
