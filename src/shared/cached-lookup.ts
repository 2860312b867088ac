import type { LRUCache } from 'lru-cache';
import { createCache } from './create-cache.js';

const MAX_KEYS = 10_000;

interface Entry<Value> {
  readonly lookup: Promise<Value>;
  /** The result of the lookup; undefined while it runs. */
  value?: Value;
}

/**
 * Caches the results of lookups by key. `ttlMs` milliseconds count from the start of the lookup, because even
 * a slow response is as old as its query. Concurrent callers share one lookup. Errors and `undefined` are not
 * cached. LRU of 10,000 keys.
 */
export class CachedLookup<Value> {
  private readonly entries?: LRUCache<string, Entry<Value>>;

  /** @param ttlMs 0: nothing is cached or shared. */
  constructor(ttlMs: number) {
    // By default lru-cache reads the clock once a millisecond, and in a busy event loop far less often.
    if (ttlMs > 0) this.entries = createCache(MAX_KEYS, { ttl: ttlMs, ttlResolution: 0 });
  }

  /** The cached value, or the result of `load`. Rejects as `load` does. */
  find(key: string, load: () => Promise<Value>): Promise<Value> {
    return this.entries?.get(key)?.lookup ?? this.start(key, load);
  }

  /** The cached value; undefined if there is none or its lookup still runs. */
  peek(key: string): Value | undefined {
    return this.entries?.get(key)?.value;
  }

  /** The next `find` looks it up again. */
  forget(key: string): void {
    this.entries?.delete(key);
  }

  private async start(key: string, load: () => Promise<Value>): Promise<Value> {
    const entry: Entry<Value> = { lookup: load() };
    this.entries?.set(key, entry);
    try {
      entry.value = await entry.lookup;
      return entry.value;
    } finally {
      // After the TTL another lookup may have replaced it.
      if (entry.value === undefined && this.entries?.peek(key) === entry) this.entries.delete(key);
    }
  }
}
