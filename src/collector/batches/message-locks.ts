import { randomUUID } from 'node:crypto';
import { serviceUnavailable } from '../../http/api-error.js';
import type { RedisCoordinator } from '../../redis/redis-coordinator.js';

/** How long a lock outlives its collector: longer than the store needs to finish the collector's last insert. */
const HELD_MS = 60_000;

/**
 * Prevents two collectors from processing the same message at the same time, as happens when a library retries before the first
 * collector responds. Without Redis there is only one collector, which tracks its messages itself.
 */
export class MessageLocks {
  private readonly owner = randomUUID();

  constructor(private readonly redis: RedisCoordinator | null) {}

  /** @throws ApiError 503 if another collector has the message, StoreUnavailable if Redis is unavailable */
  async acquire(key: string): Promise<void> {
    if ((await this.acquireLock(key)) === 0) throw serviceUnavailable();
  }

  /**
   * Extends the locks of messages in doubt.
   *
   * @throws StoreUnavailable if Redis is unavailable
   */
  async extend(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map((key) => this.acquireLock(key)));
  }

  /** Never rejects: a lock that cannot be released expires. */
  async release(key: string): Promise<void> {
    await this.redis
      ?.call((redis, name) => redis.releaseLocks(1, name(`message:${key}`), this.owner))
      .catch(() => undefined);
  }

  private async acquireLock(key: string): Promise<number | undefined> {
    return this.redis?.call((redis, name) =>
      redis.acquireLocks(1, name(`message:${key}`), this.owner, HELD_MS),
    );
  }
}
