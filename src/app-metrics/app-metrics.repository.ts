import { Injectable } from '@nestjs/common';
import { AppScopedStore } from '../apps/app-scoped-store.js';
import type { AppScope } from '../apps/apps.service.js';
import { type Predicate, and, endpointIn, envIn, inScope } from '../clickhouse/predicates.js';
import { compare, not, splitNegation } from '../common/filters/comparison.js';
import { type FileFormat, isTyped } from '../common/formats/file-format.js';
import { METRICS, METRIC_FILTERS, type Metric, type MetricFilter } from './app-metrics.input.js';
import { type MetricsQuery, type MetricsStatement, buildStatement, isFromBins } from './metrics-statement.js';

/** Largest number of rows of a response. */
export const MAX_ROWS = 1_000_000;

/**
 * Lines that are joined here and not by the engine: 1 to 2 ms, and all days of 13 months. The 46,080 minutes of 32 days would keep other requests
 * waiting for 0.1 s.
 */
const MAX_JOINED_LINES = 500;

const THREADS = 2;
/** Up to this length of a window, counts and bins have a thread each; with two each, they take up to a tenth more processor time. */
const SHORT_WINDOW_SECONDS = 2 * 86_400;

const ACCURACY = `
SELECT max(relative_error) AS relative_error, max(absolute_error_ms) AS absolute_error_ms
FROM percentile_accuracy_v1
WHERE app_id = {app_id:UInt32} AND day >= toDate({from:UInt32}, 'UTC') AND day <= toDate({last:UInt32}, 'UTC')`;

/** The largest errors of response times: a part of the value, and milliseconds on top of it. */
export interface TimeErrors {
  relative_error: number;
  absolute_error_ms: number;
}

@Injectable()
export class AppMetricsRepository {
  constructor(private readonly store: AppScopedStore) {}

  /**
   * Rows of metrics as a file: by period, then by the group fields, nulls last; groups without requests are left out.
   *
   * @throws ResultTooLong if there are more than `maxRows`, ResultTooLarge if they have too many bytes
   */
  async query(
    scope: AppScope,
    query: MetricsQuery,
    filters: readonly MetricFilter[],
    maxRows: number,
  ): Promise<Buffer> {
    const { format, metrics, groupBy, bounds } = query;
    const conditions = and(...filters.map(toCondition), ...inScope(scope));
    // Without groups each period has at most one row; the engine's condition takes 4 % of a short window.
    const canExceed = groupBy.length > 0 || bounds.length - 1 > maxRows;
    const prewhere = conditions.sql !== '';
    const read = (name: string, { columns, sql, params }: MetricsStatement, threads = THREADS) => {
      const file = { format, columns, sql, ...(canExceed && { maxRows }) };
      return this.store.file(scope, name, file, params, { threads, prewhere });
    };
    const fromBins = METRICS.filter((metric) => isFromBins(metric) && metrics.includes(metric));
    const isLong = groupBy.length > 0 || bounds.length > MAX_JOINED_LINES;
    if (isTyped(format) || isLong || fromBins.length === 0)
      return read('app_metrics.query', buildStatement(query, conditions));
    // Of a short window the engine plans statements for longer than it reads, and it plans the two sides of a join one after the other.
    const isShort = (bounds.at(-1) ?? 0) - (bounds[0] ?? 0) <= SHORT_WINDOW_SECONDS;
    const threads = isShort ? 1 : THREADS;
    const [counts, bins] = await Promise.all([
      read('app_metrics.counts', buildStatement(query, conditions, 'counts'), threads),
      read('app_metrics.bins', buildStatement(query, conditions, 'bins'), threads),
    ]);
    return joinColumns(format, counts, bins, fromBins);
  }

  /** The errors of the histograms that are counted in a window, beyond those of the bins; 0 if there are none. */
  async findErrors(scope: AppScope, { bounds }: Pick<MetricsQuery, 'bounds'>): Promise<TimeErrors> {
    const [from, to] = [bounds[0], bounds.at(-1)];
    if (from === undefined || to === undefined) return { relative_error: 0, absolute_error_ms: 0 };
    const params = { from, last: to - 1 };
    const [row] = await this.store.rows<TimeErrors>(scope, 'app_metrics.accuracy', ACCURACY, params, {
      prewhere: false,
    });
    return row ?? { relative_error: 0, absolute_error_ms: 0 };
  }
}

/**
 * Appends the columns of `bins` to the lines of `counts`. The first column, which both have, is unique, and its text has no comma.
 *
 * @param fromBins the columns of `bins`, which are null for a line that it lacks
 */
function joinColumns(format: FileFormat, counts: Buffer, bins: Buffer, fromBins: readonly Metric[]): Buffer {
  const isJson = format === 'ndjson';
  const lineEnd = isJson ? '}\n' : '\r\n';
  const absent = fromBins.map((metric) => (isJson ? `,"${metric}":null` : ',')).join('');
  const split = (file: Buffer) =>
    file
      .toString()
      .split(lineEnd)
      .slice(0, -1)
      .map((line) => [line, line.indexOf(',')] as const);
  const binned = new Map(split(bins).map(([line, comma]) => [line.slice(0, comma), line.slice(comma)]));
  const lines = split(counts).map(
    ([line, comma]) => `${line}${binned.get(line.slice(0, comma)) ?? absent}${lineEnd}`,
  );
  return Buffer.from(lines.join(''));
}

/** A filter as a condition on the integers of counts and bins: names are looked up first. */
function toCondition(filter: MetricFilter, index: number): Predicate {
  const { field } = filter;
  const [kind, param] = [METRIC_FILTERS[field], `filter_${index}`];
  if (field === 'consumer_id' || field === 'status_code')
    return compare({ sql: field, isNull: `${field} = 0` }, kind, filter, param);
  // Rows without a route have no name: negative operators match them.
  const { op, isNegated } = splitNegation(filter.op);
  const named = compare({ sql: field === 'env' ? 'name' : field }, kind, { ...filter, op }, param);
  const found = field === 'env' ? envIn(named) : endpointIn(named);
  return isNegated ? not(found) : found;
}
