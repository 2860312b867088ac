-- What a key may read of its team's data, and how often. The defaults are those of a key without scopes: everything.
ALTER TABLE api_keys_v1
    ADD COLUMN IF NOT EXISTS app_ids             Array(UInt32) COMMENT 'empty: all apps of the team',
    ADD COLUMN IF NOT EXISTS operations          Array(String) COMMENT 'operationIds of the OpenAPI document; empty: all',
    ADD COLUMN IF NOT EXISTS has_bodies          Bool DEFAULT true COMMENT 'whether headers and bodies are shown',
    ADD COLUMN IF NOT EXISTS consumer            String COMMENT 'the identifier of the only consumer; empty: all',
    ADD COLUMN IF NOT EXISTS requests_per_minute UInt32 COMMENT '0: the configured limit';
