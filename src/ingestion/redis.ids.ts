import type { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { type IdSource, type Numbered, highestId, withinIds } from './ids.js';
import type { SharedRedis } from './shared-redis.js';

/** Gives IDs to any number of processes that write to one store: a name has one ID, whoever asks for it. */
export class RedisIds implements IdSource {
  readonly isShared = true;
  /** Tables whose highest ID Redis was told by this process: somebody may have written without it before. */
  private readonly begun = new Set<Numbered>();

  constructor(
    private readonly store: ClickHouse,
    private readonly redis: SharedRedis,
  ) {}

  /** @throws StoreUnavailable when Redis cannot give one: an ID is never guessed */
  async idOf(table: Numbered, appId: number, name: string): Promise<number> {
    const given = this.begun.has(table) ? await this.ask(table, appId, name) : 0;
    const id = given === 0 ? await this.begin(table, appId, name) : given;
    return withinIds(table, id);
  }

  private async begin(table: Numbered, appId: number, name: string): Promise<number> {
    const id = await this.ask(table, appId, name, await highestId(this.store, table));
    this.begun.add(table);
    return id;
  }

  private ask(table: Numbered, appId: number, name: string, highest?: number): Promise<number> {
    return this.redis.ask((redis, key) =>
      redis.giveId(key(`ids:${table}:last`), key(`ids:${table}:${appId}`), name, highest?.toString() ?? ''),
    );
  }
}
