import { Inject, Injectable, Optional } from '@nestjs/common';
import { ThrottlerGuard, type ThrottlerRequest } from '@nestjs/throttler';
import type { Request, Response } from 'express';
import { premiumRequired, rateLimitExceeded } from '../../platform/http/api-error.js';
import { Telemetry } from '../../telemetry/telemetry.js';
import type { CounterStorage } from './counter.storage.js';

/** The name of the only policy in `RateLimit-Policy` and `RateLimit`. */
const POLICY = 'default';

/**
 * Counts every request with a valid key, one count per key over all routes, and sets the three
 * `X-RateLimit-*` headers and those of draft-ietf-httpapi-ratelimit-headers on every response. A plan without
 * API access: 403. Over the limit: 429 with `Retry-After` (docs/contract.md#order, docs/contract.md#errors,
 * docs/contract.md#rate-limit). Runs after `ApiKeyGuard`; a request without an account is not counted.
 */
@Injectable()
export class RateLimitGuard extends ThrottlerGuard {
  declare protected readonly storageService: CounterStorage;
  @Optional() @Inject(Telemetry) private readonly telemetry?: Telemetry;

  protected override async handleRequest({ context, ttl, ...request }: ThrottlerRequest): Promise<boolean> {
    const http = context.switchToHttp();
    const { account } = http.getRequest<Request>();
    if (!account) return true;
    const limit = account.scopes.requestsPerMinute ?? request.limit;
    // The key's public identifier: a counter's name never contains the secret.
    const key = `key:${account.keyIdentifier}`;
    const { window, isBlocked, timeToExpire, timeToBlockExpire } = await this.storageService.increment(
      key,
      ttl,
      limit,
    );
    const remaining = Math.max(0, limit - window.hits);
    http.getResponse<Response>().set({
      'X-RateLimit-Limit': String(limit),
      'X-RateLimit-Remaining': String(remaining),
      'X-RateLimit-Reset': String(Math.ceil(window.endsAtMs / 1000)),
      'RateLimit-Policy': `"${POLICY}";q=${limit};w=${ttl / 1000}`,
      RateLimit: `"${POLICY}";r=${remaining};t=${timeToExpire}`,
    });
    this.telemetry?.metrics?.countDecision('api_key', !isBlocked);
    if (account.plan !== 'premium') throw premiumRequired();
    if (isBlocked) throw rateLimitExceeded(timeToBlockExpire);
    return true;
  }
}
