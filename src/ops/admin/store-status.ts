import type { ClickHouse } from '../../store/client/clickhouse.client.js';

/** The stored rows of one kind. */
interface StoredRow {
  kind: string;
  rows: number;
  /** Time of the oldest row; null without rows. */
  since: string | null;
}

interface SyncRow {
  app_id: number;
  app: string;
  env_id: number;
  env: string;
  /** When data of the environment arrived last; null: never. */
  last_sync_at: string | null;
}

interface TableRow {
  table: string;
  rows: number;
  bytes: number;
  parts: number;
}

const STORED_TABLES = [
  ['request logs', 'request_logs_v1', 'timestamp'],
  ['request details', 'request_details_v1', 'timestamp'],
  ['traffic by quarter-hour', "counts_per_15m_v1 WHERE measure = 'requests'", 'bucket'],
  ['traffic by day', "counts_per_day_v1 WHERE measure = 'requests'", 'bucket'],
  ['errors', 'errors_v1', 'timestamp'],
  ['spans', 'spans_v1', 'fromUnixTimestamp64Nano(start_time_ns)'],
  ['application logs', 'application_logs_v1', 'fromUnixTimestamp64Nano(timestamp_ns)'],
  ['teams', 'teams_v1 FINAL', 'created_at'],
  ['apps', 'apps_v1 FINAL', 'created_at'],
  ['API keys', 'api_keys_v1 FINAL', 'created_at'],
  ['endpoints', 'endpoints_v1 FINAL', 'created_at'],
  ['consumers', 'consumers_v1 FINAL', 'created_at'],
] as const;

/** A table without rows has no oldest row. */
const stored = (kind: string, table: string, oldest: string, position: number) => `
SELECT ${position} AS position, '${kind}' AS kind, count() AS rows, if(count() = 0, NULL, toDateTime64(min(${oldest}), 3, 'UTC')) AS since FROM ${table}`;

const STORED = `SELECT kind, rows, since FROM (${STORED_TABLES.map(([kind, table, oldest], position) => stored(kind, table, oldest, position)).join(' UNION ALL ')}
) ORDER BY position`;

const SYNCS = `
SELECT e.app_id AS app_id, a.name AS app, e.id AS env_id, e.name AS env,
  if(s.at = toDateTime64(0, 3), NULL, s.at) AS last_sync_at
FROM app_envs_v1 AS e FINAL
INNER JOIN apps_v1 AS a FINAL ON a.id = e.app_id
LEFT JOIN (
  SELECT app_id, app_env_id, max(last_sync_at) AS at FROM env_activity_v1 GROUP BY app_id, app_env_id
) AS s ON s.app_id = e.app_id AND s.app_env_id = e.id
ORDER BY app_id, env_id`;

const TABLES = `
SELECT name AS table, total_rows AS rows, total_bytes AS bytes, active_parts AS parts
FROM system.tables
WHERE database = currentDatabase() AND endsWith(engine, 'MergeTree')
ORDER BY bytes DESC, table`;

/** The contents of the store; for tables of a cluster, the rows on the node that executes the query. */
export async function readStatus(
  store: ClickHouse,
): Promise<{ stored: StoredRow[]; environments: SyncRow[]; tables: TableRow[] }> {
  return {
    stored: await store.rows<StoredRow>('status.stored', STORED),
    environments: await store.rows<SyncRow>('status.syncs', SYNCS),
    tables: await store.rows<TableRow>('status.tables', TABLES),
  };
}
