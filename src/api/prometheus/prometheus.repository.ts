import { Injectable } from '@nestjs/common';
import { AppScopedStore } from '../apps/app-scoped-store.js';
import type { AppScope } from '../apps/apps.service.js';
import { and, inScope } from '../../queries/predicates.js';
import { BINS_PER_OCTAVE, ZERO_BIN, findBin } from '../../records/bins.js';

/** The upper bounds that OpenTelemetry advises for `http.server.request.duration`, in seconds. */
export const TIME_BOUNDS = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
] as const;
export const SIZE_BOUNDS = [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000] as const;

/** The route of endpoints beyond the number of routes that were asked for. */
const OTHER_ROUTE = '_other';
const THREADS = 2;

/** What a series is about. Empty and 0: not known. */
export interface SeriesLabels {
  env: string;
  method: string;
  route: string;
  status: number;
}

/** Numbers of requests by bin, which ascend: each bin, or the first one of each bucket for all of them. */
export type BucketCounts = readonly [bins: readonly number[], counts: readonly number[]];

export interface SeriesCounts extends SeriesLabels {
  requests: number;
  bytes_received: number;
  bytes_sent: number;
}

export interface SeriesBuckets extends SeriesLabels {
  times: BucketCounts;
  seconds: number;
  received: BucketCounts;
  sent: BucketCounts;
}

export interface ScrapeQuery {
  /** When the counters began at 0, in seconds since the epoch. */
  readonly origin: number;
  /** Since when traffic decides which endpoints have a route of their own, in seconds since the epoch. */
  readonly rankedFrom: number;
  readonly routes: number;
  /** The largest number of rows. */
  readonly limit: number;
}

/** The first bin of each bucket. The bin of a bound belongs to the bucket below it. */
const findFirstBins = (bounds: readonly number[]) => [ZERO_BIN, ...bounds.map((bound) => findBin(bound) + 1)];

/**
 * The endpoints with a route of their own. Their order must stay the same while counters rise, because one
 * that moves to or from `_other` would let it fall: first the traffic of the months before, which no longer
 * changes, then new endpoints as they came.
 */
const NAMED = (table: string, conditions: string) => `(
  SELECT groupArray(endpoint_id)
  FROM (
    SELECT endpoint_id
    FROM ${table} AS f
    WHERE app_id = {app_id:UInt32} AND measure = 'requests' AND bucket >= {ranked_from:UInt32} AND endpoint_id != 0${conditions}
    GROUP BY endpoint_id
    ORDER BY sumIf(toInt64(f.n), f.bucket < {origin:UInt32}) DESC, min(f.bucket), endpoint_id
    LIMIT {routes:UInt32}
  )
) AS named_ids`;

/** Sums by environment, endpoint and status become sums by labels. */
const BY_LABELS = (named: string, values: string, sums: string) => `
WITH ${named}
SELECT toString(envs.name) AS env, toString(endpoints.method) AS method,
  multiIf(c.endpoint_id = 0, '', has(named_ids, c.endpoint_id), endpoints.path, '${OTHER_ROUTE}') AS route,
  c.status_code AS status, ${values}
FROM (${sums}
) AS c
LEFT JOIN (SELECT id, name FROM app_envs_v1 FINAL WHERE app_id = {app_id:UInt32}) AS envs
  ON envs.id = c.app_env_id
LEFT JOIN (SELECT id, method, path FROM endpoints_v1 FINAL WHERE app_id = {app_id:UInt32}) AS endpoints
  ON endpoints.id = c.endpoint_id
GROUP BY env, method, route, status
ORDER BY env, method, route, status
LIMIT {limit:UInt32}`;

// Series of the month before stay, at 0: their first requests of a month would otherwise not be an increase.
const COUNTS = (table: string, conditions: string) =>
  BY_LABELS(
    NAMED(table, conditions),
    'sum(c.requests) AS requests, sum(c.bytes_received) AS bytes_received, sum(c.bytes_sent) AS bytes_sent',
    `
  SELECT app_env_id, endpoint_id, status_code,
    sumIf(toInt64(f.n), f.bucket >= {origin:UInt32}) AS requests,
    sumIf(toInt64(f.bytes_received), f.bucket >= {origin:UInt32}) AS bytes_received,
    sumIf(toInt64(f.bytes_sent), f.bucket >= {origin:UInt32}) AS bytes_sent
  FROM ${table} AS f
  WHERE app_id = {app_id:UInt32} AND measure = 'requests' AND bucket >= {ranked_from:UInt32}${conditions}
  GROUP BY app_env_id, endpoint_id, status_code`,
  );

// The sum of times is one of whole microseconds: a sum of floating-point numbers depends on their order, so
// it would fall at times, which Prometheus takes for a restart of the counter.
const BUCKETS = (table: string, conditions: string, timeBin: string) =>
  BY_LABELS(
    NAMED(table, conditions),
    `sumMapIf([c.first_bin], [c.n], c.measure = 'time') AS times, toFloat64(sumIf(c.microseconds, c.measure = 'time')) / 1000000 AS seconds,
  sumMapIf([c.first_bin], [c.n], c.measure = 'received') AS received,
  sumMapIf([c.first_bin], [c.n], c.measure = 'sent') AS sent`,
    `
  SELECT app_env_id, endpoint_id, status_code, measure,
    if(f.measure = 'time', ${timeBin}, roundDown(toInt32(f.k), {size_bins:Array(Int32)})) AS first_bin,
    sum(toInt64(f.n)) AS n,
    sum(toInt128(toInt64(f.n)) * toInt64(least(round(1000000 * exp2(f.k / ${BINS_PER_OCTAVE})), 1e15))) AS microseconds
  FROM ${table} AS f
  WHERE app_id = {app_id:UInt32} AND measure != 'requests' AND bucket >= {origin:UInt32}${conditions}
  GROUP BY app_env_id, endpoint_id, status_code, measure, first_bin`,
  );

@Injectable()
export class PrometheusRepository {
  constructor(private readonly store: AppScopedStore) {}

  findCounts(scope: AppScope, query: ScrapeQuery): Promise<SeriesCounts[]> {
    const { table, conditions, params, options } = describe(scope, query);
    return this.store.rows(scope, 'prometheus.counts', COUNTS(table, conditions), params, options);
  }

  /** @param isExact whether times keep their bins, which native histograms need */
  findBuckets(scope: AppScope, query: ScrapeQuery, isExact: boolean): Promise<SeriesBuckets[]> {
    const { table, conditions, params, options } = describe(scope, query);
    const timeBin = isExact ? 'toInt32(f.k)' : 'roundDown(toInt32(f.k), {time_bins:Array(Int32)})';
    const lists = {
      size_bins: findFirstBins(SIZE_BOUNDS),
      ...(!isExact && { time_bins: findFirstBins(TIME_BOUNDS) }),
    };
    const sql = BUCKETS(table, conditions, timeBin);
    return this.store.rows(scope, 'prometheus.buckets', sql, { ...params, ...lists }, options);
  }
}

/** A month consists of whole days, and of no coarser periods. Days of each consumer are not stored. */
function describe(scope: AppScope, { origin, rankedFrom, routes, limit }: ScrapeQuery) {
  const grain = scope.consumerId === undefined ? 'day' : '15m_by_consumer';
  const conditions = and(...inScope(scope));
  return {
    table: `counts_per_${grain}_v1`,
    conditions: conditions.sql,
    options: { threads: THREADS, prewhere: conditions.sql !== '', projections: false },
    params: { ...conditions.params, origin, ranked_from: rankedFrom, routes, limit },
  };
}
