import type { CallToolResult } from '@modelcontextprotocol/server';
import type { GroupField, Metric } from '../api/app-metrics/app-metrics.input.js';
import type { Account } from '../platform/http/account.js';
import type { Window } from '../shared/time/window.js';
import type { AnalyticsReader, MetricsValues } from './analytics-reader.js';
import { type Group, listConsumers, matchGroups, toGroupCell, toNumber } from './metrics.tool.js';
import { type Scope, describeScope, resolveScope, toMetricFilters } from './scope.js';
import { type Cell, fitTable } from './tool-result.js';
import type { ExplainArguments, Measure } from './tools.js';
import {
  type Clock,
  createClock,
  describeRetention,
  describeWindow,
  findCountedWindow,
  chooseStep,
  findWindowBefore,
  formatBounds,
  readTime,
  readWindow,
  requireOrder,
  roundWindow,
} from './windows.js';

const DIMENSIONS: readonly { name: string; groupBy: readonly GroupField[] }[] = [
  { name: 'endpoint', groupBy: ['method', 'path'] },
  { name: 'consumer', groupBy: ['consumer_id'] },
  { name: 'status', groupBy: ['status_code'] },
];

/** The metrics that are compared for the whole. */
const OVERVIEW: readonly Metric[] = [
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

/** A group of a dimension, and its contribution to the change of the whole. */
interface Moved extends Group {
  contribution: number;
}

/** A dimension with its groups by contribution, and the groups that are shown first. */
interface Dimension {
  readonly name: string;
  readonly groupBy: readonly GroupField[];
  readonly shown: readonly Moved[];
  readonly rest: readonly Moved[];
}

/** The change of the whole, and its causes. */
interface Change {
  readonly measure: Measure;
  readonly overview: Group;
  /** With the metrics of the measure. */
  readonly whole: Group;
  readonly dimensions: readonly Dimension[];
  /** For response times: slower requests count as slow. */
  readonly slowFromMs: number | undefined;
  /** The share of a contribution in the change of the whole. */
  readonly share: (contribution: number) => number | null;
}

/** A call with its names and windows resolved. */
interface Call {
  readonly scope: Scope;
  readonly clock: Clock;
  readonly window: Window;
  readonly baseline: Window;
  readonly top: number;
  readonly consumers: ReadonlyMap<number, string>;
}

/** Queries the groups of both windows. */
type QueryBoth = (
  metrics: readonly Metric[],
  groupBy: readonly GroupField[],
  threshold?: number,
) => Promise<Group[]>;

/**
 * Compares two windows: how the whole changed, and which endpoints, consumers and status codes changed it.
 */
export async function explainChange(
  reader: AnalyticsReader,
  account: Account,
  args: ExplainArguments,
): Promise<CallToolResult> {
  const { measure, top, max_tokens } = args;
  const clock = createClock(args.timezone);
  const scope = await resolveScope(reader, account, args);
  const asked = readWindow(args.since, args.until, clock);
  const step = chooseStep(readBaseline(args, asked, clock).start, clock);
  const window = roundWindow(asked, step);
  const baseline = roundWindow(readBaseline(args, window, clock), step);
  const queryBoth: QueryBoth = async (metrics, group_by, threshold) => {
    const query = (of: Window) =>
      reader.queryMetrics(
        account,
        scope.app.id,
        {
          ...formatBounds(of),
          timezone: clock.timezone,
          metrics,
          group_by,
          filters: toMetricFilters(scope),
          apdex_threshold_ms: threshold,
        },
        threshold !== undefined,
      );
    return matchGroups(...(await Promise.all([query(window), query(baseline)])), group_by);
  };
  const change = await measureChange(queryBoth, measure, top);
  const ids = change.dimensions.flatMap(({ shown }) => listConsumers(shown));
  const consumers = await reader.findConsumers(account, scope.app.id, ids);
  const table = buildTable(change, { scope, clock, window, baseline, top, consumers });
  return fitTable(table, max_tokens, (shown) =>
    shown < table.rows.length
      ? { leftOut: `${table.rows.length - shown} rows of smaller share; raise max_tokens, or filter` }
      : undefined,
  );
}

async function measureChange(queryBoth: QueryBoth, measure: Measure, top: number): Promise<Change> {
  const [overview = NO_REQUESTS] = await queryBoth(OVERVIEW, []);
  const slowFromMs =
    measure === 'response_time' ? chooseThreshold(overview.before?.response_time_p95) : undefined;
  // Only the share of slow requests is missing in the overview.
  const [whole = NO_REQUESTS] =
    slowFromMs === undefined ? [overview] : await queryBoth(MEASURED[measure], [], slowFromMs);
  const dimensions: Dimension[] = [];
  // One after another, so that a call does not take all of the store's connections.
  for (const { name, groupBy } of DIMENSIONS) {
    const groups = (await queryBoth(MEASURED[measure], groupBy, slowFromMs))
      .map((group): Moved => ({ ...group, contribution: findContribution(measure, group, whole) }))
      .filter(({ contribution }) => contribution !== 0)
      .sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
    dimensions.push({ name, groupBy, shown: groups.slice(0, top), rest: groups.slice(top) });
  }
  const change = findContribution(measure, whole, whole);
  const share = (contribution: number) => (change === 0 ? null : toNumber(contribution / change));
  return { measure, overview, whole, dimensions, slowFromMs, share };
}

/** The change as a table: the whole, then the groups of all dimensions by their rank. */
function buildTable(change: Change, { scope, clock, window, baseline, top, consumers }: Call) {
  const { measure, overview, whole, slowFromMs } = change;
  const [counted, countedBaseline] = [window, baseline].map((period) =>
    findCountedWindow(period, undefined, clock),
  );
  const facts = {
    app_id: scope.app.id,
    measure,
    window: describeWindow(counted ?? window, clock),
    baseline: describeWindow(countedBaseline ?? baseline, clock),
    totals: compareTotals(overview),
    ...(slowFromMs !== undefined && { slow_from_ms: slowFromMs }),
  };
  const isTime = measure === 'response_time';
  return {
    title: [
      `Change of ${isTime ? 'response_time_p95' : measure}, ${facts.window.since} to ${facts.window.until} against ${facts.baseline.since} to ${facts.baseline.until} (${clock.timezone})`,
      `Whole, now (before): ${describeTotals(overview)}`,
      ...(slowFromMs === undefined
        ? []
        : [
            `share is of slow requests for each request with a response time; slow: longer than ${slowFromMs} ms, up to 4 times that counts half`,
          ]),
    ].join('\n'),
    facts,
    scope: describeScope(scope),
    columns: [
      'dimension',
      'value',
      'now',
      'before',
      'change',
      'share',
      ...(measure === 'requests' ? [] : ['requests', 'requests_before']),
      ...(isTime ? ['slow', 'slow_before'] : []),
    ],
    rows: [
      ['all', 'all', ...toCells(change, whole, findContribution(measure, whole, whole))],
      ...rankRows(change, top, consumers),
    ],
    leftOut: [
      ...describeRetention('window', window, counted, clock),
      ...describeRetention('baseline', baseline, countedBaseline, clock),
      ...describeRest(change, top),
    ],
  };
}

function compareTotals({ now, before }: Group): Record<string, ReturnType<typeof compare>> {
  return Object.fromEntries(
    OVERVIEW.map((metric) => [metric, compare(readMetric(now, metric), readMetric(before, metric))]),
  );
}

function describeTotals(overview: Group): string {
  return Object.entries(compareTotals(overview))
    .map(([metric, [now, before]]) => `${metric} ${now ?? '-'} (${before ?? '-'})`)
    .join(', ');
}

/** Describes the groups that are not shown. */
function describeRest({ dimensions, share }: Change, top: number): string[] {
  return dimensions
    .filter(({ rest }) => rest.length > 0)
    .map(({ name, rest }) => {
      const sum = rest.reduce((total, { contribution }) => total + contribution, 0);
      return `${rest.length} of dimension ${name}, together ${share(sum) ?? '-'} of the change; raise top (${top})`;
    });
}

/** Ordered by rank, so that the last rows, which may be left out, are the smallest of each dimension. */
function rankRows(change: Change, top: number, consumers: ReadonlyMap<number, string>): Cell[][] {
  return Array.from({ length: top }, (_, rank) =>
    change.dimensions.flatMap(({ name, groupBy, shown }) => {
      const group = shown[rank];
      if (!group) return [];
      const value = groupBy
        .map((field) => toGroupCell(field, group.now ?? group.before, consumers))
        .join(' ');
      return [[name, value, ...toCells(change, group, group.contribution)]];
    }),
  ).flat();
}

/** The cells of a row after the name of its group. */
function toCells({ measure, share }: Change, { now, before }: Group, contribution: number): Cell[] {
  return [
    ...compare(readMeasure(measure, now), readMeasure(measure, before)),
    share(contribution),
    ...(measure === 'requests' ? [] : [countRequests(now), countRequests(before)]),
    ...(measure === 'response_time' ? [Math.round(countSlow(now)), Math.round(countSlow(before))] : []),
  ];
}

const NO_REQUESTS: Group = { now: undefined, before: undefined };

function readBaseline(
  { baseline_since, baseline_until }: ExplainArguments,
  window: Window,
  clock: Clock,
): Window {
  const before = findWindowBefore(window);
  const baseline = {
    start: baseline_since === undefined ? before.start : readTime('baseline_since', baseline_since, clock),
    end: baseline_until === undefined ? before.end : readTime('baseline_until', baseline_until, clock),
  };
  requireOrder('baseline_since', 'baseline_until', baseline);
  return baseline;
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
function countSlow(row: MetricsValues | undefined): number {
  return Math.round(2 * countTimed(row) * (1 - Number(row?.apdex ?? 1))) / 2;
}

function countTimed(row: MetricsValues | undefined): number {
  return Number(row?.timed_requests ?? 0);
}

function countRequests(row: MetricsValues | undefined): number {
  return Number(row?.requests ?? 0);
}

/** The measure of a group; for response times the p95. A count of a group without requests is 0. */
function readMeasure(measure: Measure, row: MetricsValues | undefined): number | null {
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

function readMetric(row: MetricsValues | undefined, metric: Metric): number | null {
  return toNumber(row?.[metric]);
}

/** The current value, the baseline, and the difference. */
function compare(now: number | null, before: number | null): [number | null, number | null, number | null] {
  return [now, before, now === null || before === null ? null : toNumber(now - before)];
}
