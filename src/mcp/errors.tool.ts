import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Account } from '../platform/http/account.js';
import { QUARTER_MS, roundWindow } from '../api/changes/compared-windows.js';
import type { AnalyticsReader } from './analytics-reader.js';
import { describeScope, resolveScope, toMetricFilters } from './scope.js';
import { fitTable } from './tool-result.js';
import type { ErrorsArguments } from './tools.js';
import { createClock, describeWindow, formatBounds, formatTime, readWindow } from './windows.js';

const COLUMNS = [
  'errors',
  'consumers',
  'first_seen',
  'last_seen',
  'request_uuid',
  'kind',
  'type',
  'message',
  'method',
  'path',
  'env',
] as const;
/** Numbers, times and the ID of a request are never cut. */
const EXACT_COLUMNS = 5;

/** The most frequent errors of a window: since when, for how many consumers, and a request of each. */
export async function queryErrors(
  reader: AnalyticsReader,
  account: Account,
  args: ErrorsArguments,
): Promise<CallToolResult> {
  const { top, max_tokens } = args;
  const clock = createClock();
  const scope = await resolveScope(reader, account, { ...args, status: undefined });
  const window = roundWindow(readWindow(args.since, args.until, clock), QUARTER_MS);
  const found = await reader.queryErrors(account, scope.app.id, {
    ...formatBounds(window),
    filters: toMetricFilters(scope),
    // One more shows that there are others.
    limit: top + 1,
  });
  const shown = found.slice(0, top);
  const described = describeWindow(window, clock);
  const table = {
    title:
      `Errors, ${described.since} to ${described.until} (${clock.timezone})` +
      (found.length === 0 ? ': none' : '; first_seen and last_seen also outside of it'),
    facts: { app_id: scope.app.id, window: described },
    scope: describeScope(scope),
    columns: COLUMNS,
    exactColumns: EXACT_COLUMNS,
    rows: shown.map((row) =>
      COLUMNS.map((column) =>
        column === 'first_seen' || column === 'last_seen'
          ? formatTime(Date.parse(row[column]), clock)
          : row[column],
      ),
    ),
    leftOut: [],
  };
  return fitTable(table, max_tokens, (fitting) => {
    const isAll = fitting === shown.length && found.length <= top;
    return isAll
      ? undefined
      : { leftOut: `rarer errors than these ${fitting}; raise top or max_tokens, or filter` };
  });
}
