import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { AppRows, REMEMBERED_MS } from './app-rows.js';

/** How long a process may not know of an erasure, and time for a batch with names from just before. */
export const ERASURES_KNOWN_AFTER_MS = REMEMBERED_MS + 1_000;

/** In SQL, the name of a consumer during and after its erasure. Its ID keeps the counts. */
export const ERASING_NAME = "concat('erasing-', toString(id))";
export const ERASED_NAME = "concat('erased-', toString(id))";
/** In SQL, whether a row belongs to an erased consumer. */
export const IS_ERASED = `(identifier = ${ERASING_NAME} OR identifier = ${ERASED_NAME})`;

const LAST_ERASURES = `
SELECT app_id, toString(max(updated_at)) AS erased_at FROM consumers_v1
WHERE app_id IN {app_ids:Array(UInt32)} AND ${IS_ERASED} GROUP BY app_id`;

/** When a consumer of an app was last erased. Cached names from before that time may not exist any more. */
export class ErasedConsumers {
  private readonly erasures: AppRows<{ app_id: number; erased_at: string }>;
  private readonly seen = new Map<number, string>();

  constructor(store: ClickHouse) {
    this.erasures = new AppRows(store, 'consumers.last_erasures', LAST_ERASURES);
  }

  /**
   * Whether a consumer of the app was erased since the last call; also at the first call after an erasure.
   */
  async hasNew(appId: number): Promise<boolean> {
    const [erasure] = await this.erasures.find(appId);
    if (!erasure || this.seen.get(appId) === erasure.erased_at) return false;
    this.seen.set(appId, erasure.erased_at);
    return true;
  }
}
