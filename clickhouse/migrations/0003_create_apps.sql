CREATE TABLE IF NOT EXISTS apps_v1
(
    id         UInt32,
    team_id    UInt32,
    name       String,
    framework  String,
    client_id  UUID,
    disabled   Bool DEFAULT false COMMENT 'the collector takes nothing for it',
    created_at DateTime64(3, 'UTC'),
    updated_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree(updated_at)
ORDER BY (team_id, id);
-- statement
CREATE TABLE IF NOT EXISTS app_envs_v1
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
-- How many names an app may have, where it is another number than the configured one; 0: the configured one.
CREATE TABLE IF NOT EXISTS app_limits_v1
(
    app_id          UInt32,
    endpoints       UInt32,
    consumers       UInt32,
    consumer_groups UInt32,
    environments    UInt32,
    updated_at      DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree(updated_at)
ORDER BY app_id;
