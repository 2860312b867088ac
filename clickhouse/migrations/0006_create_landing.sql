-- The one place a whole request is written. Nothing is kept here: views fan each block out.
-- `record` and `capture` are JSON text as the API sends it; what is filtered or counted by has a column of its own.
-- Absent values: -1 for sizes, 0 for consumer and endpoint, so that no column needs a null map.
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
    is_noise            Bool,
    record              String COMMENT 'JSON: the members of a request log record behind request_uuid, and the closing brace',
    capture             String COMMENT 'JSON: an object of what Request Details adds; empty when nothing was captured'
)
ENGINE = Null;
-- statement
-- Door for what is counted. Client libraries send counts and logged requests apart; a whole request passes both
-- doors, so nothing is counted twice. `timestamp` is the request's, or the start of the counts' quarter-hour.
CREATE TABLE IF NOT EXISTS request_counts
(
    app_id         UInt32,
    timestamp      DateTime64(3, 'UTC'),
    app_env_id     UInt32,
    endpoint_id    UInt32,
    consumer_id    UInt32,
    requests       UInt64,
    bytes_received UInt64,
    bytes_sent     UInt64
)
ENGINE = Null;
-- statement
-- Door for what is logged.
CREATE TABLE IF NOT EXISTS logged_requests
(
    app_id       UInt32,
    timestamp    DateTime64(3, 'UTC'),
    request_uuid UUID,
    app_env_id   UInt32,
    endpoint_id  UInt32,
    consumer_id  UInt32,
    method       LowCardinality(String),
    status_code  UInt16,
    record       String,
    capture      String
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
    1 AS requests,
    toUInt64(greatest(request_size_bytes, 0)) AS bytes_received,
    toUInt64(greatest(response_size_bytes, 0)) AS bytes_sent
FROM requests;
-- statement
-- What is older than the logs' retention would only be written to be dropped.
CREATE MATERIALIZED VIEW IF NOT EXISTS logged_requests_mv TO logged_requests AS
SELECT * EXCEPT (is_noise, request_size_bytes, response_size_bytes)
FROM requests
WHERE NOT is_noise AND timestamp > now64(3) - INTERVAL 15 DAY;
