import { Redis, type Result } from 'ioredis';
import { StoreUnavailable } from '../store/client/clickhouse.errors.js';
import { chunkForLookup } from '../shared/chunk.js';
import type { Config } from '../config/config.js';
import type { WriterCoordinator } from './writer-coordinator.js';

declare module 'ioredis' {
  interface RedisCommander<Context> {
    allocateId(
      lastKey: string,
      nameKey: string,
      highest: string,
      rememberedSeconds: number,
    ): Result<number, Context>;
    /** `keysOwnerAndMs`: the keys, the owner, and how long the locks last in milliseconds. */
    acquireLocks(count: number, ...keysOwnerAndMs: (string | number)[]): Result<number, Context>;
    releaseLocks(count: number, ...keysAndOwner: string[]): Result<number, Context>;
    beginWrite(writesKey: string, pauseKey: string, owner: string, ms: number): Result<number, Context>;
    pauseWrites(writesKey: string, pauseKey: string, owner: string, ms: number): Result<number, Context>;
  }
}

/**
 * Gap in the IDs after Redis lost its counters, so that assigned IDs that are not in the store yet are not
 * reused.
 */
const JUMP = 1_000;

/**
 * TTL of a name's ID in Redis. When it expires, the name is in the store, which is queried first. So Redis
 * does not grow with the names of all apps.
 */
const REMEMBERED_SECONDS = 3_600;

/**
 * The ID of a name: the one assigned before, else the next. 0 if the counter is unknown and the caller must
 * pass the store's highest ID; that ID is also used if it is higher, as after an import without Redis.
 */
const ALLOCATE_ID = `
local known = redis.call('GET', KEYS[2])
if known then
  return tonumber(known)
end
local last = tonumber(redis.call('GET', KEYS[1]))
local highest = tonumber(ARGV[1])
if not last then
  if not highest then
    return 0
  end
  last = highest
  if highest > 0 then
    last = highest + ${JUMP}
  end
elseif highest and highest > last then
  last = highest
end
redis.call('SET', KEYS[1], last + 1)
redis.call('SET', KEYS[2], last + 1, 'EX', ARGV[2])
return last + 1`;

/** Returns 1 if the owner now has all locks; 0, without a change, if another owner has one of them. */
const ACQUIRE_LOCKS = `
for _, key in ipairs(KEYS) do
  local holder = redis.call('GET', key)
  if holder and holder ~= ARGV[1] then
    return 0
  end
end
for _, key in ipairs(KEYS) do
  redis.call('SET', key, ARGV[1], 'PX', ARGV[2])
end
return 1`;

const RELEASE_LOCKS = `
for _, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then
    redis.call('DEL', key)
  end
end
return 1`;

/** Writes are members of a sorted set. The score is their expiry in milliseconds of the clock of Redis. */
const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

const BEGIN_WRITE = `${NOW}
if redis.call('EXISTS', KEYS[2]) == 1 and not redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  return 0
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
return 1`;

const PAUSE_WRITES = `${NOW}
local holder = redis.call('GET', KEYS[2])
if holder and holder ~= ARGV[1] then
  return -1
end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
return redis.call('ZCARD', KEYS[1])`;

const SCRIPTS = {
  allocateId: { lua: ALLOCATE_ID, numberOfKeys: 2 },
  acquireLocks: { lua: ACQUIRE_LOCKS },
  releaseLocks: { lua: RELEASE_LOCKS },
  beginWrite: { lua: BEGIN_WRITE, numberOfKeys: 2 },
  pauseWrites: { lua: PAUSE_WRITES, numberOfKeys: 2 },
};

/** The Redis that coordinates processes that write to one store. If it is unavailable, so are writes: 503. */
export class RedisCoordinator implements WriterCoordinator {
  private readonly redis: Redis;

  private constructor(
    url: string,
    private readonly prefix: string,
  ) {
    this.redis = new Redis(url, {
      connectTimeout: 1_000,
      commandTimeout: 1_000,
      // Most commands write no rows.
      lazyConnect: true,
      maxRetriesPerRequest: 0,
      retryStrategy: (attempt) => Math.min(attempt * 50, 500),
      scripts: SCRIPTS,
    });
    // Each failed command reports its own error.
    this.redis.on('error', () => undefined);
  }

  /**
   * Connects to the configured Redis. Returns null if none is configured: then only one process may write.
   */
  static create({ redisUrl, clickhouse }: Config): RedisCoordinator | null {
    // One Redis may serve several stores.
    return redisUrl === undefined ? null : new RedisCoordinator(redisUrl, `ra:${clickhouse.database}:`);
  }

  async allocateIds(sequence: string, names: readonly string[], highest?: number): Promise<number[]> {
    const { prefix } = this;
    const sequenceKey = `${prefix}ids:${sequence}`;
    // Commands are executed in the order in which they are sent.
    return this.call((redis) =>
      Promise.all(
        names.map((name) =>
          redis.allocateId(
            `${sequenceKey}:last`,
            `${sequenceKey}:${name}`,
            highest?.toString() ?? '',
            REMEMBERED_SECONDS,
          ),
        ),
      ),
    );
  }

  async acquireLocks(keys: readonly string[], owner: string, ms: number): Promise<boolean> {
    for (const some of chunkForLookup(keys)) {
      const names = some.map((key) => `${this.prefix}${key}`);
      if ((await this.call((redis) => redis.acquireLocks(names.length, ...names, owner, ms))) === 0)
        return false;
    }
    return true;
  }

  async releaseLocks(keys: readonly string[], owner: string): Promise<void> {
    for (const some of chunkForLookup(keys)) {
      const names = some.map((key) => `${this.prefix}${key}`);
      await this.call((redis) => redis.releaseLocks(names.length, ...names, owner));
    }
  }

  async beginWrite(owner: string, ms: number): Promise<boolean> {
    return (await this.call((redis) => redis.beginWrite(this.writesKey, this.pauseKey, owner, ms))) === 1;
  }

  async endWrite(owner: string): Promise<void> {
    await this.call((redis) => redis.zrem(this.writesKey, owner));
  }

  pauseWrites(owner: string, ms: number): Promise<number> {
    return this.call((redis) => redis.pauseWrites(this.writesKey, this.pauseKey, owner, ms));
  }

  async resumeWrites(owner: string): Promise<void> {
    await this.call((redis) => redis.releaseLocks(1, this.pauseKey, owner));
  }

  close() {
    this.redis.disconnect();
  }

  private get writesKey(): string {
    return `${this.prefix}writes`;
  }

  private get pauseKey(): string {
    return `${this.prefix}writes:pause`;
  }

  /** @throws StoreUnavailable if Redis does not respond, or responds with an error */
  private async call<T>(command: (redis: Redis) => Promise<T>): Promise<T> {
    try {
      return await command(this.redis);
    } catch (error) {
      throw new StoreUnavailable('Redis, which coordinates writers, is not available', { cause: error });
    }
  }
}
