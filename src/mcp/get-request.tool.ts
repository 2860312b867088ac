import type { CallToolResult } from '@modelcontextprotocol/server';
import type { App } from '../api/apps/apps.dto.js';
import type { Account } from '../platform/http/account.js';
import { stringifyExact } from '../shared/json/exact-json.js';
import { ApiError } from '../platform/http/api-error.js';
import type { RequestDetails } from '../api/request-logs/request-details.dto.js';
import { parseUuid } from '../platform/input/uuid.js';
import type { AnalyticsReader } from './analytics-reader.js';
import { chooseApp } from './scope.js';
import { ToolError } from './tool.error.js';
import { type Cell, RESERVE, buildResult, cutCell, estimateResult, findLast } from './tool-result.js';
import { cutToTokens, estimateTokens } from './tokens.js';
import { type GetRequestArguments, PARTS, type Part } from './tools.js';
import { quoteName, showInvisible, toCell } from './untrusted-text.js';
import { createClock, formatTime } from './windows.js';

/** The largest share of the tokens for the parts that one field may have. */
const SHARE_OF_A_FIELD = 0.05;
const LEAST_FIELD_TOKENS = 5;
const EXACT_FIELDS = new Set(['timestamp', 'method', 'client_ip', 'trace_id']);

/** A part of a request as text, from `offset` on. */
interface RequestPart {
  part: Part;
  text: string;
  offset: number;
}

/** One request: its fields, and as much of its parts as fits. */
export async function getRequest(
  reader: AnalyticsReader,
  account: Account,
  { app: appName, request_uuid, timezone, part, offset, max_tokens }: GetRequestArguments,
): Promise<CallToolResult> {
  const clock = createClock(timezone);
  const uuid = parseUuid(request_uuid);
  if (typeof uuid !== 'string')
    throw new ToolError(`request_uuid is ${quoteName(request_uuid)}, which is not a UUID: ${uuid.msg}.`);
  if (part === undefined && offset > 0) throw new ToolError('offset needs part, the part that it is in.');
  const app = chooseApp(await reader.listApps(account), appName);
  const { details, logsLeftOut } = await reader
    .getRequestDetails(account, app.id, uuid)
    .catch((error: unknown) => {
      if (!(error instanceof ApiError && error.getStatus() === 404)) throw error;
      throw new ToolError(
        `App ${app.id} has no request ${uuid}. Requests are kept for 15 days; search_requests finds them.`,
      );
    });
  const fields =
    part === undefined ? readFields(details, app, formatTime(Date.parse(details.timestamp), clock)) : {};
  const pieces = readParts(details)
    .filter((piece) => part === undefined || piece.part === part)
    .map((piece) => ({ ...piece, text: piece.text.slice(offset), offset }));
  if (part !== undefined && pieces.length === 0) throw new ToolError(`The request has no ${part}.`);
  const notRead =
    logsLeftOut > 0 && pieces.some((piece) => piece.part === 'logs')
      ? [`${logsLeftOut} more log records, which no call returns`]
      : [];
  const renderWith = (tokens: number) =>
    render(uuid, app.id, clock.timezone, fields, pieces, notRead, tokens);
  // Both forms of the result contain each text, and JSON escapes some characters. So the number of tokens for
  // the parts is found by search.
  const tokens = findLast(max_tokens, (count) => estimateResult(renderWith(count)) <= max_tokens * RESERVE);
  return renderWith(tokens);
}

function render(
  uuid: string,
  appId: number,
  timezone: string,
  fields: Readonly<Record<string, Cell>>,
  pieces: readonly RequestPart[],
  notRead: readonly string[],
  tokens: number,
): CallToolResult {
  const shown = cutPieces(pieces, tokens);
  const kept = cutFields(fields, tokens);
  const cut = pieces.flatMap(({ part, text, offset }) => {
    const end = (shown.get(part) ?? '').length;
    return end < text.length ? [{ part, offset: offset + end, remaining: text.length - end }] : [];
  });
  return buildResult({
    title: `Request ${uuid} of app ${appId}; times in ${timezone}`,
    facts: { app_id: appId, request_uuid: uuid, timezone },
    untrusted: {
      ...kept,
      ...Object.fromEntries(Array.from(shown, ([name, text]) => [name, showInvisible(text)])),
    },
    lines: [
      ...Object.entries(kept).map(
        ([name, value]) => `${name}: ${typeof value === 'string' ? toCell(value) : String(value ?? '-')}`,
      ),
      ...Array.from(shown, ([name, text]) => `${name}:\n${showInvisible(text)}`),
    ],
    leftOut: [
      ...cut.map(
        ({ part, offset, remaining }) => `${remaining} characters of ${part}: part ${part}, offset ${offset}`,
      ),
      ...notRead,
    ],
    next: cut[0] && { request_uuid: uuid, part: cut[0].part, offset: cut[0].offset },
  });
}

/** Each part gets an equal share of the tokens; tokens that short parts do not need go to the longer ones. */
function cutPieces(pieces: readonly RequestPart[], tokens: number): Map<Part, string> {
  let [remaining, count] = [tokens, pieces.length];
  const byLength = [...pieces].sort((a, b) => a.text.length - b.text.length);
  const shown = new Map<Part, string>();
  for (const { part, text } of byLength) {
    const kept = cutToTokens(text, Math.floor(remaining / count));
    shown.set(part, kept);
    remaining -= estimateTokens(kept);
    count--;
  }
  return new Map(pieces.map(({ part }) => [part, shown.get(part) ?? '']));
}

function readFields(details: RequestDetails, app: App, timestamp: string): Record<string, Cell> {
  return {
    app: app.name,
    timestamp,
    env: details.env,
    consumer: details.consumer,
    consumer_id: details.consumer_id ?? null,
    method: details.method,
    path: details.path,
    status_code: details.status_code,
    response_time_ms: details.response_time_ms,
    request_size_bytes: details.request_size_bytes,
    response_size_bytes: details.response_size_bytes,
    client_ip: details.client_ip,
    client_country_iso_code: details.client_country_iso_code,
    trace_id: details.trace_id,
  };
}

function cutFields(fields: Readonly<Record<string, Cell>>, tokens: number): Record<string, Cell> {
  const maxTokens = Math.max(LEAST_FIELD_TOKENS, tokens * SHARE_OF_A_FIELD);
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      EXACT_FIELDS.has(name) ? value : cutCell(value, maxTokens),
    ]),
  );
}

/** The parts of the request, in the order of reading. */
function readParts(details: RequestDetails): Omit<RequestPart, 'offset'>[] {
  const { url, exception, logs, spans } = details;
  const texts: Readonly<Record<Part, string | null>> = {
    url,
    request_headers: joinHeaders(details.request_headers),
    request_body_json: details.request_body_json,
    response_headers: joinHeaders(details.response_headers),
    response_body_json: details.response_body_json,
    exception: exception && `${exception.type}: ${exception.message}\n${exception.stacktrace}`,
    logs: logs
      .map(({ timestamp, level, logger, message }) => `${timestamp} ${level} ${logger ?? ''} ${message}`)
      .join('\n'),
    spans: spans
      .map(({ name, kind, status, start_time_ns, duration_ns, span_id, parent_span_id, attributes }) =>
        [
          `${name} ${kind} ${status}`,
          `start_ns ${stringifyExact(start_time_ns)} duration_ns ${stringifyExact(duration_ns)}`,
          `id ${span_id} parent ${parent_span_id ?? '-'} ${stringifyExact(attributes)}`,
        ].join(', '),
      )
      .join('\n'),
  };
  return PARTS.flatMap((part) => {
    const text = texts[part];
    return text === null || text === '' ? [] : [{ part, text }];
  });
}

function joinHeaders(headers: readonly (readonly [string, string])[]): string {
  return headers.map(([name, value]) => `${name}: ${value}`).join('\n');
}
