-- What exports filter by has columns of its own, so that such a filter reads a few bytes of a row and not its JSON.
-- Rows that are older than the columns stay as they are: these values are computed from the record whenever they are read.
-- Absent values: -1 for sizes, '' for the country. In JSON, no text has such a name in quotes, because quotes are escaped in it.
ALTER TABLE request_logs_v1
    ADD COLUMN IF NOT EXISTS request_size_bytes Int64
        DEFAULT toInt64OrDefault(simpleJSONExtractRaw(record_json, 'request_size_bytes'), toInt64(-1)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS response_size_bytes Int64
        DEFAULT toInt64OrDefault(simpleJSONExtractRaw(record_json, 'response_size_bytes'), toInt64(-1)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS response_time_ms Int64
        DEFAULT simpleJSONExtractInt(record_json, 'response_time_ms') CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS client_country_iso_code LowCardinality(String)
        DEFAULT simpleJSONExtractString(record_json, 'client_country_iso_code'),
    ADD COLUMN IF NOT EXISTS trace_id Nullable(FixedString(16))
        COMMENT 'Zeros: none. NULL: the row is older than the column, and the details have its trace and its exception',
    ADD COLUMN IF NOT EXISTS exception_type LowCardinality(Nullable(String));
-- statement
-- From here the view copies them: it takes all columns. Its query is not changed, because that changes the deduplication
-- tokens of the table behind it: a batch that is replayed after it would be stored twice.
-- Headers and bodies stand before both members; names in them are no names of members, or have escaped quotes.
ALTER TABLE logged_requests
    ADD COLUMN IF NOT EXISTS trace_id Nullable(FixedString(16))
        DEFAULT toFixedString(substring(unhex(simpleJSONExtractString(captured_json, 'trace_id')), 1, 16), 16),
    ADD COLUMN IF NOT EXISTS exception_type LowCardinality(Nullable(String))
        DEFAULT if(startsWith(substring(captured_json, position(captured_json, '"exception":')), '"exception":{'),
            JSONExtract(captured_json, 'exception', 'type', 'Nullable(String)'), NULL);
