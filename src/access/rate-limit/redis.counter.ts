import { Redis } from 'ioredis';
import type { Tracing } from '../../telemetry/tracing.js';
import { SCRIPTS } from './redis.scripts.js';
import { type HitCounter, type RateWindow, WINDOW_MS } from './window.counter.js';

const KEY_PREFIX = 'ra:rl:';
const SPAN = { 'db.system.name': 'redis', 'db.operation.name': 'EVALSHA' };

/**
 * Longest pause between two attempts to connect, and the jitter, so that instances do not reconnect at the
 * same time.
 */
const MAX_RETRY_MS = 500;
const RETRY_JITTER_MS = 100;

/**
 * Fixed windows in Redis, one count for all instances. A method rejects if Redis is unavailable or returns
 * an error. It rejects at once if the connection is known to be lost, but can wait long for a silent Redis:
 * callers set a timeout.
 */
export class RedisCounter implements HitCounter {
  /** Why there is no connection; the errors of commands only say that they cannot be sent. */
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
      // A connection that is silent for this long is replaced: its peer may have disappeared without closing
      // it.
      socketTimeout: 2000,
      disconnectTimeout: 100,
      retryStrategy: (attempt) => Math.min(attempt * 50, MAX_RETRY_MS) + Math.random() * RETRY_JITTER_MS,
      reconnectOnError: (error) => this.isDemoted(error),
      // No offline queue: a hit that is sent later was already counted in the fallback.
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      // The first hit shows whether Redis can count; no ready check.
      enableReadyCheck: false,
      scripts: SCRIPTS,
    });
    this.redis.on('error', (error) => (this.disconnection = error));
    this.redis.on('close', () => (this.disconnection ??= new Error('the connection was closed')));
    this.redis.on('ready', () => (this.disconnection = undefined));
  }

  /** Resolves once connected; keeps reconnecting until `close`. Never rejects. */
  connect(): Promise<void> {
    return new Promise((resolve) => {
      this.redis.once('ready', resolve);
      // Its promise rejects only for the first attempt.
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
   * Whether this is the connection's first READONLY error. After a failover the old primary rejects all
   * writes, and the address may resolve to the new one, so the connection is replaced: once, not for each
   * rejected command.
   */
  private isDemoted(error: Error) {
    if (this.disconnection || !error.message.startsWith('READONLY')) return false;
    this.disconnection = error;
    return true;
  }
}
