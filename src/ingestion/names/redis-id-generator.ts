import type { ClickHouse } from '../../clickhouse/clickhouse.client.js';
import type { RedisCoordinator } from '../../redis/redis-coordinator.js';
import { type IdGenerator, type NameTableName, findHighestId, requireId } from './id-generator.js';

/**
 * TTL of a name's ID in Redis. By then the name is in the store, which is queried first, so Redis
 * does not grow with the names of all apps.
 */
const REMEMBERED_SECONDS = 3_600;

/** Assigns IDs for several processes that write to one store: a name gets the same ID in all of them. */
export class RedisIdGenerator implements IdGenerator {
  readonly isShared = true;
  /** Tables whose highest ID this process has sent to Redis, because other processes may have written without Redis before. */
  private readonly initialised = new Set<NameTableName>();

  constructor(
    private readonly store: ClickHouse,
    private readonly redis: RedisCoordinator,
  ) {}

  /** @throws StoreUnavailable if Redis is unavailable; an ID is never guessed */
  async allocate(table: NameTableName, appId: number, names: readonly string[]): Promise<number[]> {
    // Commands are executed in the order in which they are sent.
    const ids = await Promise.all(names.map((name) => this.request(table, appId, name)));
    for (const [index, id] of ids.entries())
      if (id === 0) ids[index] = await this.initialise(table, appId, names[index] ?? '');
    return ids.map((id) => requireId(table, id));
  }

  /** 0 if Redis has no counter. */
  private request(table: NameTableName, appId: number, name: string): Promise<number> {
    return this.initialised.has(table) ? this.call(table, appId, name) : Promise.resolve(0);
  }

  private async initialise(table: NameTableName, appId: number, name: string): Promise<number> {
    if (this.initialised.has(table)) {
      const id = await this.call(table, appId, name);
      if (id !== 0) return id;
    }
    const id = await this.call(table, appId, name, await findHighestId(this.store, table));
    this.initialised.add(table);
    return id;
  }

  private call(table: NameTableName, appId: number, name: string, highest?: number): Promise<number> {
    return this.redis.call((redis, key) =>
      redis.allocateId(
        key(`ids:${table}:last`),
        key(`ids:${table}:${appId}:${name}`),
        highest?.toString() ?? '',
        REMEMBERED_SECONDS,
      ),
    );
  }
}
