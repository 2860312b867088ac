import { Redis } from 'ioredis';
import type { Tracing } from '../observability/tracing.js';
import { SCRIPTS } from './redis.scripts.js';
import { type HitCounter, type RateWindow, WINDOW_MS } from './window.counter.js';

const KEY_PREFIX = 'ra:rl:';
const SPAN = { 'db.system.name': 'redis', 'db.operation.name': 'EVALSHA' };

/** Longest pause between two attempts to connect, and what is added at random so that instances do not call in step. */
const MAX_RETRY_MS = 500;
const RETRY_JITTER_MS = 100;

/**
 * Fixed windows in Redis, one count for all instances. A method rejects when Redis cannot be reached or answers with
 * an error, at once where that is known; it may wait for long where Redis is silent: the caller sets the limit.
 */
export class RedisCounter implements HitCounter {
  /** Why there is no connection; the errors of hits say then only that they cannot be sent. */
  disconnection?: Error;
  private readonly redis: Redis;

  /** Does not connect yet. */
  constructor(
    url: string,
    private readonly windowMs = WINDOW_MS,
    private readonly tracing: Tracing | null = null,
  ) {
    this.redis = new Redis(url, {
      lazyConnect: true,
      connectTimeout: 1000,
      // A connection that stays silent this long is replaced: its peer may be gone without a word.
      socketTimeout: 2000,
      disconnectTimeout: 100,
      retryStrategy: (attempt) => Math.min(attempt * 50, MAX_RETRY_MS) + Math.random() * RETRY_JITTER_MS,
      reconnectOnError: (error) => this.isDemoted(error),
      // A hit is sent now or not at all: one that was kept for later was counted elsewhere meanwhile.
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      // Whether Redis is ready to count is found out by counting.
      enableReadyCheck: false,
      scripts: SCRIPTS,
    });
    this.redis.on('error', (error) => (this.disconnection = error));
    this.redis.on('close', () => (this.disconnection ??= new Error('the connection was closed')));
    this.redis.on('ready', () => (this.disconnection = undefined));
  }

  /** Resolves once connected; goes on trying, also after a later loss, until `close`. Never rejects. */
  connect(): Promise<void> {
    return new Promise((resolve) => {
      this.redis.once('ready', resolve);
      // Its failure is that of the first attempt only.
      this.redis.connect().catch(() => undefined);
    });
  }

  async hit(key: string): Promise<RateWindow> {
    const [hits, endsAtMs, leftMs] = await this.traced('rate_limit.hit', () =>
      this.redis.hitWindow(KEY_PREFIX + key, this.windowMs),
    );
    return { hits, endsAtMs, leftMs };
  }

  async peek(key: string): Promise<RateWindow | null> {
    const [hits, endsAtMs, leftMs] = await this.traced('rate_limit.peek', () =>
      this.redis.peekWindow(KEY_PREFIX + key),
    );
    return hits === 0 || leftMs <= 0 ? null : { hits, endsAtMs, leftMs };
  }

  /** Drops the connection without waiting for Redis. */
  close() {
    this.redis.disconnect();
  }

  private traced<T>(name: string, command: () => Promise<T>): Promise<T> {
    return this.tracing ? this.tracing.call(name, SPAN, command) : command();
  }

  /**
   * Whether this is the connection's first refusal to write. After a failover the old primary refuses for good, and
   * the address may lead to the new one by now, so the connection is replaced: once, however many commands it refused.
   */
  private isDemoted(error: Error) {
    if (this.disconnection || !error.message.startsWith('READONLY')) return false;
    this.disconnection = error;
    return true;
  }
}
