import type { ClickHouse } from '../store/client/clickhouse.client.js';
import { StoredDataDamaged } from '../store/client/clickhouse.errors.js';
import { findMissing } from '../store/health/damage.js';
import { listViews, readMigrations } from '../store/migrations/migrate.js';
import { CachedLookup } from '../shared/cached-lookup.js';

/** The check is one short query in this time. */
const REMEMBERED_MS = 5_000;

/**
 * The views that fill the stored tables from the landing tables. If a view is missing, the engine accepts
 * rows without an error, but its table does not get them. So nothing is written until it exists again.
 */
export class LandingViews {
  private readonly missing = new CachedLookup<string[]>(REMEMBERED_MS);
  private expected?: string[];

  constructor(private readonly store: ClickHouse) {}

  /** @throws StoredDataDamaged if a view is missing */
  async requireAll(): Promise<void> {
    const [missing] = await this.missing.find('views', async () => {
      this.expected ??= listViews(await readMigrations());
      return findMissing(this.store, this.expected);
    });
    if (missing !== undefined) throw new StoredDataDamaged(`view ${missing} is missing`);
  }
}
