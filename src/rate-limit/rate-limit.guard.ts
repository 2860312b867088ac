import { type ExecutionContext, Inject, Injectable, Optional } from '@nestjs/common';
import { ThrottlerGuard, type ThrottlerRequest } from '@nestjs/throttler';
import type { Request, Response } from 'express';
import type { Account } from '../common/account.js';
import { premiumRequired, rateLimitExceeded } from '../http/api-error.js';
import { Telemetry } from '../observability/telemetry.js';
import type { CounterStorage } from './counter.storage.js';

/** The name of the only policy in `RateLimit-Policy` and `RateLimit`. */
const POLICY = 'default';

/**
 * Counts every request with a valid key, one count per key over all routes, and sets the three `X-RateLimit-*` headers
 * and those of draft-ietf-httpapi-ratelimit-headers on every response. A plan without API access: 403. Over the limit: 429 with
 * `Retry-After` (docs/contract.md#order, docs/contract.md#errors, docs/contract.md#rate-limit). Runs after
 * `ApiKeyGuard`; a request without an account is not counted.
 */
@Injectable()
export class RateLimitGuard extends ThrottlerGuard {
  declare protected readonly storageService: CounterStorage;
  @Optional() @Inject(Telemetry) private readonly telemetry?: Telemetry;

  protected override shouldSkip(context: ExecutionContext): Promise<boolean> {
    return Promise.resolve(context.switchToHttp().getRequest<Request>().account === undefined);
  }

  /** The key's public identifier: a counter's name never contains the secret. */
  protected override getTracker({ account }: { account: Account }): Promise<string> {
    return Promise.resolve(account.keyIdentifier);
  }

  protected override generateKey(_context: ExecutionContext, keyIdentifier: string): string {
    return `key:${keyIdentifier}`;
  }

  protected override async handleRequest(request: ThrottlerRequest): Promise<boolean> {
    const { context, ttl, getTracker, generateKey, throttler } = request;
    const http = context.switchToHttp();
    const incoming = http.getRequest<Request>();
    const limit = incoming.account?.scopes.requestsPerMinute ?? request.limit;
    const tracker = await getTracker(incoming, context);
    const key = generateKey(context, tracker, throttler.name ?? '');
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
    if (incoming.account?.plan !== 'premium') throw premiumRequired();
    if (isBlocked) throw rateLimitExceeded(timeToBlockExpire);
    return true;
  }
}
