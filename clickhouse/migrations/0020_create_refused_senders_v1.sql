-- Senders that a collector refused, or that sent to the port of the API: what a sender did wrong, never what it sent. `doctor` and the
-- dashboard read it.
CREATE TABLE IF NOT EXISTS refused_senders_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.refused_senders_v1 ON CLUSTER {cluster}
(
    refused_at DateTime('UTC') COMMENT 'the last one',
    address    String COMMENT 'an IPv4 address, or a /64 network of IPv6',
    route      String,
    cause      String,
    app_id     UInt32 COMMENT '0: unknown'
)
ENGINE = MergeTree
-- cluster: ENGINE = ReplicatedMergeTree('/clickhouse/tables/global/{database}/refused_senders_v1', '{shard}-{replica}')
PARTITION BY toYYYYMMDD(refused_at)
ORDER BY refused_at
TTL refused_at + INTERVAL 1 DAY
SETTINGS ttl_only_drop_parts = 1;
