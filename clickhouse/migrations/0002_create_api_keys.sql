-- The key itself is never stored: its public identifier and the SHA-256 of the whole key are.
CREATE TABLE IF NOT EXISTS api_keys_v1
(
    identifier String,
    team_id    UInt32,
    name       String,
    key_sha256 String COMMENT 'lower-case hex',
    created_at DateTime64(3, 'UTC'),
    expires_at Nullable(DateTime64(3, 'UTC')),
    revoked_at Nullable(DateTime64(3, 'UTC')),
    updated_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree(updated_at)
ORDER BY identifier;
