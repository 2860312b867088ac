import {
  type CapturedException,
  EMPTY_CAPTURE_JSON,
  TRACE_ID,
  formatMicroseconds,
  toExceptionJson,
} from '../../records/capture.js';
import { getSpanHalf, hashSpan } from '../../records/server-span.js';
import { groupByParent, sortSpans } from '../../records/span-order.js';
import { HAS_METHOD } from '../../records/request-exceptions.js';
import type { LogPlace, TraceLog, TraceSpan } from './request-trace.repository.js';

/** The end of a capture without logs and spans. */
const NO_LOGS_NO_SPANS = EMPTY_CAPTURE_JSON.slice(EMPTY_CAPTURE_JSON.indexOf('"logs"'));
/** No JSON string contains the name of a member unescaped. */
const NO_EXCEPTION = ',"exception":null,"logs":[';
const FAILED = /,"status_code":[5-9]\d\d,/;
const TIMESTAMP = /^\{"timestamp":"([^"]+)"/;
const NO_SPAN = '0'.repeat(16);
/** In the details of one request. */
const MAX_SHOWN_LOGS = 1_000;

/** The details of a request, and how many of its log records are not in them. */
export interface DetailsWithTrace {
  details: Buffer;
  logsLeftOut: number;
}

/**
 * The trace of a request without captured logs and spans, with the request's time in milliseconds since the
 * epoch.
 */
export function findOpenTrace(details: Buffer): { traceId: string; timestamp: number } | undefined {
  if (!details.subarray(-NO_LOGS_NO_SPANS.length).equals(Buffer.from(NO_LOGS_NO_SPANS))) return undefined;
  const text = details.toString();
  const [, traceId] = TRACE_ID.exec(text) ?? [];
  const [, timestamp] = TIMESTAMP.exec(text) ?? [];
  return traceId === undefined || timestamp === undefined
    ? undefined
    : { traceId, timestamp: Date.parse(timestamp) };
}

/**
 * The time of a failed request without exception, in milliseconds since the epoch; undefined for another one.
 */
export function findOpenFailure(details: Buffer): number | undefined {
  const text = details.toString();
  const [, timestamp] = TIMESTAMP.exec(text) ?? [];
  return timestamp !== undefined && FAILED.test(text) && text.includes(NO_EXCEPTION)
    ? Date.parse(timestamp)
    : undefined;
}

export function addException(details: Buffer, exception: CapturedException): Buffer {
  const member = `,"exception":${toExceptionJson(exception)},"logs":[`;
  return Buffer.from(details.toString().replace(NO_EXCEPTION, () => member));
}

/** The span of the request; undefined if a library without spans reported the request. */
export function findOwnSpan(
  { requestUuid, traceId }: { requestUuid: string; traceId: string },
  spans: readonly TraceSpan[],
): TraceSpan | undefined {
  const half = getSpanHalf(requestUuid);
  return spans.find(({ kind, span_id }) => kind === 'SERVER' && hashSpan(traceId, span_id) === half);
}

/**
 * Adds the spans and log records of the request's trace that belong to the request: those below its span,
 * without other requests to the same app. If the request has no span, the whole trace belongs to it. Log
 * records of unknown spans belong to it if it is alone in its trace.
 *
 * @param counts of all log records of the trace, if `logs` has not all of them
 * @param isShared whether another consumer, whose data must not be shown, has requests in the trace
 */
export function addTrace(
  details: Buffer,
  { ownSpan, isShared }: { ownSpan: TraceSpan | undefined; isShared: boolean },
  spans: readonly TraceSpan[],
  logs: readonly TraceLog[],
  counts?: readonly (LogPlace & { logs: number })[],
): DetailsWithTrace {
  const belonging = sortSpans(ownSpan ? findBelow(ownSpan, spans) : spans);
  const ids = new Set(belonging.map(({ span_id }) => span_id));
  const isAlone = !isShared && spans.filter(({ kind }) => kind === 'SERVER').length <= 1;
  const shownSpanIds = new Set(spans.map(({ span_id }) => span_id));
  const isOfRequest = ({ span_id, server_span_id }: LogPlace) =>
    server_span_id !== NO_SPAN
      ? server_span_id === ownSpan?.span_id
      : ids.has(span_id) || (isAlone && !shownSpanIds.has(span_id));
  const ofRequest = logs.filter(isOfRequest);
  const shown = ofRequest.slice(0, MAX_SHOWN_LOGS);
  const total = counts?.filter(isOfRequest).reduce((sum, place) => sum + place.logs, 0) ?? ofRequest.length;
  const head = details.toString().slice(0, -NO_LOGS_NO_SPANS.length);
  const members = `"logs":[${shown.map(logText).join(',')}],"spans":[${belonging.map(spanText).join(',')}]}`;
  return { details: Buffer.from(`${head}${members}`), logsLeftOut: total - shown.length };
}

/** Whether a span is an HTTP request; other SERVER spans are of gRPC, for example. */
const isRequest = ({ kind, attributes }: TraceSpan) =>
  kind === 'SERVER' && new RegExp(HAS_METHOD).test(attributes);

/** A span and the spans below it, without other requests. */
function findBelow(root: TraceSpan, spans: readonly TraceSpan[]): TraceSpan[] {
  const children = groupByParent(spans);
  const found = new Set([root]);
  // A Set's iteration includes values added during it, each once. So a cycle of parents ends.
  for (const { span_id } of found)
    for (const child of children.get(span_id) ?? []) if (!isRequest(child)) found.add(child);
  return [...found];
}

function spanText({ span_id, parent_span_id, name, kind, status, attributes, ...times }: TraceSpan): string {
  const { start_time_ns, end_time_ns, duration_ns } = times;
  const head = JSON.stringify({
    span_id,
    parent_span_id: parent_span_id === NO_SPAN ? null : parent_span_id,
    name,
    kind: kind === 'UNSPECIFIED' ? 'INTERNAL' : kind,
  }).slice(0, -1);
  const numbers = `"start_time_ns":${start_time_ns},"end_time_ns":${end_time_ns},"duration_ns":${duration_ns}`;
  return `${head},${numbers},"status":${JSON.stringify(status)},"attributes":${attributes}}`;
}

function logText({ timestamp_ns, message, level, logger, file, line, attributes }: TraceLog): string {
  const text = JSON.stringify({
    timestamp: formatMicroseconds(Number(BigInt(timestamp_ns) / 1000n)),
    message,
    level,
    logger: logger || null,
    file: file || null,
    line: line || null,
  });
  return attributes === undefined ? text : `${text.slice(0, -1)},"attributes":${attributes || '{}'}}`;
}
