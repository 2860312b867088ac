import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { CachedLookup } from '../../shared/cached-lookup.js';

/** Within this time each process notices an erasure. */
const REMEMBERED_MS = 5_000;
/** The same time, and time for a batch whose names were looked up just before. */
export const ERASURES_KNOWN_AFTER_MS = REMEMBERED_MS + 1_000;

/** In SQL, the name of a consumer during and after its erasure. Its ID keeps the counts. */
export const ERASING_NAME = "concat('erasing-', toString(id))";
export const ERASED_NAME = "concat('erased-', toString(id))";
/** In SQL, whether a row belongs to an erased consumer. */
export const IS_ERASED = `(identifier = ${ERASING_NAME} OR identifier = ${ERASED_NAME})`;

/** Of all apps, because a query for each app that sends takes several milliseconds of processor time. */
const LAST_ERASURES = `
SELECT app_id, toString(max(updated_at)) AS erased_at FROM consumers_v1
WHERE startsWith(identifier, 'eras') AND ${IS_ERASED} GROUP BY app_id`;

/** When a consumer of an app was last erased. Cached names from before that time may not exist any more. */
export class ErasedConsumers {
  private readonly cache = new CachedLookup<ReadonlyMap<number, string>>(REMEMBERED_MS);
  private readonly seen = new Map<number, string>();

  constructor(private readonly store: ClickHouse) {}

  /**
   * Whether a consumer of the app was erased since the last call; also at the first call after an erasure.
   */
  async hasNew(appId: number): Promise<boolean> {
    const erasedAt = (await this.cache.find('', () => this.load())).get(appId);
    if (erasedAt === undefined || this.seen.get(appId) === erasedAt) return false;
    this.seen.set(appId, erasedAt);
    return true;
  }

  private async load(): Promise<ReadonlyMap<number, string>> {
    const rows = await this.store.rows<{ app_id: number; erased_at: string }>(
      'consumers.last_erasures',
      LAST_ERASURES,
    );
    return new Map(rows.map(({ app_id, erased_at }) => [app_id, erased_at]));
  }
}
