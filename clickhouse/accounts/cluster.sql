-- On a cluster (`migrate --cluster`) as well, after `roles.sql`: the servers ask one another for the rows of their shards with
-- the rights of the initial user. Accounts are kept in the Keeper (docs/cluster), so the statements run on one node.

-- What is acknowledged is on most replicas of its shard, so that a retry finds it wherever it comes; see docs/scale.md.
CREATE SETTINGS PROFILE OR REPLACE request_analytics_cluster SETTINGS insert_quorum = 'auto';
ALTER ROLE request_analytics_collector SETTINGS PROFILE 'request_analytics_cluster';
ALTER ROLE request_analytics_owner SETTINGS PROFILE 'request_analytics_cluster';

GRANT SELECT ON request_logs_v1_local TO request_analytics_reader;
GRANT SELECT (app_id, timestamp, request_uuid, captured_json) ON request_details_v1_local TO request_analytics_reader;
GRANT SELECT (app_id, request_uuid, timestamp) ON import_ledger_v1_local TO request_analytics_reader;
GRANT SELECT ON spans_v1_local TO request_analytics_reader;
GRANT SELECT (app_id, trace_id, timestamp_ns, span_id, server_span_id, level, message, logger, file, line, attributes, record_hash) ON application_logs_v1_local TO request_analytics_reader;
GRANT SELECT ON percentile_accuracy_v1_local TO request_analytics_reader;
GRANT SELECT ON consumer_coverage_v1_local TO request_analytics_reader;
GRANT SELECT ON counts_per_minute_v1_local TO request_analytics_reader;
GRANT SELECT ON counts_per_15m_v1_local TO request_analytics_reader;
GRANT SELECT ON counts_per_15m_by_consumer_v1_local TO request_analytics_reader;
GRANT SELECT ON counts_per_hour_v1_local TO request_analytics_reader;
GRANT SELECT ON counts_per_day_v1_local TO request_analytics_reader;
GRANT SELECT ON consumer_activity_v1_local TO request_analytics_reader;
GRANT SELECT ON endpoint_activity_v1_local TO request_analytics_reader;
GRANT SELECT ON endpoint_deprecations_v1_local TO request_analytics_reader;
GRANT SELECT ON env_activity_v1_local TO request_analytics_reader;
GRANT SELECT (app_id, slot, app_env_id, is_imported, received_at, routes) ON api_documents_v1_local TO request_analytics_reader;
GRANT SELECT ON instances_v1_local TO request_analytics_reader;
GRANT SELECT ON instance_versions_v1_local TO request_analytics_reader;
GRANT SELECT ON instance_resources_v1_local TO request_analytics_reader;
GRANT SELECT ON error_counts_per_15m_v1_local TO request_analytics_reader;
GRANT SELECT (app_id, fingerprint, app_env_id, timestamp, endpoint_id, consumer_id, kind, type, message, request_uuid, sentry_event_id, trace_id) ON errors_v1_local TO request_analytics_reader;

GRANT SELECT, INSERT ON ingest_batches_v1_local TO request_analytics_collector;
GRANT SELECT ON ingest_messages_v1_local TO request_analytics_collector;
GRANT SELECT (app_id, request_uuid, in_ledger) ON request_details_v1_local TO request_analytics_collector;
GRANT SELECT (app_id, request_uuid) ON import_ledger_v1_local TO request_analytics_collector;
GRANT SELECT (app_id, start_time_ns, trace_id, span_id, parent_span_id, kind, status, attributes, events) ON spans_v1_local TO request_analytics_collector;
GRANT SELECT (app_id, trace_id, timestamp_ns, span_id, server_span_id, attributes) ON application_logs_v1_local TO request_analytics_collector;
GRANT SELECT (app_id, timestamp, request_uuid, app_env_id, endpoint_id, consumer_id, method, status_code, record_json, trace_id, exception_type) ON request_logs_v1_local TO request_analytics_collector;
GRANT SELECT, INSERT ON requests_local TO request_analytics_collector;
GRANT SELECT, INSERT ON request_counts_local TO request_analytics_collector;
GRANT SELECT ON request_sums_local TO request_analytics_collector;
GRANT SELECT, INSERT ON logged_requests_local TO request_analytics_collector;
GRANT SELECT, INSERT ON reported_errors_local TO request_analytics_collector;
GRANT SELECT, INSERT ON instance_reports_local TO request_analytics_collector;
GRANT INSERT ON endpoint_deprecations_v1_local TO request_analytics_collector;
GRANT SELECT (app_id, slot, app_env_id, is_imported, app_version, received_at, hash), INSERT ON api_documents_v1_local TO request_analytics_collector;
GRANT SELECT, INSERT ON logged_spans_local TO request_analytics_collector;
GRANT SELECT, INSERT ON logged_messages_local TO request_analytics_collector;
GRANT SELECT, INSERT ON percentile_accuracy_v1_local TO request_analytics_collector;
GRANT SELECT, INSERT ON counted_instances_v1_local TO request_analytics_collector;
GRANT SELECT, INSERT ON pending_counts_v1_local TO request_analytics_collector;
GRANT SELECT, INSERT ON unassigned_requests_v1_local TO request_analytics_collector;
GRANT SELECT, INSERT ON consumer_coverage_v1_local TO request_analytics_collector;
GRANT SELECT, INSERT ON metric_streams_v1_local TO request_analytics_collector;
GRANT SELECT, INSERT ON counted_records_v1_local TO request_analytics_collector;
GRANT SELECT ON counts_per_minute_v1_local TO request_analytics_collector;
GRANT SELECT ON counts_per_15m_v1_local TO request_analytics_collector;
GRANT SELECT ON counts_per_15m_by_consumer_v1_local TO request_analytics_collector;
GRANT SELECT ON counts_per_hour_v1_local TO request_analytics_collector;
GRANT SELECT ON counts_per_day_v1_local TO request_analytics_collector;
GRANT SELECT ON env_activity_v1_local TO request_analytics_collector;
GRANT SELECT ON error_counts_per_15m_v1_local TO request_analytics_collector;
GRANT SELECT (app_id, fingerprint, app_env_id, timestamp, endpoint_id, consumer_id, kind, type, message, request_uuid, sentry_event_id, trace_id) ON errors_v1_local TO request_analytics_collector;

GRANT CLUSTER, REMOTE ON *.* TO request_analytics_owner;
