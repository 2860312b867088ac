import type { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { StoreUnavailable } from '../clickhouse/clickhouse.errors.js';
import { migrate } from '../clickhouse/migrations/migrate.js';
import { BatchLog } from '../ingestion/batch-log.js';

/** Result of preparing the store. */
export interface PreparedStore {
  /** The store was just created and is empty. */
  isNew: boolean;
  /** One line for each batch that cannot be applied. */
  problems: string[];
}

/**
 * Migrates the embedded store and replays unapplied batches of its batch log. Only this process has the store open, so no
 * batch is in flight. On a server, `migrate` does the first, and collectors and imports do the second.
 * An unreadable log does not prevent the start.
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
