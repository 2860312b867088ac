import type { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { StoreUnavailable } from '../clickhouse/clickhouse.errors.js';
import { migrate } from '../clickhouse/migrations/migrate.js';
import { BatchLog } from '../ingestion/batch-log.js';

/** What became known of the store on the way. */
export interface PreparedStore {
  /** The store was made just now: nothing is in it. */
  isNew: boolean;
  /** What is left over of unapplied batches, each in a line. */
  problems: string[];
}

/**
 * Brings the embedded store to this version's schema and applies what a process that died left in its batch log. This
 * process is the only one that has the store, so nothing there is under way. On a server both are done elsewhere: by
 * `migrate`, and by the collectors and imports.
 * A log that cannot be read does not keep the rest from being served.
 */
export async function prepareStore(store: ClickHouse): Promise<PreparedStore> {
  if (store.kind !== 'embedded') return { isNew: false, problems: [] };
  const [first] = await migrate(store);
  return { isNew: first?.version === 1, problems: await recover(new BatchLog(store)) };
}

async function recover(log: BatchLog): Promise<string[]> {
  try {
    const { refused } = await log.recover(0);
    return [...refused].map(([batch, why]) => `batch ${batch} cannot be applied: ${String(why)}`);
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    return [`incomplete batches cannot be applied: ${error.message}`];
  }
}
