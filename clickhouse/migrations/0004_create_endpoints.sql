-- `excluded` acts when reading, so that it covers the past and can be taken back.
CREATE TABLE IF NOT EXISTS endpoints_v1
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
ORDER BY (app_id, id);
