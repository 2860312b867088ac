-- What the service's three accounts may do: run with the service's database as the current one, after each upgrade and
-- before the migrations. Every statement can be run again. `users.sql` makes the accounts.

-- The API reads under limits of its own (QUERY_* of .env.example). Here are what it gets when it names none and how far
-- it may go; the minimum keeps 0, which means "no limit", out.
CREATE SETTINGS PROFILE OR REPLACE request_analytics_reader SETTINGS
    readonly = 2,
    max_execution_time = 10 MIN 1 MAX 60,
    max_memory_usage = 1073741824 MIN 1 MAX 4294967296,
    max_bytes_to_read = 17179869184 MIN 1 MAX 68719476736,
    max_result_bytes = 268435456 MIN 1 MAX 1073741824,
    max_threads = 2 MIN 1 MAX 8,
    timeout_overflow_mode = 'throw' CONST,
    read_overflow_mode = 'throw' CONST,
    result_overflow_mode = 'throw' CONST;

CREATE ROLE IF NOT EXISTS request_analytics_reader;
ALTER ROLE request_analytics_reader SETTINGS PROFILE 'request_analytics_reader';

-- The API: the columns that its statements name, and nothing else.
GRANT SELECT (identifier, key_sha256, team_id, expires_at, revoked_at, app_ids, operations, has_bodies, consumer, requests_per_minute) ON api_keys_v1 TO request_analytics_reader;
GRANT SELECT (id, name, plan) ON teams_v1 TO request_analytics_reader;
GRANT SELECT (id, team_id, name, framework, client_id, created_at) ON apps_v1 TO request_analytics_reader;
GRANT SELECT (app_id, id, name, created_at) ON app_envs_v1 TO request_analytics_reader;
GRANT SELECT (app_id, id, method, path, excluded) ON endpoints_v1 TO request_analytics_reader;
GRANT SELECT (app_id, id, name) ON consumer_groups_v1 TO request_analytics_reader;
GRANT SELECT (app_id, id, identifier, name, group_id, created_at) ON consumers_v1 TO request_analytics_reader;
GRANT SELECT ON secrets_v1 TO request_analytics_reader;
GRANT SELECT ON request_logs_v1 TO request_analytics_reader;
GRANT SELECT (app_id, timestamp, request_uuid, captured_json) ON request_details_v1 TO request_analytics_reader;
GRANT SELECT (app_id, request_uuid, timestamp) ON import_ledger_v1 TO request_analytics_reader;
GRANT SELECT ON spans_v1 TO request_analytics_reader;
GRANT SELECT (app_id, trace_id, timestamp_ns, span_id, server_span_id, level, message, logger, file, line, attributes, record_hash) ON application_logs_v1 TO request_analytics_reader;
GRANT SELECT ON percentile_accuracy_v1 TO request_analytics_reader;
GRANT SELECT ON consumer_coverage_v1 TO request_analytics_reader;
GRANT SELECT ON counts_per_minute_v1 TO request_analytics_reader;
GRANT SELECT ON counts_per_15m_v1 TO request_analytics_reader;
GRANT SELECT ON counts_per_15m_by_consumer_v1 TO request_analytics_reader;
GRANT SELECT ON counts_per_hour_v1 TO request_analytics_reader;
GRANT SELECT ON counts_per_day_v1 TO request_analytics_reader;
GRANT SELECT (app_id, endpoint_id, status_code, marked) ON endpoint_expected_errors_v1 TO request_analytics_reader;
GRANT SELECT (app_id, method, path, marked) ON endpoint_exclusions_v1 TO request_analytics_reader;
GRANT SELECT ON consumer_activity_v1 TO request_analytics_reader;
GRANT SELECT ON endpoint_activity_v1 TO request_analytics_reader;
GRANT SELECT ON endpoint_deprecations_v1 TO request_analytics_reader;
GRANT SELECT ON env_activity_v1 TO request_analytics_reader;
GRANT SELECT (app_id, slot, app_env_id, is_imported, received_at, routes) ON api_documents_v1 TO request_analytics_reader;
GRANT SELECT ON instances_v1 TO request_analytics_reader;
GRANT SELECT ON instance_versions_v1 TO request_analytics_reader;
GRANT SELECT (app_id, app_env_id, app_version, released_at, marked) ON release_marks_v1 TO request_analytics_reader;
GRANT SELECT ON instance_resources_v1 TO request_analytics_reader;
GRANT SELECT ON error_counts_per_15m_v1 TO request_analytics_reader;
GRANT SELECT (app_id, fingerprint, app_env_id, timestamp, endpoint_id, consumer_id, kind, type, message, request_uuid, sentry_event_id, trace_id) ON errors_v1 TO request_analytics_reader;
GRANT SELECT (refused_at, route, cause, app_id) ON refused_senders_v1 TO request_analytics_reader;
-- Without the addresses of receivers, which may be secrets.
GRANT SELECT (team_id, app_id, name, source, definition, receivers, muted_until, deleted) ON alert_rules_v1 TO request_analytics_reader;
GRANT SELECT (team_id, rule_app_id, rule, app_id, since, state, value, evaluated_at) ON alert_states_v1 TO request_analytics_reader;
-- Its own check of the store: which tables are there, what was set aside as damaged, how much room is left.
GRANT SHOW TABLES ON * TO request_analytics_reader;
GRANT SELECT (database, table, name, reason, path) ON system.detached_parts TO request_analytics_reader;
GRANT SELECT (name, free_space, is_remote) ON system.disks TO request_analytics_reader;

-- The collector: names it registers, landing tables it inserts into, its write-ahead log.
CREATE ROLE IF NOT EXISTS request_analytics_collector;
GRANT SELECT, INSERT ON apps_v1 TO request_analytics_collector;
GRANT SELECT ON app_limits_v1 TO request_analytics_collector;
GRANT SELECT (table_name, id) ON id_claims_v1 TO request_analytics_collector;
GRANT SELECT (identifier, app_id, token_sha256, revoked_at, updated_at) ON write_tokens_v1 TO request_analytics_collector;
GRANT SELECT, INSERT ON app_envs_v1 TO request_analytics_collector;
GRANT SELECT, INSERT ON endpoints_v1 TO request_analytics_collector;
GRANT SELECT, INSERT ON consumer_groups_v1 TO request_analytics_collector;
GRANT SELECT, INSERT ON consumers_v1 TO request_analytics_collector;
GRANT SELECT, INSERT ON ingest_batches_v1 TO request_analytics_collector;
GRANT SELECT ON ingest_messages_v1 TO request_analytics_collector;
GRANT SELECT (app_id, request_uuid, in_ledger) ON request_details_v1 TO request_analytics_collector;
GRANT SELECT (app_id, request_uuid) ON import_ledger_v1 TO request_analytics_collector;
GRANT SELECT (app_id, start_time_ns, trace_id, span_id, parent_span_id, kind, status, attributes, events) ON spans_v1 TO request_analytics_collector;
GRANT SELECT (app_id, trace_id, timestamp_ns, span_id, server_span_id, attributes) ON application_logs_v1 TO request_analytics_collector;
GRANT SELECT (app_id, timestamp, request_uuid, app_env_id, endpoint_id, consumer_id, method, status_code, record_json, trace_id, exception_type) ON request_logs_v1 TO request_analytics_collector;
-- The landing tables keep nothing to read: views that have no rights of their own read the block with those of who inserts it.
-- Of imports: a collector applies what a dead process left.
GRANT SELECT, INSERT ON requests TO request_analytics_collector;
GRANT SELECT, INSERT ON request_counts TO request_analytics_collector;
GRANT SELECT ON request_sums TO request_analytics_collector;
GRANT SELECT, INSERT ON logged_requests TO request_analytics_collector;
GRANT SELECT, INSERT ON reported_errors TO request_analytics_collector;
GRANT SELECT, INSERT ON instance_reports TO request_analytics_collector;
GRANT INSERT ON endpoint_deprecations_v1 TO request_analytics_collector;
GRANT SELECT (app_id, slot, app_env_id, is_imported, app_version, received_at, hash), INSERT ON api_documents_v1 TO request_analytics_collector;
GRANT SELECT, INSERT ON logged_spans TO request_analytics_collector;
GRANT SELECT, INSERT ON logged_messages TO request_analytics_collector;
GRANT SELECT, INSERT ON percentile_accuracy_v1 TO request_analytics_collector;
GRANT SELECT, INSERT ON counted_instances_v1 TO request_analytics_collector;
GRANT SELECT, INSERT ON pending_counts_v1 TO request_analytics_collector;
GRANT SELECT, INSERT ON unassigned_requests_v1 TO request_analytics_collector;
GRANT SELECT, INSERT ON consumer_coverage_v1 TO request_analytics_collector;
GRANT SELECT, INSERT ON metric_streams_v1 TO request_analytics_collector;
GRANT SELECT, INSERT ON counted_records_v1 TO request_analytics_collector;
GRANT INSERT ON refused_senders_v1 TO request_analytics_collector;
-- Alerts, which it evaluates by the queries of the API.
GRANT SELECT, INSERT ON alert_rules_v1 TO request_analytics_collector;
GRANT SELECT, INSERT ON alert_states_v1 TO request_analytics_collector;
GRANT SELECT, INSERT ON alert_messages_v1 TO request_analytics_collector;
GRANT SELECT ON counts_per_minute_v1 TO request_analytics_collector;
GRANT SELECT ON counts_per_15m_v1 TO request_analytics_collector;
GRANT SELECT ON counts_per_15m_by_consumer_v1 TO request_analytics_collector;
GRANT SELECT ON counts_per_hour_v1 TO request_analytics_collector;
GRANT SELECT ON counts_per_day_v1 TO request_analytics_collector;
GRANT SELECT ON env_activity_v1 TO request_analytics_collector;
GRANT SELECT ON error_counts_per_15m_v1 TO request_analytics_collector;
GRANT SELECT (app_id, endpoint_id, status_code, marked) ON endpoint_expected_errors_v1 TO request_analytics_collector;
GRANT SELECT (app_id, method, path, marked) ON endpoint_exclusions_v1 TO request_analytics_collector;
GRANT SELECT (app_id, fingerprint, app_env_id, timestamp, endpoint_id, consumer_id, kind, type, message, request_uuid, sentry_event_id, trace_id) ON errors_v1 TO request_analytics_collector;
GRANT SHOW TABLES ON * TO request_analytics_collector;
GRANT SELECT (database, table, name, reason, path) ON system.detached_parts TO request_analytics_collector;
GRANT SELECT (name, free_space, is_remote) ON system.disks TO request_analytics_collector;

-- The owner: migrations and the command line. On a server of today's settings the views run with its rights, so the
-- account that migrated must stay.
CREATE ROLE IF NOT EXISTS request_analytics_owner;
GRANT CREATE DATABASE, CREATE TABLE, CREATE VIEW, ALTER, DROP TABLE, DROP VIEW, TRUNCATE, OPTIMIZE, SELECT, INSERT, SHOW, CHECK
    ON * TO request_analytics_owner;
GRANT SELECT (database, table, name, reason, path) ON system.detached_parts TO request_analytics_owner;
-- Backups, the database in which `restore --check` reads one, and what `doctor` reads.
GRANT BACKUP ON * TO request_analytics_owner;
GRANT SELECT ON system.backups TO request_analytics_owner;
GRANT SELECT ON system.disks TO request_analytics_owner;
GRANT SELECT ON system.parts TO request_analytics_owner;
GRANT SELECT ON system.mutations TO request_analytics_owner;
GRANT SELECT ON system.merges TO request_analytics_owner;
GRANT CREATE DATABASE, DROP DATABASE, CREATE TABLE, CREATE VIEW, DROP TABLE, DROP VIEW, SELECT, INSERT, SHOW, CHECK
    ON request_analytics_check.* TO request_analytics_owner;
