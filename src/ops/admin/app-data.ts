import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import type { Parameters } from '../../store/client/query-parameters.js';
import { chunkForLookup } from '../../shared/chunk.js';
import type { BatchLog } from '../../write/batch-log.js';
import { type StoredTable, buildDelete, findTables } from './stored-tables.js';

const LOG = 'ingest_batches_v1';

const HAS_ROWS = (table: string) => `SELECT 1 AS found FROM ${table} WHERE app_id = {app_id:UInt32} LIMIT 1`;
const DELETE = (table: StoredTable, condition: string) =>
  `${buildDelete(table, condition)}\nSETTINGS mutations_sync = 2`;

/** Highest IDs stay claimed, because clients may have stored them. */
const CLAIM_HIGHEST = (table: string) => `
INSERT INTO id_claims_v1 (table_name, id, claim)
SELECT '${table}', max(id), generateUUIDv4(1) FROM ${table} WHERE app_id = {app_id:UInt32} HAVING max(id) > 0`;
const NAME_TABLES = ['app_envs_v1', 'endpoints_v1', 'consumers_v1', 'consumer_groups_v1'] as const;

/**
 * Batches whose pieces the log no longer needs. A row begins with its app. Some texts in rows match as well,
 * which only deletes pieces of other applied batches.
 */
const APPLIED_BATCHES = `
SELECT DISTINCT batch_id FROM ingest_batches_v1
WHERE piece > 0
  AND match(payload, format('\\\\[{0}[,\\\\]]', toString({app_id:UInt32})))
  AND batch_id IN (SELECT batch_id FROM ingest_batches_v1 WHERE piece = 0 AND applied = 1)`;
const PIECES = 'piece > 0 AND applied = 0 AND batch_id IN {batch_ids:Array(UUID)}';

/** Batches of this age are applied; applying them again would change nothing. */
const APPLIED_WITHIN_SECONDS = 5;
/** Rows of earlier work may still arrive. */
const MAX_PASSES = 5;
const TIMEOUT_MS = 6 * 3_600_000;

/**
 * Deletes all data of an app: from the write-ahead log, its names and every row with the app's ID. The app
 * must not receive data any more. The deletion can be repeated after an interruption.
 *
 * @param isOpenElsewhere whether other processes write to the store
 * @throws Error if data of the app still arrives
 */
export async function deleteAppData(
  store: ClickHouse,
  app_id: number,
  batches: BatchLog,
  isOpenElsewhere: boolean,
): Promise<void> {
  const run = (name: string, sql: string, params: Parameters) =>
    store.command(sql, params, { name, timeoutMs: TIMEOUT_MS });
  const tables = await findTables(store, 'app_id', 'batch_id');
  // Otherwise unapplied batches of a dead process would bring data back later.
  await batches.recover(isOpenElsewhere ? APPLIED_WITHIN_SECONDS : 0);
  const applied = await store.rows<{ batch_id: string }>('batches.of_app', APPLIED_BATCHES, { app_id });
  const batch_ids = applied.map(({ batch_id }) => batch_id);
  const log = tables.find(({ name }) => name === LOG);
  if (log)
    for (const some of chunkForLookup(batch_ids))
      await run('batches.delete_pieces', DELETE(log, PIECES), { batch_ids: some });
  for (const table of NAME_TABLES) await run('ids.claim', CLAIM_HIGHEST(table), { app_id });
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    let isEmpty = true;
    for (const table of tables.filter(({ name }) => name !== LOG)) {
      if ((await store.rows('tables.has_app', HAS_ROWS(table.name), { app_id })).length === 0) continue;
      isEmpty = false;
      await run(`${table.name}.delete_app`, DELETE(table, 'app_id = {app_id:UInt32}'), { app_id });
    }
    if (isEmpty) return;
  }
  throw new Error(`Data of app ${app_id} still arrives: stop imports into it, and delete it again`);
}
