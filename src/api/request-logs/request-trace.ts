import { EMPTY_CAPTURE_JSON, TRACE_ID, formatMicroseconds } from '../../records/capture.js';
import { findRequestUuid } from '../../records/server-span.js';
import type { LogPlace, TraceLog, TraceSpan } from './request-trace.repository.js';

/** The end of a capture without logs and spans. */
const NO_LOGS_NO_SPANS = EMPTY_CAPTURE_JSON.slice(EMPTY_CAPTURE_JSON.indexOf('"logs"'));
const NO_EXCEPTION = `"exception":null,${NO_LOGS_NO_SPANS}`;
const TIMESTAMP = /^\{"timestamp":"([^"]+)"/;
const NO_SPAN = '0'.repeat(16);
/** In the details of one request. */
const MAX_SHOWN_LOGS = 1_000;
const NO_PARENTS: readonly TraceSpan[] = [];

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

/** The span of the request; undefined if a library without spans reported the request. */
export function findOwnSpan(
  { requestUuid, traceId }: { requestUuid: string; traceId: string },
  spans: readonly TraceSpan[],
): TraceSpan | undefined {
  return spans.find(
    ({ kind, span_id }) => kind === 'SERVER' && findRequestUuid(traceId, span_id) === requestUuid,
  );
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
  const belonging = ownSpan ? findBelow(ownSpan, spans) : spans;
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
  const exception = belonging.map(findException).find((found) => found !== undefined);
  const text = details.toString();
  const hasNoException = text.endsWith(NO_EXCEPTION);
  const head = text.slice(0, -(hasNoException && exception ? NO_EXCEPTION : NO_LOGS_NO_SPANS).length);
  const members = [
    ...(hasNoException && exception ? [`"exception":${exception}`] : []),
    `"logs":[${shown.map(logText).join(',')}]`,
    `"spans":[${belonging.map(spanText).join(',')}]`,
  ];
  return { details: Buffer.from(`${head}${members.join(',')}}`), logsLeftOut: total - shown.length };
}

/** A span and the spans below it, in the order of their start, without other requests. */
function findBelow(root: TraceSpan, spans: readonly TraceSpan[]): TraceSpan[] {
  const children = new Map<string, TraceSpan[]>();
  for (const span of spans) {
    const siblings = children.get(span.parent_span_id);
    if (siblings) siblings.push(span);
    else children.set(span.parent_span_id, [span]);
  }
  const found = new Set([root]);
  // A Set's iteration includes values added during it, each once. So a cycle of parents ends.
  for (const { span_id } of found)
    for (const child of children.get(span_id) ?? NO_PARENTS) if (child.kind !== 'SERVER') found.add(child);
  // Spans that start at one time have a random order in the store: parents come first. In a Set they do.
  return [...found].sort((a, b) => compareDigits(a.start_time_ns, b.start_time_ns));
}

/** Compares positive integers, as decimal digits. */
function compareDigits(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : Number(a > b));
}

/** The exception that a span recorded, as JSON text. */
function findException({ status, events }: TraceSpan): string | undefined {
  if (status !== 'ERROR' || !events.includes('"exception"')) return undefined;
  const all = JSON.parse(events) as { name: string; attributes: Record<string, unknown> }[];
  const attributes = all.findLast(({ name }) => name === 'exception')?.attributes;
  if (!attributes) return undefined;
  const toText = (value: unknown) => (typeof value === 'string' ? value : '');
  return JSON.stringify({
    type: toText(attributes['exception.type']) || 'Error',
    message: toText(attributes['exception.message']),
    stacktrace: toText(attributes['exception.stacktrace']),
    tracker_event_id: null,
    sentry_event_id: null,
  });
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
