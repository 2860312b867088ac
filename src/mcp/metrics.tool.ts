import type { CallToolResult } from '@modelcontextprotocol/server';
import type { GroupField } from '../api/app-metrics/app-metrics.input.js';
import type { Metric } from '../api/app-metrics/metric-names.js';
import type { Account } from '../platform/http/account.js';
import type { Window } from '../shared/time/window.js';
import { chooseStep, findWindowBefore, roundWindow } from '../api/changes/compared-windows.js';
import {
  type Group,
  type MetricsValues,
  buildGroupKey,
  matchGroups,
  toNumber,
} from '../api/changes/groups.js';
import type { AnalyticsReader } from './analytics-reader.js';
import { type Scope, describeScope, resolveScope, toMetricFilters } from './scope.js';
import { ToolError } from './tool.error.js';
import { type Cell, type Continuation, fitTable } from './tool-result.js';
import type { MetricsArguments } from './tools.js';
import {
  type Clock,
  createClock,
  describeRetention,
  describeWindow,
  findCountedWindow,
  formatBounds,
  formatTime,
  readTime,
  readWindow,
  requireOrder,
} from './windows.js';

/** A call with its names resolved. */
interface MetricsCall extends Pick<MetricsArguments, 'top' | 'max_tokens'> {
  readonly scope: Scope;
  readonly clock: Clock;
  /** The requested window, before the retention cuts it. */
  readonly window: Window;
  /** Without repetitions; groups are sorted by the first metric. */
  readonly metrics: readonly Metric[];
  readonly groupBy: readonly GroupField[];
  readonly query: (
    of: Window,
    groups: readonly GroupField[],
    period?: MetricsArguments['interval'],
  ) => Promise<MetricsValues[]>;
  readonly findConsumers: (groups: readonly Group[]) => Promise<ReadonlyMap<number, string>>;
}

/** Metrics of a window: a total, the top groups, or a series. */
export async function queryMetrics(
  reader: AnalyticsReader,
  account: Account,
  args: MetricsArguments,
): Promise<CallToolResult> {
  const { interval, top, compare, max_tokens, ranked_since } = args;
  if (interval !== undefined && compare)
    throw new ToolError('compare is for calls without interval: leave out one of them.');
  const metrics = [...new Set(args.metrics)];
  const clock = createClock(args.timezone);
  const scope = await resolveScope(reader, account, args);
  const call: MetricsCall = {
    scope,
    clock,
    window: readWindow(args.since, args.until, clock),
    metrics,
    groupBy: [...new Set(args.group_by)],
    top,
    max_tokens,
    query: (of, groups, period) =>
      reader.queryMetrics(account, scope.app.id, {
        ...formatBounds(of),
        timezone: clock.timezone,
        // The result says how many requests the left-out groups have.
        metrics: [...new Set<Metric>([...metrics, 'requests'])],
        interval: period,
        group_by: groups,
        filters: toMetricFilters(scope),
      }),
    findConsumers: (groups) => reader.findConsumers(account, scope.app.id, listConsumers(groups)),
  };
  return interval === undefined ? buildGroups(call, compare) : buildSeries(call, interval, ranked_since);
}

/**
 * A row for each period and group; the groups with the most in all periods.
 *
 * @param rankedSince start of the series, if this is a later page of it
 */
async function buildSeries(
  call: MetricsCall,
  interval: NonNullable<MetricsArguments['interval']>,
  rankedSince: string | undefined,
): Promise<CallToolResult> {
  const { scope, clock, window, metrics, groupBy, max_tokens, query } = call;
  const counted = findCountedWindow(window, interval, clock);
  const ranked = counted && {
    start: rankedSince === undefined ? counted.start : readTime('ranked_since', rankedSince, clock),
    end: counted.end,
  };
  if (ranked) requireOrder('ranked_since', 'until', ranked);
  const groups = ranked && groupBy.length > 0 ? matchGroups(await query(ranked, groupBy), [], groupBy) : [];
  const { shown: shownGroups, toCells, leftOut } = await rankGroups(call, groups);
  const series = await query(window, groupBy, interval);
  const wanted = new Set(shownGroups.map(({ now }) => buildGroupKey(now, groupBy)));
  const rows = series
    .filter((row) => groupBy.length === 0 || wanted.has(buildGroupKey(row, groupBy)))
    .map((row) => [
      formatTime(Date.parse(row.period_start), clock),
      ...toCells(row),
      ...metrics.map((metric) => toNumber(row[metric])),
    ]);
  const described = describeWindow(counted ?? window, clock);
  const table = {
    title: `Metrics by ${interval}, ${described.since} to ${described.until} (${clock.timezone})`,
    facts: { app_id: scope.app.id, window: described },
    scope: describeScope(scope),
    columns: ['period_start', ...groupBy, ...metrics],
    exactColumns: 1,
    // A page begins with a whole period: a part of a period could not be read by itself.
    keepsTogether: true,
    rows,
    leftOut: [...describeRetention('window', window, counted, clock), ...leftOut],
  };
  const rest = {
    until: described.until,
    ...(ranked && groupBy.length > 0 && { ranked_since: formatTime(ranked.start, clock) }),
  };
  return fitTable(table, max_tokens, (shown) => continueSeries(rows, shown, rest));
}

/** A row for the total, and a row for each of the top groups. */
async function buildGroups(call: MetricsCall, compare: boolean): Promise<CallToolResult> {
  const { scope, clock, metrics, groupBy, top, max_tokens, query } = call;
  const step = chooseStep(compare ? findWindowBefore(call.window).start : call.window.start, clock.now);
  const window = roundWindow(call.window, step);
  const before = findWindowBefore(window);
  const [totals, totalsBefore, groups, groupsBefore] = await Promise.all([
    query(window, []),
    compare ? query(before, []) : [],
    groupBy.length > 0 ? query(window, groupBy) : [],
    groupBy.length > 0 && compare ? query(before, groupBy) : [],
  ]);
  const ranked = await rankGroups(call, matchGroups(groups, groupsBefore, groupBy));
  const toCells = (group: Group): Cell[] =>
    metrics.flatMap((metric) => {
      const now = toNumber(group.now?.[metric] ?? absent(metric));
      if (!compare) return [now];
      const earlier = toNumber(group.before?.[metric] ?? absent(metric));
      return [now, earlier, now === null || earlier === null ? null : toNumber(now - earlier)];
    });
  const all = { now: totals[0], before: totalsBefore[0] };
  const rows = [
    // First, because the last rows are left out if there is too little room.
    [...groupBy.map((_, index) => (index === 0 ? '(all)' : null)), ...toCells(all)],
    ...ranked.shown.map((group) => [...ranked.toCells(group.now ?? group.before), ...toCells(group)]),
  ];
  const counted = findCountedWindow(window, undefined, clock);
  const countedBefore = findCountedWindow(before, undefined, clock);
  const described = describeWindow(counted ?? window, clock);
  const describedBefore = compare ? describeWindow(countedBefore ?? before, clock) : undefined;
  const table = {
    title:
      `${groupBy.length > 0 ? `Top groups by ${metrics[0]}; (all) is the whole` : 'Metrics'}, ` +
      `${described.since} to ${described.until} (${clock.timezone})` +
      (describedBefore ? `, before: ${describedBefore.since} to ${describedBefore.until}` : ''),
    facts: {
      app_id: scope.app.id,
      window: described,
      ...(describedBefore && { before: describedBefore }),
    },
    scope: describeScope(scope),
    columns: [
      ...groupBy,
      ...metrics.flatMap((metric) => (compare ? [metric, `${metric}_before`, `${metric}_change`] : [metric])),
    ],
    rows,
    leftOut: [
      ...describeRetention('window', call.window, counted, clock),
      ...(compare ? describeRetention('window before', before, countedBefore, clock) : []),
      ...ranked.leftOut,
    ],
  };
  return fitTable(table, max_tokens, (shown) =>
    shown < rows.length
      ? { leftOut: `${rows.length - shown} smaller groups of the top ${top}; raise max_tokens, or filter` }
      : undefined,
  );
}

/** The top groups, their displayed names, and a sentence about the other groups. */
async function rankGroups(
  { metrics: [sortBy = 'requests'], groupBy, top, findConsumers }: MetricsCall,
  groups: readonly Group[],
) {
  const sorted = groups.toSorted((a, b) => readNumber(b, sortBy) - readNumber(a, sortBy));
  const shown = sorted.slice(0, top);
  const rest = sorted.slice(top);
  const consumers = await findConsumers(shown);
  return {
    shown,
    toCells: (row: MetricsValues | undefined): Cell[] =>
      groupBy.map((field) => toGroupCell(field, row, consumers)),
    leftOut:
      rest.length > 0
        ? [
            `${rest.length} groups with ${rest.reduce((sum, { now }) => sum + Number(now?.requests ?? 0), 0)} requests; raise top (${top}), or filter`,
          ]
        : [],
  };
}

/**
 * Describes how to read the rest of a series from a period on. If a single period is too large, `next` cannot
 * read its rest.
 */
function continueSeries(
  rows: readonly (readonly Cell[])[],
  shown: number,
  rest: { until: string; ranked_since?: string },
): Continuation | undefined {
  if (shown === rows.length) return undefined;
  const first = rows[0]?.[0];
  const isTooLarge = rows[shown]?.[0] === first;
  const from = isTooLarge ? rows.findIndex(([start]) => start !== first) : shown;
  const end = from === -1 ? rows.length : from;
  const since = rows[end]?.[0];
  return {
    leftOut: [
      ...(isTooLarge ? [`${end - shown} rows of ${first}; raise max_tokens, lower top, or filter`] : []),
      ...(since === undefined
        ? []
        : [
            `${rows.length - end} rows from ${since} on; repeat the call with next, or with a larger interval, fewer metrics, or max_tokens for all`,
          ]),
    ].join('; '),
    ...(since !== undefined && { next: { since, ...rest } }),
  };
}

/** A group without a row has no requests, and no response times either. */
function absent(metric: Metric): number | null {
  return /^response_time|^apdex|_rate$/.test(metric) ? null : 0;
}

/** Groups that have disappeared count as 0, and unknown values come last. */
function readNumber({ now }: Group, metric: Metric): number {
  return now ? Number(now[metric] ?? -1) : 0;
}

export function listConsumers(groups: readonly Group[]): number[] {
  return groups.flatMap(({ now, before }) => {
    const id = (now ?? before)?.consumer_id;
    return typeof id === 'number' ? [id] : [];
  });
}

/** The text of a group's cell; a consumer is shown by its identifier. */
export function toGroupCell(
  field: GroupField,
  row: MetricsValues | undefined,
  consumers: ReadonlyMap<number, string>,
): Cell {
  const value = row?.[field] ?? null;
  if (field !== 'consumer_id' || typeof value !== 'number') return value ?? ABSENT[field];
  return consumers.get(value) ?? `consumer ${value}`;
}

/** The text for a group without a value. */
const ABSENT: Readonly<Record<GroupField, string>> = {
  env: '(no environment)',
  app_version: '(none or several)',
  consumer_id: '(no consumer)',
  method: '(no route)',
  path: '(no route)',
  status_code: '(unknown)',
  consumer_group: '(no group)',
  status_class: '(unknown)',
};
