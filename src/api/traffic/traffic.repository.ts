import { Injectable } from '@nestjs/common';
import { AppScopedStore } from '../apps/app-scoped-store.js';
import type { AppScope } from '../apps/apps.service.js';
import { and, consumerIs, envIs, inScope, sumBytes } from '../../queries/predicates.js';
import { type Grain, type PeriodSql, chooseGrain, describePeriods } from '../../queries/calendar/buckets.js';

export interface TrafficFilter {
  app_env_id?: number | undefined;
  consumer_id?: number | undefined;
}

/** Sums of one period, as the engine wrote them: 64-bit integers stay exact. */
export interface PeriodSums {
  /** Seconds since the epoch. */
  start: number;
  /** `"requests":…,"bytes_received":…,"bytes_sent":…` */
  json: string;
}

/** The table comes from a fixed list, never from outside. */
const SUM = (grain: Grain, { key, start }: PeriodSql, filter: string) => `
WITH ${key} AS period
SELECT
  toUnixTimestamp(${start}) AS start,
  concat(
    '"requests":', toString(sum(t.n) AS requests),
    ',"bytes_received":', toString(${sumBytes('t.bytes_received')}),
    ',"bytes_sent":', toString(${sumBytes('t.bytes_sent')})
  ) AS json
FROM counts_per_${grain}_v1 AS t
WHERE app_id = {app_id:UInt32} AND measure = 'requests'
  AND bucket >= toDateTime({from:UInt32}, 'UTC')
  AND bucket < toDateTime({to:UInt32}, 'UTC')${filter}
GROUP BY period
HAVING requests > 0
ORDER BY period
LIMIT {limit:UInt32}`;

const THREADS = 2;

@Injectable()
export class TrafficRepository {
  constructor(private readonly store: AppScopedStore) {}

  /**
   * Sums by period, oldest first; periods without requests are left out.
   *
   * The caller computes the periods' bounds, in seconds since the epoch, because the engine labels hours
   * wrongly where daylight saving shifts the clock by half an hour (ClickHouse issue 119969).
   */
  sums(
    scope: AppScope,
    filter: TrafficFilter,
    bounds: readonly number[],
    limit: number,
  ): Promise<PeriodSums[]> {
    const [from, to] = [bounds[0], bounds.at(-1)];
    if (from === undefined || to === undefined || from >= to) return Promise.resolve([]);
    const byConsumer = filter.consumer_id !== undefined || scope.consumerId !== undefined;
    const grain = byConsumer ? '15m_by_consumer' : chooseGrain(bounds);
    const period = describePeriods('bucket', bounds, [grain]);
    const { sql, params } = and(envIs(filter.app_env_id), consumerIs(filter.consumer_id), ...inScope(scope));
    const values = { ...params, ...period.params, from, to, limit };
    const options = { threads: THREADS, prewhere: sql !== '', projections: false };
    return this.store.rows(scope, 'traffic.sums', SUM(grain, period, sql), values, options);
  }
}
