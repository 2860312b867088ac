CREATE TABLE IF NOT EXISTS consumer_groups_v1
(
    app_id     UInt32,
    id         UInt32,
    name       String,
    created_at DateTime64(3, 'UTC'),
    updated_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree(updated_at)
ORDER BY (app_id, id);
-- statement
CREATE TABLE IF NOT EXISTS consumers_v1
(
    app_id     UInt32,
    id         UInt32,
    identifier String,
    name       String COMMENT 'the identifier where no name was given',
    group_id   UInt32 COMMENT '0: no group',
    created_at DateTime64(3, 'UTC'),
    updated_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree(updated_at)
ORDER BY (app_id, id);
