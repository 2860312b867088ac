import { Injectable, Optional } from '@nestjs/common';
import { rateLimitExceeded } from '../../platform/http/api-error.js';
import type { Limit } from '../../telemetry/metrics/metrics.js';
import { Telemetry } from '../../telemetry/telemetry.js';
import { WindowCounter, retryAfterSeconds } from './window.counter.js';

/** Limits of an expensive operation, per key and in addition to the limit of all requests. */
interface OperationLimits {
  readonly perSecond: number;
  readonly perMinute: number;
}

/**
 * Counts requests of an operation by key, in seconds of the clock and in the same windows as all requests.
 */
@Injectable()
export class OperationLimiter {
  constructor(
    private readonly counter: WindowCounter,
    @Optional() private readonly telemetry: Telemetry = Telemetry.none,
  ) {}

  /**
   * @throws ApiError 429 beyond a limit. A request beyond the limit of a second does not count in the minute.
   */
  async count(
    operation: Limit,
    keyIdentifier: string,
    { perSecond, perMinute }: OperationLimits,
  ): Promise<void> {
    const key = `${operation}:${keyIdentifier}`;
    const second = await this.counter.hit(`${key}:${Math.floor(Date.now() / 1000)}`);
    const minute = second.hits > perSecond ? undefined : await this.counter.hit(key);
    const isAllowed = minute !== undefined && minute.hits <= perMinute;
    this.telemetry.metrics?.countDecision(operation, isAllowed);
    if (!isAllowed) throw rateLimitExceeded(minute ? retryAfterSeconds(minute) : 1);
  }
}
