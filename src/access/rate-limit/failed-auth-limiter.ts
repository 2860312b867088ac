import { Injectable, Optional } from '@nestjs/common';
import { createCache } from '../../shared/create-cache.js';
import type { CredentialLookup } from '../credential-lookup.js';
import { Config } from '../../config/config.js';
import { rateLimitExceeded } from '../../platform/http/api-error.js';
import { Telemetry } from '../../telemetry/telemetry.js';
import { toClientKey } from './client-key.js';
import { WINDOW_MS, WindowCounter, retryAfterSeconds } from './window.counter.js';

/** Kinds of credentials; each is counted separately. */
export type Credential = 'api_key' | 'client_id' | 'write_token';

/**
 * Limits the guessing of API keys, client IDs and write tokens: invalid credentials are counted per client
 * address, in the same windows as requests. A missing key is not counted.
 */
@Injectable()
export class FailedAuthLimiter {
  private readonly limit: number;
  /** Clients over the limit, so that a flood of guesses costs no further calls to Redis. */
  private readonly limitedClients = createCache<string, true>(10_000, { ttl: WINDOW_MS });

  constructor(
    private readonly counter: WindowCounter,
    config: Config,
    @Optional() private readonly telemetry: Telemetry = Telemetry.none,
    @Optional() private readonly credential: Credential = 'api_key',
  ) {
    this.limit = config.authFailuresPerMinute;
  }

  /**
   * Verifies a credential; an invalid one is counted.
   *
   * An address over the limit is rejected without a query for each guess. An existing credential is still
   * checked, so that one attacker does not lock out other clients behind the same address.
   *
   * @param address Express's `request.ip`, which `trust proxy` determines
   * @param identifier of the credential; undefined if the text does not have the form of a credential
   * @param verify returns the owner if the credential is valid; `row` is undefined if no credential has this
   * identifier
   * @returns the owner; undefined if the credential is invalid
   * @throws ApiError 429 if too many invalid credentials came from the address
   */
  async authenticate<Row, Owner>(
    address: string | undefined,
    lookup: CredentialLookup<Row>,
    identifier: string | undefined,
    verify: (row: Row | undefined) => Owner | undefined | Promise<Owner | undefined>,
  ): Promise<Owner | undefined> {
    if (identifier === undefined || !lookup.isCached(identifier)) {
      const retryAfter = await this.computeRetryAfter(address);
      if (
        retryAfter !== null &&
        !(identifier !== undefined && (await lookup.listIdentifiers()).has(identifier))
      ) {
        this.telemetry.metrics?.countDecision('auth_failure', false);
        throw rateLimitExceeded(retryAfter);
      }
    }
    const owner = await verify(identifier === undefined ? undefined : await lookup.find(identifier));
    if (owner !== undefined) return owner;
    const window = await this.counter.hit(this.buildKey(toClientKey(address)));
    const isAllowed = window.hits <= this.limit;
    this.telemetry.metrics?.countDecision('auth_failure', isAllowed);
    // Concurrent guesses pass the first check together. Those beyond the limit must not learn whether they
    // were valid.
    if (!isAllowed) throw rateLimitExceeded(retryAfterSeconds(window));
    return undefined;
  }

  /**
   * Whole seconds, at least 1, for which the address is over the limit; null if it is not. Counts nothing.
   */
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
