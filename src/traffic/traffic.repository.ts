import { Injectable } from '@nestjs/common';
import { AppScopedStore } from '../apps/app-scoped-store.js';
import type { AppScope } from '../apps/apps.service.js';
import { and, consumerIs, envIs, inScope, sumBytes } from '../clickhouse/predicates.js';
import type { Rollup } from './rollup.js';

export interface TrafficFilter {
  app_env_id?: number | undefined;
  consumer_id?: number | undefined;
}

/** Sums of one period, as the engine wrote them: integers of 64 bits stay exact. */
export interface PeriodSums {
  /** Seconds since the epoch. */
  start: number;
  /** `"requests":…,"bytes_received":…,"bytes_sent":…` */
  json: string;
}

type Table = `${Rollup}_v1` | 'counts_per_15m_by_consumer_v1';

/** The table comes from a fixed list, never from outside. */
const SUM = (table: Table, filter: string) => `
SELECT
  roundDown(toUnixTimestamp(bucket), {bounds:Array(UInt32)}) AS start,
  concat(
    '"requests":', toString(sum(t.requests) AS requests),
    ',"bytes_received":', toString(${sumBytes('t.bytes_received')}),
    ',"bytes_sent":', toString(${sumBytes('t.bytes_sent')})
  ) AS json
FROM ${table} AS t
WHERE app_id = {app_id:UInt32}
  AND bucket >= toDateTime({from:UInt32}, 'UTC')
  AND bucket < toDateTime({to:UInt32}, 'UTC')${filter}
GROUP BY start
HAVING requests > 0
ORDER BY start
LIMIT {limit:UInt32}`;

const THREADS = 2;

@Injectable()
export class TrafficRepository {
  constructor(private readonly store: AppScopedStore) {}

  /**
   * Sums by period, oldest first, periods without requests left out.
   *
   * The caller computes the periods' bounds, in seconds since the epoch, because
   * the engine labels hours wrongly where daylight saving shifts the clock by half an hour (ClickHouse issue 119969).
   */
  sums(
    scope: AppScope,
    filter: TrafficFilter,
    rollup: Rollup,
    bounds: readonly number[],
    limit: number,
  ): Promise<PeriodSums[]> {
    const [from, to] = [bounds[0], bounds.at(-1)];
    if (from === undefined || to === undefined || from >= to) return Promise.resolve([]);
    const byConsumer = filter.consumer_id !== undefined || scope.consumerId !== undefined;
    const table = byConsumer ? 'counts_per_15m_by_consumer_v1' : (`${rollup}_v1` as const);
    const { sql, params } = and(envIs(filter.app_env_id), consumerIs(filter.consumer_id), ...inScope(scope));
    const values = { ...params, bounds: bounds.slice(0, -1), from, to, limit };
    return this.store.rows(scope, 'traffic.sums', SUM(table, sql), values, { threads: THREADS });
  }
}
