import type { GroupField } from '../app-metrics/app-metrics.input.js';
import type { Metric } from '../app-metrics/metric-names.js';
import { type Group, type MetricsValues, toNumber } from './groups.js';

export const MEASURES = ['requests', 'errors', 'server_errors', 'client_errors', 'response_time'] as const;
export type Measure = (typeof MEASURES)[number];

export const DIMENSIONS = ['endpoint', 'consumer', 'status'] as const;
export type DimensionName = (typeof DIMENSIONS)[number];

const GROUPED_BY: Readonly<Record<DimensionName, readonly GroupField[]>> = {
  endpoint: ['method', 'path'],
  consumer: ['consumer_id'],
  status: ['status_code'],
};

/** The metrics that are compared for the whole. */
export const OVERVIEW: readonly Metric[] = [
  'requests',
  'client_errors',
  'server_errors',
  'error_rate',
  'response_time_p50',
  'response_time_p95',
];

/** The metrics that each measure is computed from. */
const MEASURED: Readonly<Record<Measure, readonly Metric[]>> = {
  requests: ['requests'],
  errors: ['requests', 'client_errors', 'server_errors'],
  server_errors: ['requests', 'server_errors'],
  client_errors: ['requests', 'client_errors'],
  response_time: ['requests', 'response_time_p95', 'apdex'],
};

const MAX_THRESHOLD_MS = 3_600_000;
const DEFAULT_THRESHOLD_MS = 500;
const NO_REQUESTS: Group = { now: undefined, before: undefined };

/** A group of a dimension, and its contribution to the change of the whole. */
export interface Moved extends Group {
  readonly contribution: number;
}

/** A dimension with its groups by contribution, and the groups that are shown first. */
export interface Dimension {
  readonly name: DimensionName;
  readonly groupBy: readonly GroupField[];
  readonly shown: readonly Moved[];
  readonly rest: readonly Moved[];
}

/** The change of the whole, and its causes. */
export interface Change {
  readonly measure: Measure;
  readonly overview: Group;
  /** With the metrics of the measure. */
  readonly whole: Moved;
  readonly dimensions: readonly Dimension[];
  /** For response times: slower requests count as slow. */
  readonly slowFromMs: number | undefined;
  /** The share of a contribution in the change of the whole; null if the whole did not change. */
  readonly share: (contribution: number) => number | null;
}

/** Queries the groups of both windows; with a threshold, rows also have `timed_requests`. */
export type QueryBoth = (
  metrics: readonly Metric[],
  groupBy: readonly GroupField[],
  threshold?: number,
) => Promise<Group[]>;

/** @param top number of groups that are shown of each dimension */
export async function measureChange(
  queryBoth: QueryBoth,
  measure: Measure,
  top: number,
  names: readonly DimensionName[] = DIMENSIONS,
): Promise<Change> {
  const [overview = NO_REQUESTS] = await queryBoth(OVERVIEW, []);
  const slowFromMs =
    measure === 'response_time' ? chooseThreshold(overview.before?.response_time_p95) : undefined;
  // Only the share of slow requests is missing in the overview.
  const [whole = NO_REQUESTS] =
    slowFromMs === undefined ? [overview] : await queryBoth(MEASURED[measure], [], slowFromMs);
  const toMoved = (group: Group): Moved => ({
    ...group,
    contribution: findContribution(measure, group, whole),
  });
  const dimensions: Dimension[] = [];
  // One after another, so that a call does not take all of the store's connections.
  for (const name of names) {
    const groupBy = GROUPED_BY[name];
    const groups = (await queryBoth(MEASURED[measure], groupBy, slowFromMs))
      .map(toMoved)
      .filter(({ contribution }) => contribution !== 0)
      .sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
    dimensions.push({ name, groupBy, shown: groups.slice(0, top), rest: groups.slice(top) });
  }
  const moved = toMoved(whole);
  const share = (contribution: number) =>
    moved.contribution === 0 ? null : toNumber(contribution / moved.contribution);
  return { measure, overview, whole: moved, dimensions, slowFromMs, share };
}

/** The sum of the groups of a dimension that are not shown. */
export function sumRest({ rest }: Dimension): number {
  return rest.reduce((total, { contribution }) => total + contribution, 0);
}

/** Requests are slow beyond the p95 of the baseline. */
function chooseThreshold(p95: string | number | null | undefined): number {
  return Math.min(MAX_THRESHOLD_MS, Math.max(1, Number(p95 ?? DEFAULT_THRESHOLD_MS)));
}

/**
 * The contribution of a group to the change of the whole; the contributions of a dimension's groups add up to
 * it. For counts it is the difference. For response times it is the difference of the group's slow requests
 * per request of the whole with a response time, so that more traffic alone is not a slowdown; percentiles do
 * not add up.
 */
function findContribution(measure: Measure, { now, before }: Group, whole: Group): number {
  if (measure !== 'response_time')
    return (readMeasure(measure, now) ?? 0) - (readMeasure(measure, before) ?? 0);
  const rate = (slow: number, of: MetricsValues | undefined) => slow / Math.max(1, countTimed(of));
  return rate(countSlow(now), whole.now) - rate(countSlow(before), whole.before);
}

/** Slow requests in halves, by the apdex of the group: requests up to four times the threshold count half. */
export function countSlow(row: MetricsValues | undefined): number {
  return Math.round(2 * countTimed(row) * (1 - Number(row?.apdex ?? 1))) / 2;
}

function countTimed(row: MetricsValues | undefined): number {
  return Number(row?.timed_requests ?? 0);
}

export function countRequests(row: MetricsValues | undefined): number {
  return Number(row?.requests ?? 0);
}

/** The measure of a group; for response times the p95. A count of a group without requests is 0. */
export function readMeasure(measure: Measure, row: MetricsValues | undefined): number | null {
  switch (measure) {
    case 'response_time':
      return readMetric(row, 'response_time_p95');
    case 'errors':
      return (readMeasure('client_errors', row) ?? 0) + (readMeasure('server_errors', row) ?? 0);
    case 'requests':
    case 'client_errors':
    case 'server_errors':
      return readMetric(row, measure) ?? 0;
  }
}

export function readMetric(row: MetricsValues | undefined, metric: Metric): number | null {
  return toNumber(row?.[metric]);
}

/** The current value, the baseline, and the difference. */
export function compare(
  now: number | null,
  before: number | null,
): [number | null, number | null, number | null] {
  return [now, before, now === null || before === null ? null : toNumber(now - before)];
}
