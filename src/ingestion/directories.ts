import type { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { Directory } from './directory.js';
import { type IdSource, Ids } from './ids.js';
import { RedisIds } from './redis.ids.js';
import type { SharedRedis } from './shared-redis.js';

const perStore = new WeakMap<ClickHouse, Directories>();

/** The directories of all apps that this process writes to. */
export class Directories {
  private readonly loaded = new Map<number, Promise<Directory>>();

  constructor(
    private readonly store: ClickHouse,
    private readonly ids: IdSource,
  ) {}

  /** Those of one of several processes that write names, which agree on Redis; without it, see `of`. */
  static shared(store: ClickHouse, redis: SharedRedis | null): Directories {
    return redis ? new Directories(store, new RedisIds(store, redis)) : Directories.of(store);
  }

  /** Those of a process that is the only one to write names; every writer in it shares them. */
  static of(store: ClickHouse): Directories {
    const directories = perStore.get(store) ?? new Directories(store, Ids.of(store));
    perStore.set(store, directories);
    return directories;
  }

  get(appId: number): Promise<Directory> {
    const known = this.loaded.get(appId);
    if (known) return known;
    const loading = Directory.load(this.store, this.ids, appId);
    this.loaded.set(appId, loading);
    loading.catch(() => this.loaded.delete(appId));
    return loading;
  }
}
