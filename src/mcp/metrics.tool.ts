import type { CallToolResult } from '@modelcontextprotocol/server';
import type { GroupField, Metric } from '../app-metrics/app-metrics.input.js';
import type { Account } from '../common/account.js';
import type { Window } from '../common/time/window.js';
import type { AnalyticsReader, MetricsValues } from './analytics-reader.js';
import { describeScope, resolveScope, toMetricFilters } from './scope.js';
import { ToolError } from './tool.error.js';
import { type Cell, type Continuation, fitTable } from './tool-result.js';
import type { MetricsArguments } from './tools.js';
import {
  createClock,
  describeRetention,
  describeWindow,
  findCountedWindow,
  chooseStep,
  findWindowBefore,
  formatBounds,
  formatTime,
  readWindow,
  roundWindow,
} from './windows.js';

/** The values of one group in the window, and in the one before. */
export interface Group {
  now: MetricsValues | undefined;
  before: MetricsValues | undefined;
}

/** Metrics of a window: a row in all, the top groups, or a series. */
export async function queryMetrics(
  reader: AnalyticsReader,
  account: Account,
  args: MetricsArguments,
): Promise<CallToolResult> {
  const { interval, group_by, top, compare, max_tokens } = args;
  if (interval !== undefined && compare)
    throw new ToolError('compare is for calls without interval: leave out one of them.');
  const metrics = [...new Set(args.metrics)];
  const groupBy = [...new Set(group_by)];
  const [sortBy = 'requests'] = metrics;
  const clock = createClock(args.timezone);
  const scope = await resolveScope(reader, account, args);
  const asked = readWindow(args.since, args.until, clock);
  const step = chooseStep(compare ? findWindowBefore(asked).start : asked.start, clock);
  const window = interval === undefined ? roundWindow(asked, step) : asked;
  const before = findWindowBefore(window);
  const query = (of: Window, groups: readonly GroupField[], period?: MetricsArguments['interval']) =>
    reader.queryMetrics(account, scope.app.id, {
      ...formatBounds(of),
      timezone: clock.timezone,
      // What is left out is counted in requests.
      metrics: [...new Set<Metric>([...metrics, 'requests'])],
      interval: period,
      group_by: groups,
      filters: toMetricFilters(scope),
    });
  const counted = findCountedWindow(window, interval, clock);
  const countedBefore = findCountedWindow(before, undefined, clock);
  const facts = {
    app_id: scope.app.id,
    window: describeWindow(counted ?? window, clock),
    ...(compare && { before: describeWindow(countedBefore ?? before, clock) }),
  };
  const describeTitle = (what: string) =>
    `${what}, ${facts.window.since} to ${facts.window.until} (${clock.timezone})` +
    (facts.before ? `, before: ${facts.before.since} to ${facts.before.until}` : '');
  const [totals, totalsBefore, groups, groupsBefore] = await Promise.all([
    query(window, []),
    compare ? query(before, []) : [],
    groupBy.length > 0 ? query(window, groupBy) : [],
    groupBy.length > 0 && compare ? query(before, groupBy) : [],
  ]);
  const sorted = matchGroups(groups, groupsBefore, groupBy).sort(
    (one, other) => readNumber(other, sortBy) - readNumber(one, sortBy),
  );
  const shownGroups = sorted.slice(0, top);
  const rest = sorted.slice(top);
  const consumers = await reader.findConsumers(account, scope.app.id, listConsumers(shownGroups));
  const toGroupCells = (row: MetricsValues | undefined): Cell[] =>
    groupBy.map((field) => toGroupCell(field, row, consumers));
  const leftOut = [
    ...describeRetention('window', asked, counted, clock),
    ...(compare ? describeRetention('window before', before, countedBefore, clock) : []),
    ...(rest.length > 0
      ? [
          `${rest.length} groups with ${rest.reduce((sum, { now }) => sum + Number(now?.requests ?? 0), 0)} requests; raise top (${top}), or filter`,
        ]
      : []),
  ];
  const described = { scope: describeScope(scope), leftOut };

  if (interval !== undefined) {
    const series = await query(window, groupBy, interval);
    const order = new Map(shownGroups.map(({ now }, index) => [buildGroupKey(now, groupBy), index]));
    const rows = series
      .filter((row) => groupBy.length === 0 || order.has(buildGroupKey(row, groupBy)))
      .map((row) => [
        formatTime(Date.parse(row.period_start), clock),
        ...toGroupCells(row),
        ...metrics.map((metric) => toNumber(row[metric])),
      ]);
    const table = {
      ...described,
      title: describeTitle(`Metrics by ${interval}`),
      facts,
      columns: ['period_start', ...groupBy, ...metrics],
      exactColumns: 1,
      // A page begins with a period, so the rest of one could not be read by itself.
      keepsTogether: true,
      rows,
    };
    return fitTable(table, max_tokens, (shown) => continueSeries(rows, shown, facts.window.until));
  }

  const all = { now: totals[0], before: totalsBefore[0] };
  const toCells = (group: Group): Cell[] =>
    metrics.flatMap((metric) => {
      const now = toNumber(group.now?.[metric] ?? absent(metric));
      if (!compare) return [now];
      const earlier = toNumber(group.before?.[metric] ?? absent(metric));
      return [now, earlier, now === null || earlier === null ? null : toNumber(now - earlier)];
    });
  const rows = [
    // First, because the last rows are those that are left out.
    [...groupBy.map((_, index) => (index === 0 ? '(all)' : null)), ...toCells(all)],
    ...shownGroups.map((group) => [...toGroupCells(group.now ?? group.before), ...toCells(group)]),
  ];
  const table = {
    ...described,
    title: describeTitle(groupBy.length > 0 ? `Top groups by ${sortBy}; (all) is the whole` : 'Metrics'),
    facts,
    columns: [
      ...groupBy,
      ...metrics.flatMap((metric) => (compare ? [metric, `${metric}_before`, `${metric}_change`] : [metric])),
    ],
    rows,
  };
  return fitTable(table, max_tokens, (shown) =>
    shown < rows.length
      ? { leftOut: `${rows.length - shown} smaller groups of the top ${top}; raise max_tokens, or filter` }
      : undefined,
  );
}

/** The rest of a series from a period on. Of a period that alone is too large, the rest cannot be read by `next`. */
function continueSeries(
  rows: readonly (readonly Cell[])[],
  shown: number,
  until: string,
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
    ...(since !== undefined && { next: { since, until } }),
  };
}

/** A group that is not there has no requests; it has no response times either. */
function absent(metric: Metric): number | null {
  return /^response_time|^apdex|_rate$/.test(metric) ? null : 0;
}

function buildGroupKey(row: MetricsValues | undefined, groupBy: readonly GroupField[]): string {
  return JSON.stringify(groupBy.map((field) => row?.[field] ?? null));
}

/** The groups of two windows: those of either. */
export function matchGroups(
  now: readonly MetricsValues[],
  before: readonly MetricsValues[],
  groupBy: readonly GroupField[],
): Group[] {
  const groups = new Map<string, Group>();
  for (const row of now) groups.set(buildGroupKey(row, groupBy), { now: row, before: undefined });
  for (const row of before) {
    const key = buildGroupKey(row, groupBy);
    groups.set(key, { now: groups.get(key)?.now, before: row });
  }
  return [...groups.values()];
}

/** Groups that are gone count as 0, and unknown values come last. */
function readNumber({ now }: Group, metric: Metric): number {
  return now ? Number(now[metric] ?? -1) : 0;
}

export function listConsumers(groups: readonly Group[]): number[] {
  return groups.flatMap(({ now, before }) => {
    const id = (now ?? before)?.consumer_id;
    return typeof id === 'number' ? [id] : [];
  });
}

/** A consumer is shown by its identifier. */
export function toGroupCell(
  field: GroupField,
  row: MetricsValues | undefined,
  consumers: ReadonlyMap<number, string>,
): Cell {
  const value = row?.[field] ?? null;
  if (field !== 'consumer_id' || typeof value !== 'number') return value ?? ABSENT[field];
  return consumers.get(value) ?? `consumer ${value}`;
}

/** What stands for a group without the value. */
const ABSENT: Readonly<Record<GroupField, string>> = {
  env: '(no environment)',
  consumer_id: '(no consumer)',
  method: '(no route)',
  path: '(no route)',
  status_code: '(unknown)',
};

/** Rates have four digits; counts and milliseconds are whole. */
export function toNumber(value: string | number | null | undefined): number | null {
  if (value === null || value === undefined) return null;
  const number = Number(value);
  return Number.isInteger(number) ? number : Number(number.toPrecision(4));
}
