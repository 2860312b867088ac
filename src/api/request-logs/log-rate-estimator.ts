import { Injectable } from '@nestjs/common';
import { createCache } from '../../shared/create-cache.js';
import type { AppScope } from '../apps/apps.service.js';
import { logsRetainedFrom } from '../../config/retention.js';
import { RequestLogsRepository } from './request-logs.repository.js';

const REMEMBERED_MS = 300_000;
/** So few records are counted fast, and an import can multiply them at once, so their rate is not cached. */
const FEW = 50_000;
const FEW_REMEMBERED_MS = 5_000;

/** Estimates an app's request logs per millisecond, on average since its oldest; cached for some minutes. */
@Injectable()
export class LogRateEstimator {
  private readonly rates = createCache<number, number>(10_000, { ttl: REMEMBERED_MS });

  constructor(private readonly repository: RequestLogsRepository) {}

  /** Average of all retained records; `now` is in milliseconds since the epoch. */
  async estimate(scope: AppScope, now: number): Promise<number> {
    const cached = this.rates.get(scope.appId);
    if (cached !== undefined) return cached;
    const retained = { start: logsRetainedFrom(now), end: now };
    const { records, oldest } = await this.repository.countAndOldest(scope, retained);
    // Not cached: otherwise the first page after an import would read the whole window.
    if (oldest === null) return 0;
    const rowsPerMs = records / (now - oldest);
    this.rates.set(scope.appId, rowsPerMs, { ttl: records < FEW ? FEW_REMEMBERED_MS : REMEMBERED_MS });
    return rowsPerMs;
  }
}
