import type { ClickHouse } from '../../../src/store/client/clickhouse.client.js';

const SETTLED_AFTER_MS = 5_000;
const SETTLE_WITHIN_MS = 900_000;

/** Waits until the engine has merged what it wants to merge. */
export async function settled(store: ClickHouse) {
  const deadline = Date.now() + SETTLE_WITHIN_MS;
  let quietSince = Date.now();
  while (Date.now() - quietSince < SETTLED_AFTER_MS && Date.now() < deadline) {
    const [row] = await store.rows<{ merges: number }>(
      'merges',
      'SELECT count() AS merges FROM system.merges',
    );
    if (row?.merges !== 0) quietSince = Date.now();
    await new Promise((ok) => setTimeout(ok, 250));
  }
}
