import type { CallToolResult } from '@modelcontextprotocol/server';
import { findWindowBefore, roundWindows } from '../api/changes/compared-windows.js';
import { type Group, matchGroups } from '../api/changes/groups.js';
import {
  type Change,
  type Moved,
  OVERVIEW,
  type QueryBoth,
  compare,
  countRequests,
  countSlow,
  measureChange,
  readMeasure,
  readMetric,
  sumRest,
} from '../api/changes/measure-change.js';
import type { Account } from '../platform/http/account.js';
import type { Window } from '../shared/time/window.js';
import { findNearest } from '../shared/nearest.js';
import type { AnalyticsReader } from './analytics-reader.js';
import { listConsumers, toGroupCell } from './metrics.tool.js';
import { type Scope, describeScope, resolveScope, toMetricFilters } from './scope.js';
import { ToolError, unknownName } from './tool.error.js';
import { type Cell, fitTable } from './tool-result.js';
import type { ExplainArguments } from './tools.js';
import {
  type Clock,
  createClock,
  describeRetention,
  describeWindow,
  findCountedWindow,
  formatBounds,
  readTime,
  readWindow,
  requireOrder,
} from './windows.js';

/** A call with its names and windows resolved. */
interface Call {
  readonly scope: Scope;
  readonly clock: Clock;
  readonly window: Window;
  readonly baseline: Window;
  readonly top: number;
  readonly consumers: ReadonlyMap<number, string>;
}

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
  const asked =
    args.since_release === undefined
      ? readWindow(args.since, args.until, clock)
      : await findWindowSince(reader, account, scope, args.since_release, args, clock);
  const { window, baseline } = roundWindows(asked, clock.now, (of) => readBaseline(args, of, clock));
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

/** The window from the begin of a release on. @throws ToolError that names the most similar releases */
async function findWindowSince(
  reader: AnalyticsReader,
  account: Account,
  { app, env }: Scope,
  release: string,
  { since, until }: ExplainArguments,
  clock: Clock,
): Promise<Window> {
  if (since !== undefined) throw new ToolError('since and since_release exclude each other: leave out one.');
  const start = await reader.findReleaseBegin(account, app.id, release, env?.name);
  if (start === undefined) {
    const releases = await reader.listReleases(account, app.id);
    throw unknownName('release', release, findNearest(release, releases.map(getVersion)));
  }
  const window = { start, end: until === undefined ? clock.now : readTime('until', until, clock) };
  requireOrder('since_release', 'until', window);
  return window;
}

const getVersion = ({ version }: { version: string }) => version;

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
    rows: [['all', 'all', ...toCells(change, whole)], ...rankRows(change, top, consumers)],
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
    .map(
      (dimension) =>
        `${dimension.rest.length} of dimension ${dimension.name}, together ${share(sumRest(dimension)) ?? '-'} of the change; raise top (${top})`,
    );
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
      return [[name, value, ...toCells(change, group)]];
    }),
  ).flat();
}

/** The cells of a row after the name of its group. */
function toCells({ measure, share }: Change, { now, before, contribution }: Moved): Cell[] {
  return [
    ...compare(readMeasure(measure, now), readMeasure(measure, before)),
    share(contribution),
    ...(measure === 'requests' ? [] : [countRequests(now), countRequests(before)]),
    ...(measure === 'response_time' ? [Math.round(countSlow(now)), Math.round(countSlow(before))] : []),
  ];
}

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
