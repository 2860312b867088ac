-- Rules of alerts: the newest row of a name counts. `channels` has addresses of receivers, which may be secrets: the account of the API
-- has no right to read it, and reads `receivers`.
CREATE TABLE IF NOT EXISTS alert_rules_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.alert_rules_v1 ON CLUSTER {cluster}
(
    team_id     UInt32,
    app_id      UInt32 COMMENT '0: all apps of the team',
    name        String,
    source      Enum8('command' = 1, 'file' = 2),
    definition  String COMMENT 'JSON',
    channels    String COMMENT 'JSON: kind and address of each receiver',
    receivers   Array(String) MATERIALIZED arrayDistinct(JSONExtract(channels, 'Array(Tuple(kind String))').kind) COMMENT 'kinds of the receivers',
    muted_until DateTime64(3, 'UTC'),
    defined_at  DateTime64(3, 'UTC') COMMENT 'since when it has its definition',
    deleted     Bool,
    updated_at  DateTime64(6, 'UTC')
)
ENGINE = ReplacingMergeTree(updated_at)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/global/{database}/alert_rules_v1', '{shard}-{replica}', updated_at)
ORDER BY (team_id, app_id, name);
-- statement
-- States of rules: a row for each time in which a rule had one state for an app. The row of the last one is replaced with each
-- evaluation. A transition and its state are one row, so no crash separates them. No partitions: a block is inserted as a whole.
CREATE TABLE IF NOT EXISTS alert_states_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.alert_states_v1 ON CLUSTER {cluster}
(
    team_id       UInt32,
    rule_app_id   UInt32 COMMENT 'app_id of the rule',
    rule          String,
    app_id        UInt32,
    since         DateTime64(3, 'UTC'),
    transition_id UUID,
    state         Enum8('ok' = 1, 'pending' = 2, 'firing' = 3, 'no_data' = 4, 'muted' = 5),
    value         Nullable(Float64),
    results       Array(UInt8) COMMENT 'whether each of the last windows broke the rule',
    fired_at      DateTime64(3, 'UTC') COMMENT 'start of a firing that was told and is not resolved yet; else 1970',
    told          Enum8('nothing' = 0, 'firing' = 1, 'resolved' = 2, 'digest' = 3) COMMENT 'what receivers are told of this transition',
    evaluated_at  DateTime64(3, 'UTC') COMMENT 'end of the last window'
)
ENGINE = ReplacingMergeTree(evaluated_at)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/global/{database}/alert_states_v1', '{shard}-{replica}', evaluated_at)
ORDER BY (team_id, rule_app_id, rule, app_id, since)
TTL toDateTime(evaluated_at) + INTERVAL 3 MONTH;
-- statement
-- Messages to receivers: one for all transitions of an evaluation that go to one receiver. The row is replaced at each attempt.
CREATE TABLE IF NOT EXISTS alert_messages_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.alert_messages_v1 ON CLUSTER {cluster}
(
    team_id     UInt32,
    message_id  UUID,
    created_at  DateTime64(3, 'UTC'),
    channel     Enum8('webhook' = 1, 'slack' = 2, 'teams' = 3, 'email' = 4),
    target      String,
    transitions Array(UUID),
    alerts      String COMMENT 'JSON',
    attempts    UInt16,
    state       Enum8('waiting' = 1, 'delivered' = 2, 'failed' = 3),
    next_at     DateTime64(3, 'UTC'),
    error       String
)
ENGINE = ReplacingMergeTree(attempts)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/global/{database}/alert_messages_v1', '{shard}-{replica}', attempts)
ORDER BY (team_id, message_id)
TTL toDateTime(created_at) + INTERVAL 7 DAY;
