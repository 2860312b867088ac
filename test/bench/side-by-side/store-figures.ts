/**
 * What is in a store of the product, once batches that a dead process left are applied, as a start of the
 * product does; with the argument `merge`, after all merges. Prints `StoreFigures` as JSON.
 */
import { Config } from '../../../src/config/config.js';
import { ClickHouse } from '../../../src/store/client/clickhouse.client.js';
import { RequestsWriter } from '../../../src/write/requests.writer.js';
import type { Requests } from './keeper.js';

const STATEMENT_WITHIN_MS = 3_600_000;

export interface StoreFigures extends Requests {
  /** Of all parts. */
  bytes: number;
}

const TABLES = `
SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'`;
const FIGURES = `
SELECT (SELECT sum(n) FROM counts_per_day_v1 WHERE measure = 'requests') AS counted, (SELECT count() FROM request_logs_v1) AS kept,
  (SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase()) AS bytes`;

const store = await ClickHouse.open(new Config());
try {
  await RequestsWriter.create(store).recover(0);
  if (process.argv[2] === 'merge')
    for (const { name } of await store.rows<{ name: string }>('tables', TABLES))
      await store.command(`OPTIMIZE TABLE ${name} FINAL`, undefined, { timeoutMs: STATEMENT_WITHIN_MS });
  const [figures] = await store.rows<StoreFigures>('figures', FIGURES);
  process.stdout.write(JSON.stringify(figures));
} finally {
  await store.close();
}
