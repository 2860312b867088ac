import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Account } from '../platform/http/account.js';
import { logsRetainedFrom } from '../config/retention.js';
import { parseTimestamp, resolveTimestamp } from '../shared/time/timestamp.js';
import type { Window } from '../shared/time/window.js';
import type { RequestLogKey } from '../api/request-logs/request-log-key.js';
import { parseUuid } from '../platform/input/uuid.js';
import type { AnalyticsReader } from './analytics-reader.js';
import { type Scope, describeScope, resolveScope, toLogParameters, toMetricFilters } from './scope.js';
import { ToolError } from './tool.error.js';
import { type Cell, fitTable } from './tool-result.js';
import type { RequestField, SearchArguments } from './tools.js';
import { createClock, describeWindow, formatTime, readWindow } from './windows.js';

const DEFAULT_FIELDS: readonly RequestField[] = [
  'method',
  'url',
  'status_code',
  'response_time_ms',
  'consumer',
];
/** Every row has these fields, which order and identify it. */
const KEY = ['timestamp', 'request_uuid'] as const;
/** Fields that only Export Request Logs has. */
const EXPORTED = new Set<RequestField>([
  'trace_id',
  'request_headers',
  'request_body_json',
  'response_headers',
  'response_body_json',
  'exception_type',
  'exception_message',
  'exception_stacktrace',
  'sentry_event_id',
]);

type RequestRow = Readonly<Record<string, unknown>> & {
  readonly timestamp: string;
  readonly request_uuid: string;
};

/** Single requests: newest first, or oldest first if only an export can find them. */
export async function searchRequests(
  reader: AnalyticsReader,
  account: Account,
  args: SearchArguments,
): Promise<CallToolResult> {
  const { filters, limit, max_tokens } = args;
  const fields = [...new Set(args.fields ?? DEFAULT_FIELDS)].filter(
    (field) => field !== 'timestamp' && field !== 'request_uuid',
  );
  const needsExport = filters.length > 0 || fields.some((field) => EXPORTED.has(field));
  const order = args.order ?? (needsExport ? 'oldest' : 'newest');
  if (order === 'newest' && needsExport)
    throw new ToolError(
      'order newest is not possible with filters or with fields of headers, bodies, traces and exceptions: use oldest and a later since, or get_request.',
    );
  const clock = createClock(args.timezone);
  const scope = await resolveScope(reader, account, args);
  const asked = readWindow(args.since, args.until, clock);
  const window = { start: Math.max(asked.start, logsRetainedFrom(clock.now)), end: asked.end };
  const after = args.cursor === undefined ? undefined : readCursor(args.cursor);
  const { rows, hasMore } =
    window.start >= window.end
      ? { rows: [], hasMore: false }
      : order === 'newest'
        ? await listNewest(reader, account, scope, window, limit, after)
        : await listOldest(reader, account, scope, window, { limit, filters, fields }, after);
  const table = {
    title:
      `Requests, ${order} first, ${formatTime(window.start, clock)} to ${formatTime(window.end, clock)} (${clock.timezone})` +
      (rows.length === 0 ? ': none' : ''),
    facts: { app_id: scope.app.id, window: describeWindow(window, clock), order },
    scope: describeScope(scope),
    columns: [...KEY, ...fields],
    exactColumns: KEY.length,
    rows: rows.map((row) => [
      formatTime(Date.parse(row.timestamp), clock),
      row.request_uuid,
      ...fields.map((field) => toRequestCell(row[field])),
    ]),
    leftOut:
      asked.start < window.start
        ? ['requests before the window: logs are kept for 15 days; metrics has counts of 13 months']
        : [],
  };
  return fitTable(table, max_tokens, (shown) => {
    const last = rows[shown - 1] ?? rows[0];
    if (!last || (shown === rows.length && !hasMore)) return undefined;
    const fetched = rows.length - shown;
    const cursor = shown > 0 ? `${last.timestamp}/${last.request_uuid}` : args.cursor;
    return {
      leftOut: `${hasMore ? 'more requests' : `${fetched} requests`}; repeat the call with next${fetched > 0 ? ', with fewer fields, or raise max_tokens' : ''}`,
      next: {
        since: formatTime(window.start, clock),
        until: formatTime(window.end, clock),
        ...(cursor !== undefined && { cursor }),
      },
    };
  });
}

async function listNewest(
  reader: AnalyticsReader,
  account: Account,
  scope: Scope,
  window: Window,
  limit: number,
  after: RequestLogKey | undefined,
): Promise<{ rows: RequestRow[]; hasMore: boolean }> {
  const query = {
    ...toLogParameters(scope),
    start: new Date(window.start).toISOString(),
    end: new Date(window.end).toISOString(),
    limit: String(limit),
  };
  const { data, has_more } = await reader.listRequestLogs(account, scope.app.id, query, after);
  return { rows: data as object[] as RequestRow[], hasMore: has_more };
}

async function listOldest(
  reader: AnalyticsReader,
  account: Account,
  scope: Scope,
  window: Window,
  {
    limit,
    filters,
    fields,
  }: { limit: number; filters: SearchArguments['filters']; fields: readonly RequestField[] },
  after: RequestLogKey | undefined,
): Promise<{ rows: RequestRow[]; hasMore: boolean }> {
  const exported = await reader.exportRequestLogs(account, scope.app.id, {
    since: new Date(window.start).toISOString(),
    until: new Date(window.end).toISOString(),
    fields,
    filters: [...toMetricFilters(scope), ...filters],
    limit: limit + 1,
    ...(after && {
      after: { timestamp: new Date(after.timestamp).toISOString(), request_uuid: after.request_uuid },
    }),
  });
  return { rows: exported.slice(0, limit) as object[] as RequestRow[], hasMore: exported.length > limit };
}

/** The time and the UUID of the last request of the previous page, from `next`. */
function readCursor(cursor: string): RequestLogKey {
  const [time = '', uuid = '', ...rest] = cursor.split('/');
  const [timestamp, request_uuid] = [parseTimestamp(time), parseUuid(uuid)];
  if (timestamp.kind === 'invalid' || typeof request_uuid !== 'string' || rest.length > 0)
    throw new ToolError('cursor is not one of next: repeat the call without it.');
  return { timestamp: resolveTimestamp(timestamp), request_uuid };
}

function toRequestCell(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'number') return value;
  // A list of headers.
  return Array.isArray(value)
    ? value.map((pair: unknown[]) => pair.join(': ')).join('\n')
    : JSON.stringify(value);
}
