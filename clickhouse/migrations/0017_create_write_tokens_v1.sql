-- Tokens with which OpenTelemetry SDKs and client libraries send data of an app. Stored are the public identifier and the SHA-256
-- of the whole token, never the token itself.
CREATE TABLE IF NOT EXISTS write_tokens_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.write_tokens_v1 ON CLUSTER {cluster}
(
    identifier   String,
    app_id       UInt32,
    name         String,
    token_sha256 String COMMENT 'lower-case hex',
    created_at   DateTime64(3, 'UTC'),
    revoked_at   Nullable(DateTime64(3, 'UTC')),
    updated_at   DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree(updated_at)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/global/{database}/write_tokens_v1', '{shard}-{replica}', updated_at)
ORDER BY identifier;
