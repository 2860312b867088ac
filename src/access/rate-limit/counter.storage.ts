import { Injectable } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import { type RateWindow, WindowCounter, retryAfterSeconds } from './window.counter.js';

/** The throttler's record of a hit, with times in whole seconds, and the window. */
interface CountedHit extends Awaited<ReturnType<ThrottlerStorage['increment']>> {
  readonly window: RateWindow;
}

/**
 * Throttler storage over the window counters. All windows have the same length, so the throttler's `ttl` must
 * be that length.
 */
@Injectable()
export class CounterStorage implements ThrottlerStorage {
  constructor(private readonly counter: WindowCounter) {}

  async increment(key: string, _ttl: number, limit: number): Promise<CountedHit> {
    const window = await this.counter.hit(key);
    const seconds = retryAfterSeconds(window);
    return {
      totalHits: window.hits,
      timeToExpire: seconds,
      isBlocked: window.hits > limit,
      timeToBlockExpire: seconds,
      window,
    };
  }
}
