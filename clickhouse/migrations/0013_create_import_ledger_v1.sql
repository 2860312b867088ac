-- Requests that came in whole, so that importing the same ones again changes nothing. The time finds a request in the logs.
-- UUIDs of senders are random, so a lookup reads one granule for each: granules are small, and each is a compressed block.
CREATE TABLE IF NOT EXISTS import_ledger_v1
-- cluster: CREATE TABLE IF NOT EXISTS {database}.import_ledger_v1_local ON CLUSTER {cluster}
(
    app_id       UInt32,
    request_uuid UUID CODEC(ZSTD(1)) SETTINGS (min_compress_block_size = 8192),
    timestamp    DateTime64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    imported_at  DateTime('UTC') DEFAULT now() CODEC(Delta(4), ZSTD(1))
)
ENGINE = ReplacingMergeTree
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/import_ledger_v1', '{replica}')
ORDER BY (app_id, request_uuid)
TTL imported_at + INTERVAL 13 MONTH + INTERVAL 4 DAY
SETTINGS index_granularity = 512, non_replicated_deduplication_window = 10000;
-- cluster: SETTINGS index_granularity = 512, replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.import_ledger_v1 ON CLUSTER {cluster} AS {database}.import_ledger_v1_local
ENGINE = Distributed('{cluster}', '{database}', 'import_ledger_v1_local', sipHash64(app_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS import_ledger_mv_v1 TO import_ledger_v1 AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.import_ledger_mv_v1 ON CLUSTER {cluster} TO {database}.import_ledger_v1_local AS
SELECT app_id, request_uuid, timestamp
FROM requests;
-- cluster: FROM {database}.requests_local;
