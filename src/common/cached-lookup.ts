import { LRUCache } from 'lru-cache';

const MAX_KEYS = 10_000;

interface Entry<Value> {
  readonly lookup: Promise<Value>;
  /** What the lookup resolved to; undefined while it runs. */
  value?: Value;
}

/**
 * Remembers the results of lookups by key for `ttlMs` milliseconds, counted from the start of the lookup: a result is as
 * old as its query, however long the store took to answer. Concurrent callers share one lookup. Errors and `undefined` are
 * not remembered. Holds 10,000 keys; the least recently used one is dropped first.
 */
export class CachedLookup<Value> {
  private readonly entries?: LRUCache<string, Entry<Value>>;

  /** @param ttlMs 0: nothing is remembered or shared. */
  constructor(ttlMs: number) {
    // By default lru-cache reads the clock once a millisecond, and in a busy event loop far less often.
    if (ttlMs > 0) this.entries = new LRUCache({ max: MAX_KEYS, ttl: ttlMs, ttlResolution: 0 });
  }

  /** The remembered value, or what `load` resolves to. Rejects as `load` does. */
  find(key: string, load: () => Promise<Value>): Promise<Value> {
    return this.entries?.get(key)?.lookup ?? this.start(key, load);
  }

  /** The remembered value; undefined when there is none or its lookup still runs. */
  peek(key: string): Value | undefined {
    return this.entries?.get(key)?.value;
  }

  private async start(key: string, load: () => Promise<Value>): Promise<Value> {
    const entry: Entry<Value> = { lookup: load() };
    this.entries?.set(key, entry);
    try {
      entry.value = await entry.lookup;
      return entry.value;
    } finally {
      // After the TTL another lookup may have taken its place.
      if (entry.value === undefined && this.entries?.peek(key) === entry) this.entries.delete(key);
    }
  }
}
