-- The engine reads no document with a number that it cannot hold, as attributes of spans may have. Logs and spans stand behind the
-- exception, and no other member before them has the name.
ALTER TABLE logged_requests
    MODIFY COLUMN exception_type LowCardinality(Nullable(String))
        DEFAULT if(startsWith(substring(captured_json, position(captured_json, '"exception":')), '"exception":{'),
            JSONExtract(concat(substring(captured_json, 1, position(captured_json, ',"logs":[') - 1), '}'), 'exception', 'type', 'Nullable(String)'), NULL);
