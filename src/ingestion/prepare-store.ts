import type { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { migrate } from '../clickhouse/migrate.js';
import { BatchLog } from './batch-log.js';

/**
 * Brings the embedded store to this version's schema and applies what a process that died left in its batch log. This
 * process is the only one that has the store, so nothing there is under way. On a server both are done elsewhere: by
 * `migrate`, and by the collectors and imports.
 *
 * @returns the batches that the engine refuses, by ID, and why
 */
export async function prepareStore(store: ClickHouse): Promise<ReadonlyMap<string, unknown>> {
  if (store.kind !== 'embedded') return new Map();
  await migrate(store);
  const { refused } = await new BatchLog(store).recover(0);
  return refused;
}
