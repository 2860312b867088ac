import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { AppScope } from '../apps/apps.service.js';
import { logsRetainedFrom } from '../common/time/retention.js';
import { RequestLogsRepository } from './request-logs.repository.js';

const REMEMBERED_MS = 300_000;

/** Estimates an app's request logs per millisecond, on average since its oldest; cached for some minutes. */
@Injectable()
export class LogRateEstimator {
  private readonly rates = new LRUCache<number, number>({ max: 10_000, ttl: REMEMBERED_MS });

  constructor(private readonly repository: RequestLogsRepository) {}

  /** Average of all retained records at `now`, in milliseconds since the epoch. */
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
