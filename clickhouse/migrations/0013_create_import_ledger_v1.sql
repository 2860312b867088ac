-- Requests whose import was acknowledged, so that importing the same ones again changes nothing. It outlives the
-- window of the engine's own block deduplication, which covers the moment between the rows and this entry.
CREATE TABLE IF NOT EXISTS import_ledger_v1
(
    app_id       UInt32,
    request_uuid UUID CODEC(NONE),
    imported_at  DateTime('UTC') DEFAULT now() CODEC(Delta(4), ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (app_id, request_uuid)
TTL imported_at + INTERVAL 13 MONTH;
