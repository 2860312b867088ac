import { Injectable, Optional } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Config } from '../config/config.js';
import { Telemetry } from '../telemetry/telemetry.js';
import { clientOf } from './client-address.js';
import { WINDOW_MS, WindowCounter, retryAfterSeconds } from './window.counter.js';

/**
 * Slows the guessing of keys: invalid keys are counted per client address, in the windows that requests are counted
 * in. A missing key is no guess and is not counted. The API-key guard asks `refused` before it judges a key that it
 * does not already know as good, and calls `record` for each that it found invalid.
 */
@Injectable()
export class AuthFailures {
  private readonly limit: number;
  /** Clients over the limit, so that a flood of guesses costs no further questions to Redis. */
  private readonly refusedClients = new LRUCache<string, true>({ max: 10_000, ttl: WINDOW_MS });

  constructor(
    private readonly counter: WindowCounter,
    config: Config,
    @Optional() private readonly telemetry: Telemetry = Telemetry.none,
  ) {
    this.limit = config.authFailuresPerMinute;
  }

  /**
   * Whether no more keys from `address` are to be judged: whole seconds until they are again (at least 1), or null.
   * Counts nothing.
   *
   * @param address Express's `request.ip`, on which `trust proxy` has decided.
   */
  async refused(address: string | undefined): Promise<number | null> {
    const seconds = await this.refusedFor(address);
    if (seconds !== null) this.telemetry.metrics?.countDecision('guess', false);
    return seconds;
  }

  /**
   * Counts an invalid key from `address`. Null while the failures are within the limit: the key is answered as
   * invalid. Else the seconds as of `refused`: guesses that were judged at the same time pass the limit together, and
   * those beyond it must not be told whether they were right.
   */
  async record(address: string | undefined): Promise<number | null> {
    const window = await this.counter.hit(keyOf(clientOf(address)));
    const isAllowed = window.hits <= this.limit;
    this.telemetry.metrics?.countDecision('guess', isAllowed);
    return isAllowed ? null : retryAfterSeconds(window);
  }

  private async refusedFor(address: string | undefined): Promise<number | null> {
    const client = clientOf(address);
    const knownLeftMs = this.refusedClients.getRemainingTTL(client);
    if (knownLeftMs > 0) return Math.ceil(knownLeftMs / 1000);
    const window = await this.counter.look(keyOf(client));
    if (!window || window.hits < this.limit) return null;
    this.refusedClients.set(client, true, { ttl: window.leftMs });
    return retryAfterSeconds(window);
  }
}

function keyOf(client: string) {
  return `auth:${client}`;
}
