import type { CallToolResult } from '@modelcontextprotocol/server';
import type { GroupField, Metric } from '../app-metrics/app-metrics.input.js';
import type { Account } from '../common/account.js';
import type { Window } from '../common/time/window.js';
import type { AnalyticsReader, MetricsValues } from './analytics-reader.js';
import { type Group, listConsumers, matchGroups, toGroupCell, toNumber } from './metrics.tool.js';
import { describeScope, resolveScope, toMetricFilters } from './scope.js';
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

/** What is compared for the whole. */
const OVERVIEW: readonly Metric[] = [
  'requests',
  'client_errors',
  'server_errors',
  'error_rate',
  'response_time_p50',
  'response_time_p95',
];

/** The metrics that a measure is made of. */
const MEASURED: Readonly<Record<Measure, readonly Metric[]>> = {
  requests: ['requests'],
  errors: ['requests', 'client_errors', 'server_errors'],
  server_errors: ['requests', 'server_errors'],
  client_errors: ['requests', 'client_errors'],
  response_time: ['requests', 'response_time_p95', 'apdex'],
};

const MAX_THRESHOLD_MS = 3_600_000;
const DEFAULT_THRESHOLD_MS = 500;

/** A group of a dimension, and what it adds to the change of the whole. */
interface Moved extends Group {
  contribution: number;
}

/** Both windows of the whole. */
interface Whole {
  now: MetricsValues | undefined;
  before: MetricsValues | undefined;
}

/** Two windows: how the whole moved, and which endpoints, consumers and status codes moved it. */
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
  const query = (
    of: Window,
    metrics: readonly Metric[],
    group_by: readonly GroupField[],
    threshold?: number,
  ) =>
    reader.queryMetrics(account, scope.app.id, {
      ...formatBounds(of),
      timezone: clock.timezone,
      metrics,
      group_by,
      filters: toMetricFilters(scope),
      apdex_threshold_ms: threshold,
    });
  const queryBoth = async (metrics: readonly Metric[], groupBy: readonly GroupField[], threshold?: number) =>
    matchGroups(
      ...(await Promise.all([
        query(window, metrics, groupBy, threshold),
        query(baseline, metrics, groupBy, threshold),
      ])),
      groupBy,
    );

  const [overview = NO_REQUESTS] = await queryBoth(OVERVIEW, []);
  const slowFromMs =
    measure === 'response_time' ? chooseThreshold(overview.before?.response_time_p95) : undefined;
  // Only the share of slow requests is not in the overview.
  const [whole = NO_REQUESTS] =
    slowFromMs === undefined ? [overview] : await queryBoth(MEASURED[measure], [], slowFromMs);
  const change = findContribution(measure, whole, whole);
  const moved: { name: string; groupBy: readonly GroupField[]; shown: Moved[]; rest: Moved[] }[] = [];
  // One after another, so that a call does not have the store's connections for itself.
  for (const { name, groupBy } of DIMENSIONS) {
    const groups = (await queryBoth(MEASURED[measure], groupBy, slowFromMs))
      .map((group): Moved => ({ ...group, contribution: findContribution(measure, group, whole) }))
      .filter(({ contribution }) => contribution !== 0)
      .sort((one, other) => Math.abs(other.contribution) - Math.abs(one.contribution));
    moved.push({ name, groupBy, shown: groups.slice(0, top), rest: groups.slice(top) });
  }
  const ids = moved.flatMap(({ shown }) => listConsumers(shown));
  const consumers = await reader.findConsumers(account, scope.app.id, ids);
  const share = (contribution: number) => (change === 0 ? null : toNumber(contribution / change));

  const isTime = measure === 'response_time';
  const toRow = (dimension: string, value: string, group: Group, part: number | null): Cell[] => [
    dimension,
    value,
    ...compare(readMeasure(measure, group.now), readMeasure(measure, group.before)),
    part,
    ...(measure === 'requests' ? [] : [countRequests(group.now), countRequests(group.before)]),
    ...(isTime ? [Math.round(countSlow(group.now)), Math.round(countSlow(group.before))] : []),
  ];
  // By rank, so that the last rows, which may be left out, are the least of each dimension.
  const ranked = Array.from({ length: top }, (_, rank) =>
    moved.flatMap(({ name, groupBy, shown }) => {
      const group = shown[rank];
      if (!group) return [];
      const value = groupBy
        .map((field) => toGroupCell(field, group.now ?? group.before, consumers))
        .join(' ');
      return [toRow(name, value, group, share(group.contribution))];
    }),
  ).flat();
  const [counted, countedBaseline] = [window, baseline].map((one) =>
    findCountedWindow(one, undefined, clock),
  );
  const facts = {
    app_id: scope.app.id,
    measure,
    window: describeWindow(counted ?? window, clock),
    baseline: describeWindow(countedBaseline ?? baseline, clock),
    totals: Object.fromEntries(
      OVERVIEW.map((metric) => [
        metric,
        compare(readMetric(overview.now, metric), readMetric(overview.before, metric)),
      ]),
    ),
    ...(slowFromMs !== undefined && { slow_from_ms: slowFromMs }),
  };
  const totals = Object.entries(facts.totals).map(
    ([metric, [now, before]]) => `${metric} ${now ?? '-'} (${before ?? '-'})`,
  );
  const rows = [toRow('all', 'all', whole, change === 0 ? null : 1), ...ranked];
  const table = {
    title: [
      `Change of ${isTime ? 'response_time_p95' : measure}, ${facts.window.since} to ${facts.window.until} against ${facts.baseline.since} to ${facts.baseline.until} (${clock.timezone})`,
      `Whole, now (before): ${totals.join(', ')}`,
      ...(slowFromMs === undefined
        ? []
        : [
            `share is of slow requests for each request; slow: longer than ${slowFromMs} ms, up to 4 times that counts half`,
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
    rows,
    leftOut: [
      ...describeRetention('window', window, counted, clock),
      ...describeRetention('baseline', baseline, countedBaseline, clock),
      ...moved.flatMap(({ name, rest }) => {
        const sum = rest.reduce((total, { contribution }) => total + contribution, 0);
        return rest.length === 0
          ? []
          : [
              `${rest.length} of dimension ${name}, together ${share(sum) ?? '-'} of the change; raise top (${top})`,
            ];
      }),
    ],
  };
  return fitTable(table, max_tokens, (shown) =>
    shown < rows.length
      ? { leftOut: `${rows.length - shown} rows of smaller share; raise max_tokens, or filter` }
      : undefined,
  );
}

const NO_REQUESTS: Whole = { now: undefined, before: undefined };

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
 * What a group adds to the change of the whole; over the groups of a dimension these add up to it. Counts: the difference.
 * Response times: the difference of its slow requests for each request of the whole, so that more traffic alone is
 * no slowdown; percentiles do not add up.
 */
function findContribution(measure: Measure, { now, before }: Group, whole: Whole): number {
  if (measure !== 'response_time')
    return (readMeasure(measure, now) ?? 0) - (readMeasure(measure, before) ?? 0);
  const rate = (slow: number, of: MetricsValues | undefined) => slow / Math.max(1, countRequests(of));
  return rate(countSlow(now), whole.now) - rate(countSlow(before), whole.before);
}

/** Slow requests, by the apdex of the group: those up to four times the threshold count half. */
function countSlow(row: MetricsValues | undefined): number {
  const apdex = row?.apdex ?? null;
  return apdex === null ? 0 : countRequests(row) * (1 - Number(apdex));
}

function countRequests(row: MetricsValues | undefined): number {
  return Number(row?.requests ?? 0);
}

/** The measure of a group; the p95 of response times. A count of a group without requests is 0. */
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

/** Now, before, and the difference. */
function compare(now: number | null, before: number | null): [number | null, number | null, number | null] {
  return [now, before, now === null || before === null ? null : toNumber(now - before)];
}
