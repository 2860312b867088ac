import { Injectable } from '@nestjs/common';
import { AppScopedStore } from '../apps/app-scoped-store.js';
import type { AppScope } from '../apps/apps.service.js';
import { and, inScope } from '../../queries/predicates.js';
import type { RowRange, RowSource } from '../../queries/files/row-pages.js';
import { ResultTooLarge } from '../../store/client/clickhouse.errors.js';
import { CachedLookup } from '../../shared/cached-lookup.js';
import { Config } from '../../config/config.js';
import { DAY_SECONDS } from '../../shared/time/units.js';
import type { MetricFilter } from './app-metrics.input.js';
import { toMetricCondition } from './metric-condition.js';
import { slicePeriods } from './metric-periods.js';
import { type MetricsQuery, buildRowCounts, buildStatement } from './metrics-statement.js';

/** Largest number of rows of a response. */
export const MAX_ROWS = 1_000_000;

/** Longest result that is read at once. */
const MAX_WHOLE_BYTES = 8 * 1024 * 1024;

const THREADS = 2;
const ACCURACY_TABLE = 'percentile_accuracy_v1';
/** Days are counted since the epoch, as the engine converts integers. */
const ACCURACY = `
SELECT max(relative_error) AS relative_error, max(absolute_error_ms) AS absolute_error_ms
FROM ${ACCURACY_TABLE}
WHERE app_id = {app_id:UInt32} AND day >= toDate({day:UInt16}) AND day <= toDate({last_day:UInt16})`;

/** The largest errors of response times: a part of the value, and milliseconds on top of it. */
export interface TimeErrors {
  relative_error: number;
  absolute_error_ms: number;
}

const NO_ERRORS: TimeErrors = { relative_error: 0, absolute_error_ms: 0 };

@Injectable()
export class AppMetricsRepository {
  /** Keyed by app, days and version of the table. */
  private readonly errors: CachedLookup<TimeErrors>;

  constructor(
    private readonly store: AppScopedStore,
    { cacheTtlMs }: Config,
  ) {
    this.errors = new CachedLookup(cacheTtlMs);
  }

  /**
   * Rows of metrics as a file: by period, then by the group fields, nulls last; groups without requests are
   * left out. Undefined for a file that is too long to be read at once.
   *
   * @throws ResultTooLong if there are more than `maxRows`
   */
  async query(
    scope: AppScope,
    query: MetricsQuery,
    filters: readonly MetricFilter[],
    maxRows: number,
  ): Promise<Buffer | undefined> {
    // Without groups each period has at most one row; the engine's condition takes 4 % of a short window.
    const canExceed = query.groupBy.length > 0 || query.bounds.length - 1 > maxRows;
    try {
      return await this.read(scope, query, filters, {
        maxResultBytes: MAX_WHOLE_BYTES,
        ...(canExceed && { maxRows }),
      });
    } catch (error) {
      if (error instanceof ResultTooLarge) return undefined;
      throw error;
    }
  }

  /**
   * The same, for `readPages`: a page has the rows of whole periods, and its key is the second in which the
   * last one begins.
   */
  async createSource(
    scope: AppScope,
    query: MetricsQuery,
    filters: readonly MetricFilter[],
  ): Promise<RowSource<number>> {
    const { sql, params } = buildRowCounts(query, joinConditions(scope, filters));
    const options = { threads: THREADS };
    const counts = await this.store.rows<{ start_s: number; rows: number }>(
      scope,
      'app_metrics.counts',
      sql,
      params,
      options,
    );
    const select = ({ after = -1, last = Infinity }: RowRange<number>) =>
      counts.filter(({ start_s }) => start_s > after && start_s <= last);
    return {
      isCheap: true,
      findRange: (after, count) => {
        let rows = 0;
        const end = select({ after, last: undefined }).find((period) => (rows += period.rows) >= count);
        return Promise.resolve({ after, last: end === counts.at(-1) ? undefined : end?.start_s });
      },
      readPage: ({ after, last }) =>
        this.read(scope, { ...query, ...slicePeriods(query, after, last) }, filters),
      count: (range) => Promise.resolve(select(range).reduce((sum, { rows }) => sum + rows, 0)),
    };
  }

  private read(
    scope: AppScope,
    query: MetricsQuery,
    filters: readonly MetricFilter[],
    { maxRows, maxResultBytes }: { maxRows?: number; maxResultBytes?: number } = {},
  ): Promise<Buffer> {
    const conditions = joinConditions(scope, filters);
    const { sql, columns, params, projections } = buildStatement(query, conditions);
    const file = { format: query.format, columns, sql, ...(maxRows !== undefined && { maxRows }) };
    return this.store.file(scope, 'app_metrics.query', file, params, {
      threads: THREADS,
      prewhere: conditions.sql !== '',
      projections,
      ...(maxResultBytes !== undefined && { maxResultBytes }),
    });
  }

  /**
   * The errors of the histograms counted in a window, in addition to the error of the bins; 0 if there are
   * no histograms.
   */
  async findErrors(scope: AppScope, { bounds }: Pick<MetricsQuery, 'bounds'>): Promise<TimeErrors> {
    const [from, to] = [bounds[0], bounds.at(-1)];
    if (from === undefined || to === undefined) return NO_ERRORS;
    const day = Math.floor(from / DAY_SECONDS);
    const last_day = Math.floor((to - 1) / DAY_SECONDS);
    const read = async () => {
      const options = { prewhere: false, shared: true };
      const params = { day, last_day };
      const [row] = await this.store.rows<TimeErrors>(
        scope,
        'app_metrics.accuracy',
        ACCURACY,
        params,
        options,
      );
      return row ?? NO_ERRORS;
    };
    // The statement takes a sixth of the processor time of a short window. A new row changes the version, so
    // a cached result is never outdated.
    const version = this.store.getVersion(ACCURACY_TABLE);
    if (version === undefined) return read();
    return this.errors.find([scope.appId, day, last_day, version].join('/'), read);
  }
}

const joinConditions = (scope: AppScope, filters: readonly MetricFilter[]) =>
  and(...filters.map(toMetricCondition), ...inScope(scope));
