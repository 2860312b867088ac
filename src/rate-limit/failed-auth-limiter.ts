import { Injectable, Optional } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Config } from '../config/config.js';
import { Telemetry } from '../observability/telemetry.js';
import { toClientKey } from './client-key.js';
import { WINDOW_MS, WindowCounter, retryAfterSeconds } from './window.counter.js';

/** Kinds of credentials; each is counted separately. */
export type Credential = 'api_key' | 'client_id' | 'write_token';

/**
 * Limits the guessing of API keys, client IDs and write tokens: invalid credentials are counted per client address, in the same
 * windows as requests. A missing key is not counted. Callers check `retryAfter` first, unless the credential is
 * cached as valid, and call `record` for each invalid one.
 */
@Injectable()
export class FailedAuthLimiter {
  private readonly limit: number;
  /** Clients over the limit, so that a flood of guesses costs no further calls to Redis. */
  private readonly limitedClients = new LRUCache<string, true>({ max: 10_000, ttl: WINDOW_MS });

  constructor(
    private readonly counter: WindowCounter,
    config: Config,
    @Optional() private readonly telemetry: Telemetry = Telemetry.none,
    @Optional() private readonly credential: Credential = 'api_key',
  ) {
    this.limit = config.authFailuresPerMinute;
  }

  /**
   * Whole seconds (at least 1) for which `address` is over the limit, or null when it is not. Counts nothing.
   *
   * @param exists cheap check whether the identifier exists; if so, the result is null, because a valid credential must pass even if
   *   others behind the same address guess
   * @param address Express's `request.ip`, on which `trust proxy` has decided.
   */
  async retryAfter(
    address: string | undefined,
    exists: () => Promise<boolean> = () => Promise.resolve(false),
  ): Promise<number | null> {
    const seconds = await this.computeRetryAfter(address);
    if (seconds === null || (await exists())) return null;
    this.telemetry.metrics?.countDecision('auth_failure', false);
    return seconds;
  }

  /**
   * Counts an invalid credential from `address`. Returns null within the limit: the response is the normal error. Otherwise it returns the
   * seconds as of `retryAfter`: concurrent guesses pass the first check together, and those beyond the limit must not learn whether
   * they were valid.
   */
  async record(address: string | undefined): Promise<number | null> {
    const window = await this.counter.hit(this.buildKey(toClientKey(address)));
    const isAllowed = window.hits <= this.limit;
    this.telemetry.metrics?.countDecision('auth_failure', isAllowed);
    return isAllowed ? null : retryAfterSeconds(window);
  }

  private async computeRetryAfter(address: string | undefined): Promise<number | null> {
    const client = toClientKey(address);
    const knownLeftMs = this.limitedClients.getRemainingTTL(client);
    if (knownLeftMs > 0) return Math.ceil(knownLeftMs / 1000);
    const window = await this.counter.peek(this.buildKey(client));
    if (!window || window.hits < this.limit) return null;
    this.limitedClients.set(client, true, { ttl: window.leftMs });
    return retryAfterSeconds(window);
  }

  private buildKey(client: string) {
    return `auth_failure:${this.credential}:${client}`;
  }
}
