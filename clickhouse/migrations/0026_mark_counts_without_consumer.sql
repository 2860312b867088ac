-- What has no consumer is marked in the tables of quarter-hours, and no longer kept once more among those by consumer: of an
-- app without consumers these were a copy of the quarter-hours, and a third of all counts and bins; see docs/performance.md, "Room".
-- Older rows are not marked, and their copies stay: what has no consumer is both the marked rows and the copies.
-- A replaced view recognizes the blocks that the one before has written. An altered one (`MODIFY QUERY`) does not, and neither does it
-- recognize its own after the next start.
ALTER TABLE counts_per_15m_v1
    ADD COLUMN IF NOT EXISTS without_consumer Bool CODEC(ZSTD(1)) AFTER status_code,
    MODIFY ORDER BY (app_id, bucket, app_env_id, endpoint_id, status_code, without_consumer);
-- statement
ALTER TABLE bins_per_15m_v1
    ADD COLUMN IF NOT EXISTS without_consumer Bool CODEC(ZSTD(1)) AFTER k,
    MODIFY ORDER BY (app_id, measure, bucket, app_env_id, endpoint_id, status_code, k, without_consumer);
-- statement
CREATE OR REPLACE MATERIALIZED VIEW counts_per_15m_mv_v1 TO counts_per_15m_v1 AS
SELECT
    app_id,
    toStartOfFifteenMinutes(toDateTime(timestamp, 'UTC')) AS bucket,
    app_env_id,
    endpoint_id,
    status_code,
    consumer_id = 0 AS without_consumer,
    sum(c.requests) AS requests,
    sum(c.bytes_received) AS bytes_received,
    sum(c.bytes_sent) AS bytes_sent
FROM request_counts AS c
GROUP BY app_id, bucket, app_env_id, endpoint_id, status_code, without_consumer;
-- statement
CREATE OR REPLACE MATERIALIZED VIEW bins_per_15m_mv_v1 TO bins_per_15m_v1 AS
SELECT
    app_id,
    measure,
    toStartOfFifteenMinutes(toDateTime(timestamp, 'UTC')) AS bucket,
    app_env_id,
    endpoint_id,
    status_code,
    k,
    consumer_id = 0 AS without_consumer,
    sum(b.n) AS n
FROM request_bins AS b
GROUP BY app_id, measure, bucket, app_env_id, endpoint_id, status_code, k, without_consumer;
-- statement
CREATE OR REPLACE MATERIALIZED VIEW counts_per_15m_by_consumer_mv_v1 TO counts_per_15m_by_consumer_v1 AS
SELECT
    app_id,
    consumer_id,
    toStartOfFifteenMinutes(toDateTime(timestamp, 'UTC')) AS bucket,
    app_env_id,
    endpoint_id,
    status_code,
    sum(c.requests) AS requests,
    sum(c.bytes_received) AS bytes_received,
    sum(c.bytes_sent) AS bytes_sent
FROM request_counts AS c
WHERE consumer_id != 0
GROUP BY app_id, consumer_id, bucket, app_env_id, endpoint_id, status_code;
-- statement
CREATE OR REPLACE MATERIALIZED VIEW bins_per_15m_by_consumer_mv_v1 TO bins_per_15m_by_consumer_v1 AS
SELECT
    app_id,
    measure,
    consumer_id,
    toStartOfFifteenMinutes(toDateTime(timestamp, 'UTC')) AS bucket,
    app_env_id,
    endpoint_id,
    status_code,
    k,
    sum(b.n) AS n
FROM request_bins AS b
WHERE consumer_id != 0
GROUP BY app_id, measure, consumer_id, bucket, app_env_id, endpoint_id, status_code, k;
