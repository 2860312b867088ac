import { Injectable, Optional } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Config } from '../config/config.js';
import { Telemetry } from '../observability/telemetry.js';
import { toClientKey } from './client-key.js';
import { WINDOW_MS, WindowCounter, retryAfterSeconds } from './window.counter.js';

/** What can be guessed; each is counted by itself. */
export type Credential = 'api_key' | 'client_id' | 'write_token';

/**
 * Slows the guessing of API keys, of client IDs or of write tokens: those that are wrong are counted per client address, in the windows that
 * requests are counted in. A missing key is no guess and is not counted. Who checks a credential asks `retryAfter` first, unless it
 * lately found this one good, and calls `record` for each that it found wrong.
 */
@Injectable()
export class FailedAuthLimiter {
  private readonly limit: number;
  /** Clients over the limit, so that a flood of guesses costs no further questions to Redis. */
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
   * @param exists whether there is such a credential, at little cost, right or wrong; where there is, null: others behind the
   *   same address may guess, and what is right must pass
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
   * Counts a wrong credential from `address`. Null while the failures are within the limit: it is answered as wrong. Else the seconds as of `retryAfter`: guesses that were judged at the same time pass the limit together, and
   * those beyond it must not be told whether they were right.
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
