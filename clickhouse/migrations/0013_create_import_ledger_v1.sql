-- Requests that came in whole, so that importing the same ones again changes nothing.
CREATE TABLE IF NOT EXISTS import_ledger_v1
(
    app_id       UInt32,
    request_uuid UUID CODEC(NONE),
    imported_at  DateTime('UTC') DEFAULT now() CODEC(Delta(4), ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (app_id, request_uuid)
TTL imported_at + INTERVAL 13 MONTH + INTERVAL 4 DAY
SETTINGS non_replicated_deduplication_window = 10000;
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS import_ledger_mv_v1 TO import_ledger_v1 AS
SELECT app_id, request_uuid
FROM requests;
