import {
  type Capture,
  type CapturedException,
  type CapturedLog,
  type CapturedSpan,
  toAttributesJson,
} from '../../ingestion/capture.js';
import {
  type JsonObject,
  type LenientReader,
  isAbsent,
  objectDecoder,
  textDecoder,
} from '../../ingestion/formats/decoders.js';
import { readHeaders, readLog, readSpan, traceIdDecoder } from '../../ingestion/formats/ndjson.capture.js';
import { truncate } from '../../ingestion/formats/text.js';
import { checkRetention, getLogsRetention } from '../../ingestion/formats/timestamps.js';
import { MAX_MESSAGE, MAX_STACKTRACE, limitBody } from '../../ingestion/limits.js';
import type { SpanRecord } from '../message.js';
import { base64TextDecoder, epochMicrosDecoder, getField } from './hub-fields.js';

/** A limit of the client libraries. */
const MAX_LOGS = 1_000;
/** Longest name of a span in Query Traces. */
const MAX_NAME = 1_024;
const NANOSECONDS_IN_MS = 1_000_000n;

/**
 * The captured data of a logged request, in the shape of Request Details; invalid parts are left out. A log record or a span
 * without a required member is left out.
 */
export function readItemCapture(
  item: JsonObject,
  request: JsonObject,
  response: JsonObject,
  reader: LenientReader,
): Capture {
  const logs = Array.isArray(item.logs) ? item.logs.slice(0, MAX_LOGS) : item.logs;
  return {
    request_headers: readHeaders(request.headers, 'request.headers', reader),
    response_headers: readHeaders(response.headers, 'response.headers', reader),
    request_body_json: limitBody(reader.read(request.body, 'request.body', base64TextDecoder) ?? ''),
    response_body_json: limitBody(reader.read(response.body, 'response.body', base64TextDecoder) ?? ''),
    trace_id: reader.read(getField(item, 'trace_id'), 'trace_id', traceIdDecoder),
    exception: readException(item.exception, reader),
    logs: reader.readList(logs, 'logs', (log) => readItemLog(log, reader)),
    spans: reader.readList(item.spans, 'spans', (span) => readItemSpan(span, reader)),
  };
}

/** The captured spans for Query Traces; none without a trace. Spans with other IDs than OpenTelemetry's are left out. */
export function toSpanRecords({ trace_id, spans }: Capture, now: number): SpanRecord[] {
  if (trace_id === null) return [];
  return spans
    .filter(({ span_id, start_time_ns }) => {
      const startMs = Number(start_time_ns / NANOSECONDS_IN_MS);
      return isSpanId(span_id) && checkRetention(startMs, getLogsRetention(now), now) === undefined;
    })
    .map((span) => ({
      trace_id,
      span_id: span.span_id.toLowerCase(),
      parent_span_id: isSpanId(span.parent_span_id) ? span.parent_span_id.toLowerCase() : '',
      name: truncate(span.name, MAX_NAME),
      kind: span.kind ?? 'INTERNAL',
      status: span.status ?? 'UNSET',
      start_time_ns: span.start_time_ns.toString(),
      duration_ns: span.duration_ns.toString(),
      scope_name: '',
      scope_version: '',
      attributes: toAttributesJson(span),
      events: '[]',
    }));
}

function isSpanId(text: string | null): text is string {
  return text !== null && /^(?!0{16})[0-9a-f]{16}$/i.test(text);
}

function readException(value: unknown, reader: LenientReader): CapturedException | null {
  if (isAbsent(value)) return null;
  const source = objectDecoder.decode(value);
  const type = textDecoder.decode(source?.type);
  if (source === undefined || type === undefined) {
    reader.ignored.push('exception');
    return null;
  }
  // The Java library writes `stackTrace`, those of JavaScript and .NET `stacktrace`, that of Python `traceback`.
  const stacktrace = getField(source, 'stack_trace') ?? source.stacktrace ?? source.traceback;
  const sentryEventId = getField(source, 'sentry_event_id');
  return {
    type,
    message: truncate(reader.read(source.message, 'exception.message', textDecoder) ?? '', MAX_MESSAGE),
    stacktrace: truncate(reader.read(stacktrace, 'exception.stacktrace', textDecoder) ?? '', MAX_STACKTRACE),
    tracker_event_id: reader.read(sentryEventId, 'exception.sentry_event_id', textDecoder),
  };
}

function readItemLog(value: unknown, reader: LenientReader): CapturedLog | undefined {
  const log = readLog(value, epochMicrosDecoder.decode, reader);
  if (log) log.message = truncate(log.message, MAX_MESSAGE);
  return log;
}

function readItemSpan(value: unknown, reader: LenientReader): CapturedSpan | undefined {
  const source = objectDecoder.decode(value) ?? {};
  const { name, kind, status, attributes } = source;
  const span_id = getField(source, 'span_id');
  const parent_span_id = getField(source, 'parent_span_id');
  const start_time_ns = getField(source, 'start_time');
  const end_time_ns = getField(source, 'end_time');
  const span = { span_id, parent_span_id, name, kind, start_time_ns, end_time_ns, status, attributes };
  return readSpan(span, 0n, reader);
}
