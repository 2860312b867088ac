import 'reflect-metadata';
import { createAdmin } from '../../../src/ops/admin/admin.js';
import { ClickHouse } from '../../../src/store/client/clickhouse.client.js';
import { migrate } from '../../../src/store/migrations/migrate.js';
import { trafficRetainedFrom } from '../../../src/config/retention.js';
import { Config } from '../../../src/config/config.js';
import { serve } from '../rpc.js';
import { insertExportRows } from './exports.sql.js';
import { insertNames } from './names.sql.js';
import { insertErrors, insertInstances } from './reports.sql.js';
import { insertRequests } from './requests.sql.js';
import { settled } from './settled.js';
import { CAPTURED, EXPORT_APP, LOG_DAYS, TEAM_KEY } from './shape.js';
import { type Past, insertCounts, insertCountsByConsumer } from './traffic.sql.js';

const DAY_MS = 86_400_000;
const QUARTER_MS = 900_000;
/** Rows of one INSERT … SELECT: a partition's worth at most, so that memory stays bounded. */
const SLICE = 2_000_000;
/** The newest rows come as a live service takes them: in small blocks. */
const YOUNG_BLOCK = 10_000;
const YOUNG_BLOCKS = 10;
const STATEMENT_WITHIN_MS = 7_200_000;

/** Builds the data set in `DATA_DIR` and waits until the engine has merged what it wants to merge. */
async function build(rows: number, anchor: number, exportRows?: number): Promise<void> {
  const store = await ClickHouse.open(new Config());
  try {
    await migrate(store);
    await writeAccounts(store, anchor);
    const start = anchor - LOG_DAYS * DAY_MS;
    const past: Past = {
      from: Math.floor(trafficRetainedFrom(anchor) / QUARTER_MS) * QUARTER_MS,
      to: Math.floor(start / QUARTER_MS) * QUARTER_MS,
      requestsPerQuarter: rows / ((LOG_DAYS * DAY_MS) / QUARTER_MS),
    };
    for (const statement of [...insertCounts(past), insertCountsByConsumer(past, rows)])
      await run(store, statement);
    const old = rows - YOUNG_BLOCK * YOUNG_BLOCKS;
    for (const [from, to] of [...toSlices(0, old, SLICE), ...toSlices(old, rows, YOUNG_BLOCK)]) {
      if (from === old) await mergeOld(store);
      const capturedEach = Math.max(1, Math.floor(rows / CAPTURED));
      await run(store, insertRequests({ from, to, rows, start, spanMs: anchor - start, capturedEach }));
      await run(store, insertErrors({ from, to, start, stepMs: (anchor - start) / rows }));
    }
    await run(store, insertInstances(start, anchor - start));
    if (exportRows !== undefined)
      for (const statement of insertExportRows(exportRows, rows)) await run(store, statement);
    await settled(store);
    await mergeClosed(store);
  } finally {
    await store.close();
  }
}

/** On a busy machine a statement of the data set takes minutes. */
function run(store: ClickHouse, statement: string): Promise<void> {
  return store.command(statement, undefined, { timeoutMs: STATEMENT_WITHIN_MS });
}

async function writeAccounts(store: ClickHouse, anchor: number) {
  const createdAt = anchor - 400 * DAY_MS;
  const admin = createAdmin(store);
  const { id } = await admin.teams.create('Acme', 'premium', createdAt);
  await admin.keys.create(id, { key: TEAM_KEY });
  for (let app = 1; app <= EXPORT_APP; app++) await admin.apps.create(id, `App ${app}`, 'express', createdAt);
  for (const statement of insertNames(createdAt)) await store.command(statement);
}

function* toSlices(
  start: number,
  end: number,
  length: number,
): Generator<readonly [from: number, to: number]> {
  for (let from = start; from < end; from += length) yield [from, Math.min(end, from + length)];
}

const MERGED_BY_AGE = `
SELECT name FROM system.tables
WHERE database = currentDatabase() AND create_table_query LIKE '%min_age_to_force_merge_on_partition_only = 0%'`;

/**
 * What the settings of the tables of hours and days do an hour after the last row; the benchmark does not
 * wait for it.
 */
async function mergeOld(store: ClickHouse) {
  for (const { name } of await store.rows<{ name: string }>('merged_by_age', MERGED_BY_AGE))
    await run(store, `OPTIMIZE TABLE ${name} FINAL`);
}

const CLOSED = `
SELECT table, partition_id FROM system.parts
WHERE active AND database = currentDatabase() AND match(table, '^(request|counts)_')
GROUP BY table, partition_id
HAVING count() > 1 AND (table, partition_id) NOT IN (
  SELECT table, max(partition_id) FROM system.parts WHERE active AND database = currentDatabase() GROUP BY table
)`;

/** The same for the other tables, which merge a partition an hour after its last row. */
async function mergeClosed(store: ClickHouse) {
  const partitions = await store.rows<{ table: string; partition_id: string }>('closed', CLOSED);
  for (const { table, partition_id } of partitions)
    await run(store, `OPTIMIZE TABLE ${table} PARTITION ID '${partition_id}' FINAL`);
}

const handlers = { build };
export type BuildHandlers = typeof handlers;

serve(handlers);
process.once('disconnect', () => process.exit(0));
