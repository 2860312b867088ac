import { randomUUID } from 'node:crypto';
import { serviceUnavailable } from '../../platform/http/api-error.js';
import type { WriterCoordinator } from '../../coordination/writer-coordinator.js';

/**
 * How long a lock outlives its collector: longer than the store needs to finish the collector's last insert.
 */
const HELD_MS = 60_000;

/**
 * Prevents two collectors from processing the same message at the same time. This happens when a library
 * retries before the first collector responds.
 */
export class MessageLocks {
  private readonly owner = randomUUID();

  constructor(private readonly coordinator: WriterCoordinator) {}

  /**
   * @throws ApiError 503 if another collector has the message, StoreUnavailable if the coordinator is
   * unavailable
   */
  async acquire(key: string): Promise<void> {
    if (!(await this.lock(key))) throw serviceUnavailable();
  }

  /**
   * Extends the locks of messages in doubt.
   *
   * @throws StoreUnavailable if the coordinator is unavailable
   */
  async extend(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map((key) => this.lock(key)));
  }

  /** Never rejects: a lock that cannot be released expires. */
  async release(key: string): Promise<void> {
    await this.coordinator.releaseLocks([toLock(key)], this.owner).catch(() => undefined);
  }

  private lock(key: string): Promise<boolean> {
    return this.coordinator.acquireLocks([toLock(key)], this.owner, HELD_MS);
  }
}

function toLock(key: string): string {
  return `message:${key}`;
}
