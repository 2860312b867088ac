-- Endpoints ascend within a period, and bins within an endpoint, so that their differences are small; where consumers stand
-- between, only the unused bits can go. Counts and bins take an eighth less, inserts take as long and reads up to a twentieth longer; see
-- docs/performance.md, "Room". Days stay as they are: they are small, and their reads became slower by a tenth.
-- No row changes: new parts have the codec, and merges write the older parts again.
ALTER TABLE counts_per_15m_v1
    MODIFY COLUMN endpoint_id UInt32 CODEC(Delta(4), T64, ZSTD(1));
-- statement
ALTER TABLE counts_per_hour_v1
    MODIFY COLUMN endpoint_id UInt32 CODEC(Delta(4), T64, ZSTD(1));
-- statement
ALTER TABLE counts_per_15m_by_consumer_v1
    MODIFY COLUMN endpoint_id UInt32 CODEC(T64, ZSTD(1));
-- statement
ALTER TABLE counts_per_minute_v1
    MODIFY COLUMN endpoint_id UInt32 CODEC(T64, ZSTD(1));
-- statement
ALTER TABLE bins_per_15m_v1
    MODIFY COLUMN endpoint_id UInt32 CODEC(Delta(4), T64, ZSTD(1)),
    MODIFY COLUMN k Int16 CODEC(Delta(2), T64, ZSTD(1));
-- statement
ALTER TABLE bins_per_hour_v1
    MODIFY COLUMN endpoint_id UInt32 CODEC(Delta(4), T64, ZSTD(1)),
    MODIFY COLUMN k Int16 CODEC(Delta(2), T64, ZSTD(1));
-- statement
ALTER TABLE bins_per_15m_by_consumer_v1
    MODIFY COLUMN endpoint_id UInt32 CODEC(T64, ZSTD(1)),
    MODIFY COLUMN k Int16 CODEC(T64, ZSTD(1));
-- statement
ALTER TABLE bins_per_minute_v1
    MODIFY COLUMN endpoint_id UInt32 CODEC(T64, ZSTD(1)),
    MODIFY COLUMN k Int16 CODEC(T64, ZSTD(1));
