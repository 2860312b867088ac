import { randomUUID } from 'node:crypto';
import { serviceUnavailable } from '../../http/api-error.js';
import type { RedisCoordinator } from '../../redis/redis-coordinator.js';

/** How long a message stays taken when its collector dies: longer than the store may take over what it left behind. */
const HELD_MS = 60_000;

/**
 * Keeps two collectors from taking the same message at the same time, when a library's patience ends before the first
 * one's answer. Without Redis there is one collector, which knows itself what it is taking.
 */
export class MessageLocks {
  private readonly owner = randomUUID();

  constructor(private readonly redis: RedisCoordinator | null) {}

  /** @throws ApiError 503 when another collector has the message, StoreUnavailable when Redis cannot tell */
  async acquire(key: string): Promise<void> {
    if ((await this.acquireLock(key)) === 0) throw serviceUnavailable();
  }

  /**
   * Goes on holding messages whose fate is open.
   *
   * @throws StoreUnavailable when Redis cannot tell
   */
  async extend(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map((key) => this.acquireLock(key)));
  }

  /** Never rejects: what cannot be released ends by itself. */
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
