-- The one place a whole request is written. Nothing is kept here: views fan each block out.
-- `record_json` and `captured_json` are JSON text as the API sends it; what is filtered or counted by has a column of its own.
-- Absent values: -1 for sizes and times, 0 for consumer and endpoint, so that no column needs a null map.
CREATE TABLE IF NOT EXISTS requests
(
    app_id              UInt32,
    timestamp           DateTime64(3, 'UTC'),
    request_uuid        UUID,
    app_env_id          UInt32,
    endpoint_id         UInt32,
    consumer_id         UInt32,
    method              LowCardinality(String),
    status_code         UInt16,
    request_size_bytes  Int64,
    response_size_bytes Int64,
    response_time_ms    Int64,
    excluded_from_logs  Bool,
    record_json         String COMMENT 'JSON: the members of a request log record behind request_uuid, and the closing brace',
    captured_json       String COMMENT 'JSON: an object of what Request Details adds; empty when nothing was captured'
)
ENGINE = Null;
-- statement
-- Landing table for what is counted. Client libraries send counts and logged requests apart; a whole request is copied
-- into both landing tables, so nothing is counted twice. `timestamp` is the request's, or the time of the counts.
-- `bins` says how the counted requests are spread: n of them in bin k of a measure. Response times are measured in seconds
-- and sizes in bytes; v is in bin k = round(32 * log2(v)), which is 2.2 % wide, and 0 is in bin -32768. A request whose time
-- or size is not known is in no bin of that measure.
CREATE TABLE IF NOT EXISTS request_counts
(
    app_id         UInt32,
    timestamp      DateTime64(3, 'UTC'),
    app_env_id     UInt32,
    endpoint_id    UInt32,
    consumer_id    UInt32,
    status_code    UInt16 COMMENT '0: not known',
    requests       UInt64,
    bytes_received UInt64,
    bytes_sent     UInt64,
    bins           Array(Tuple(Enum8('time' = 0, 'received' = 1, 'sent' = 2), Int16, UInt64)) COMMENT 'measure, k, n'
)
ENGINE = Null;
-- statement
-- The bins of what is counted, one row each: how many requests of which status are in which bin.
CREATE TABLE IF NOT EXISTS request_bins
(
    app_id      UInt32,
    timestamp   DateTime64(3, 'UTC'),
    app_env_id  UInt32,
    endpoint_id UInt32,
    consumer_id UInt32,
    status_code UInt16,
    measure     Enum8('time' = 0, 'received' = 1, 'sent' = 2),
    k           Int16,
    n           UInt64
)
ENGINE = Null;
-- statement
-- Landing table for what is logged.
CREATE TABLE IF NOT EXISTS logged_requests
(
    app_id        UInt32,
    timestamp     DateTime64(3, 'UTC'),
    request_uuid  UUID,
    app_env_id    UInt32,
    endpoint_id   UInt32,
    consumer_id   UInt32,
    method        LowCardinality(String),
    status_code   UInt16,
    record_json   String,
    captured_json String
)
ENGINE = Null;
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS request_counts_mv TO request_counts AS
SELECT
    app_id,
    timestamp,
    app_env_id,
    endpoint_id,
    consumer_id,
    status_code,
    1 AS requests,
    toUInt64(greatest(request_size_bytes, 0)) AS bytes_received,
    toUInt64(greatest(response_size_bytes, 0)) AS bytes_sent,
    arrayMap(
        bin -> (bin.1, if(bin.2 = 0, -32768, toInt16(round(32 * log2(greatest(bin.2, 0.001))))), toUInt64(1)),
        arrayFilter(
            bin -> bin.2 >= 0,
            [('time', response_time_ms / 1000),
             ('received', toFloat64(request_size_bytes)),
             ('sent', toFloat64(response_size_bytes))])) AS bins
FROM requests;
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS request_bins_mv TO request_bins AS
SELECT app_id, timestamp, app_env_id, endpoint_id, consumer_id, status_code, bin.1 AS measure, bin.2 AS k, bin.3 AS n
FROM request_counts
ARRAY JOIN bins AS bin;
-- statement
-- What is older than the logs' retention would only be written to be dropped.
CREATE MATERIALIZED VIEW IF NOT EXISTS logged_requests_mv TO logged_requests AS
SELECT * EXCEPT (excluded_from_logs, request_size_bytes, response_size_bytes, response_time_ms)
FROM requests
WHERE NOT excluded_from_logs AND timestamp > now64(3) - INTERVAL 15 DAY;
