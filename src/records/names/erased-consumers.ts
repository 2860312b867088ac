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

const LAST_ERASURE = `
SELECT toString(max(updated_at)) AS erased_at FROM consumers_v1 WHERE app_id = {app_id:UInt32} AND ${IS_ERASED}`;
/** Stands for the time if no consumer was erased. */
const NEVER = '1970-01-01';

/** When a consumer of an app was last erased. Cached names from before that time may not exist any more. */
export class ErasedConsumers {
  private readonly cache = new CachedLookup<string>(REMEMBERED_MS);
  private readonly seen = new Map<number, string>();

  constructor(private readonly store: ClickHouse) {}

  /**
   * Whether a consumer of the app was erased since the last call; also at the first call after an erasure.
   */
  async hasNew(appId: number): Promise<boolean> {
    const erasedAt = await this.cache.find(String(appId), () => this.load(appId));
    if (erasedAt.startsWith(NEVER) || this.seen.get(appId) === erasedAt) return false;
    this.seen.set(appId, erasedAt);
    return true;
  }

  private async load(appId: number): Promise<string> {
    const [row] = await this.store.rows<{ erased_at: string }>('consumers.last_erasure', LAST_ERASURE, {
      app_id: appId,
    });
    return row?.erased_at ?? NEVER;
  }
}
