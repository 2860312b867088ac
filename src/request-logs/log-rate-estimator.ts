import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { AppScope } from '../apps/apps.service.js';
import { logsRetainedFrom } from '../common/time/retention.js';
import { RequestLogsRepository } from './request-logs.repository.js';

const REMEMBERED_MS = 300_000;

/** How many request logs an app has per millisecond, on average since its oldest: a guess, remembered for some minutes. */
@Injectable()
export class LogRateEstimator {
  private readonly rates = new LRUCache<number, number>({ max: 10_000, ttl: REMEMBERED_MS });

  constructor(private readonly repository: RequestLogsRepository) {}

  /** Records per millisecond of all that is kept at `now`, in milliseconds since the epoch. */
  async estimate(scope: AppScope, now: number): Promise<number> {
    const known = this.rates.get(scope.appId);
    if (known !== undefined) return known;
    const retained = { start: logsRetainedFrom(now), end: now };
    const { records, oldest } = await this.repository.countAndOldest(scope, retained);
    const rowsPerMs = oldest === null ? 0 : records / (now - oldest);
    this.rates.set(scope.appId, rowsPerMs);
    return rowsPerMs;
  }
}
