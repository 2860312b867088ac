-- The one place a whole request is written. Nothing is kept here: views fan each block out.
-- `record_json` and `captured_json` are JSON text as the API sends it; what is filtered or counted by has a column of its own.
-- Absent values: -1 for sizes and times, 0 for consumer and endpoint, so that no column needs a null map.
CREATE TABLE IF NOT EXISTS requests
-- cluster: CREATE TABLE IF NOT EXISTS {database}.requests_local ON CLUSTER {cluster}
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
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.requests ON CLUSTER {cluster} AS {database}.requests_local
ENGINE = Distributed('{cluster}', '{database}', 'requests_local', sipHash64(app_id));
-- statement
-- Landing table for what is counted. Client libraries send counts and logged requests apart; a whole request is copied
-- into both landing tables, so nothing is counted twice. `timestamp` is the request's, or the time of the counts.
-- `bins` says how the counted requests are spread: n of them in bin k of a measure. Response times are measured in seconds
-- and sizes in bytes; v is in bin k = round(32 * log2(v)), which is 2.2 % wide, and 0 is in bin -32768. A request whose time
-- or size is not known is in no bin of that measure.
CREATE TABLE IF NOT EXISTS request_counts
-- cluster: CREATE TABLE IF NOT EXISTS {database}.request_counts_local ON CLUSTER {cluster}
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
    bins           Array(Tuple(Enum8('time' = 0, 'received' = 1, 'sent' = 2), Int16, UInt64)) COMMENT 'measure, k, n',
    assigned       Bool COMMENT 'whether they were counted before without consumer; a row without consumer takes them back, as 2^64 - n'
)
ENGINE = Null;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.request_counts ON CLUSTER {cluster} AS {database}.request_counts_local
ENGINE = Distributed('{cluster}', '{database}', 'request_counts_local', sipHash64(app_id));
-- statement
-- What is counted, one row for each sum: the row of measure `requests` has all requests, in k = 0, and their bytes; the rows
-- of the other measures have the requests of bin k, without bytes. So counts and bins are in one table of each period: each
-- further table and its view cost a block some milliseconds, whatever its size.
CREATE TABLE IF NOT EXISTS request_sums
-- cluster: CREATE TABLE IF NOT EXISTS {database}.request_sums_local ON CLUSTER {cluster}
(
    app_id         UInt32,
    timestamp      DateTime64(3, 'UTC'),
    app_env_id     UInt32,
    endpoint_id    UInt32,
    consumer_id    UInt32,
    status_code    UInt16,
    measure        Enum8('time' = 0, 'received' = 1, 'sent' = 2, 'requests' = 3),
    k              Int16,
    n              UInt64,
    bytes_received UInt64,
    bytes_sent     UInt64
)
ENGINE = Null;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.request_sums ON CLUSTER {cluster} AS {database}.request_sums_local
ENGINE = Distributed('{cluster}', '{database}', 'request_sums_local', sipHash64(app_id));
-- statement
-- Landing table for what is logged. Headers and bodies stand before `trace_id` and `exception` in the captured JSON; names in
-- them are no names of members, or have escaped quotes. The engine rejects JSON with numbers out of range, and attributes of
-- spans can have them, so the exception is read from the text before `"logs"`.
CREATE TABLE IF NOT EXISTS logged_requests
-- cluster: CREATE TABLE IF NOT EXISTS {database}.logged_requests_local ON CLUSTER {cluster}
(
    app_id         UInt32,
    timestamp      DateTime64(3, 'UTC'),
    request_uuid   UUID,
    app_env_id     UInt32,
    endpoint_id    UInt32,
    consumer_id    UInt32,
    method         LowCardinality(String),
    status_code    UInt16,
    record_json    String,
    captured_json  String,
    trace_id       FixedString(16)
        DEFAULT toFixedString(substring(unhex(simpleJSONExtractString(captured_json, 'trace_id')), 1, 16), 16),
    exception_type LowCardinality(Nullable(String))
        DEFAULT if(startsWith(substring(captured_json, position(captured_json, '"exception":')), '"exception":{'),
            JSONExtract(concat(substring(captured_json, 1, position(captured_json, ',"logs":[') - 1), '}'), 'exception', 'type', 'Nullable(String)'), NULL),
    is_captured    Bool DEFAULT captured_json != '' AND NOT (
        trace_id != toFixedString('', 16)
        AND startsWith(captured_json, '{"request_headers":[],"response_headers":[],"request_body_json":null,"response_body_json":null,"trace_id":"')
        AND endsWith(captured_json, '","exception":null,"logs":[],"spans":[]}'))
        COMMENT 'whether more was captured than the trace ID, which the logs have',
    in_ledger      Bool COMMENT 'whether the ledger of imports has the request and its time'
)
ENGINE = Null;
-- cluster statement
CREATE TABLE IF NOT EXISTS {database}.logged_requests ON CLUSTER {cluster} AS {database}.logged_requests_local
ENGINE = Distributed('{cluster}', '{database}', 'logged_requests_local', sipHash64(app_id));
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS request_counts_mv TO request_counts AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.request_counts_mv ON CLUSTER {cluster} TO {database}.request_counts_local AS
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
-- cluster: FROM {database}.requests_local;
-- statement
CREATE MATERIALIZED VIEW IF NOT EXISTS request_sums_mv TO request_sums AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.request_sums_mv ON CLUSTER {cluster} TO {database}.request_sums_local AS
SELECT
    app_id,
    timestamp,
    app_env_id,
    endpoint_id,
    consumer_id,
    status_code,
    s.1 AS measure,
    s.2 AS k,
    s.3 AS n,
    if(measure = 'requests', c.bytes_received, 0) AS bytes_received,
    if(measure = 'requests', c.bytes_sent, 0) AS bytes_sent
FROM request_counts AS c
-- cluster: FROM {database}.request_counts_local AS c
ARRAY JOIN arrayPushFront(
    CAST(bins AS Array(Tuple(Enum8('time' = 0, 'received' = 1, 'sent' = 2, 'requests' = 3), Int16, UInt64))),
    ('requests', 0, requests)) AS s;
-- statement
-- What is older than the logs' retention would only be written to be dropped.
CREATE MATERIALIZED VIEW IF NOT EXISTS logged_requests_mv TO logged_requests AS
-- cluster: CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.logged_requests_mv ON CLUSTER {cluster} TO {database}.logged_requests_local AS
SELECT * EXCEPT (excluded_from_logs, request_size_bytes, response_size_bytes, response_time_ms), true AS in_ledger
FROM requests
-- cluster: FROM {database}.requests_local
WHERE NOT excluded_from_logs AND timestamp > now64(3) - INTERVAL 15 DAY;
