import {
  type Capture,
  type CapturedException,
  type CapturedLog,
  type CapturedSpan,
  type Header,
  NOTHING_CAPTURED,
  formatMicroseconds,
  spanKind,
  spanStatus,
  traceId,
} from './capture.js';
import {
  type Check,
  type Members,
  Rejection,
  asNanoseconds,
  asObject,
  asText,
  integerFrom,
  isAbsent,
  listOf,
  optional,
} from './checks.js';
import { asMicroseconds } from './instant.js';

/** The number of a line of source code. */
export const asLine = integerFrom(0, Number.MAX_SAFE_INTEGER);
/** Pairs of name and value. */
export const asHeaders = listOf(asHeader);

/**
 * The captured part of a request in the shape of Request Details. Its times are moved by `shiftMs`, so that they
 * stay with the request's.
 *
 * @throws Rejection for a member of another type than the specification's
 */
export function captureOf(source: Members, shiftMs: number): Capture {
  const { request_headers, response_headers, request_body_json, response_body_json } = source;
  const { trace_id, exception, logs, spans } = source;
  const texts = request_headers ?? response_headers ?? request_body_json ?? response_body_json;
  // Most lines have nothing: `??` goes on as long as a member is absent.
  if (isAbsent(texts ?? trace_id ?? exception ?? logs ?? spans)) return NOTHING_CAPTURED;
  return {
    request_headers: optional(request_headers, 'request_headers', asHeaders) ?? [],
    response_headers: optional(response_headers, 'response_headers', asHeaders) ?? [],
    request_body_json: optional(request_body_json, 'request_body_json', asText),
    response_body_json: optional(response_body_json, 'response_body_json', asText),
    trace_id: optional(trace_id, 'trace_id', asTraceId),
    exception: optional(exception, 'exception', asException),
    logs: optional(logs, 'logs', listOf(logAt(shiftMs))) ?? [],
    spans: optional(spans, 'spans', listOf(spanAt(shiftMs))) ?? [],
  };
}

function asHeader(value: unknown, name: string): Header {
  if (!Array.isArray(value) || value.length !== 2)
    throw new Rejection(`${name}: must be a pair of name and value`);
  return [asText(value[0], `${name}[0]`), asText(value[1], `${name}[1]`)];
}

/** A trace ID of 32 lower-case hex digits; null where all are zeros. */
export function asTraceId(value: unknown, name: string): string | null {
  const id = asText(value, name);
  if (!/^[0-9a-f]{32}$/.test(id)) throw new Rejection(`${name}: must be 32 lower-case hex digits`);
  return traceId(id);
}

function asException(value: unknown, name: string): CapturedException {
  const source = asObject(value, name);
  return {
    type: asText(source.type, `${name}.type`),
    message: optional(source.message, `${name}.message`, asText) ?? '',
    stacktrace: optional(source.stacktrace, `${name}.stacktrace`, asText) ?? '',
    tracker_event_id: optional(source.tracker_event_id, `${name}.tracker_event_id`, asText),
  };
}

function logAt(shiftMs: number): Check<CapturedLog> {
  return (value, name) => {
    const source = asObject(value, name);
    const micros = asMicroseconds(source.timestamp, `${name}.timestamp`);
    return {
      timestamp: formatMicroseconds(micros + shiftMs * 1000),
      message: asText(source.message, `${name}.message`),
      level: asText(source.level, `${name}.level`),
      logger: optional(source.logger, `${name}.logger`, asText),
      file: optional(source.file, `${name}.file`, asText),
      line: optional(source.line, `${name}.line`, asLine),
    };
  };
}

function spanAt(shiftMs: number): Check<CapturedSpan> {
  const shiftNs = BigInt(shiftMs) * 1_000_000n;
  return (value, name) => {
    const source = asObject(value, name);
    const start = asNanoseconds(source.start_time_ns, `${name}.start_time_ns`);
    const end = asNanoseconds(source.end_time_ns, `${name}.end_time_ns`);
    return {
      span_id: asText(source.span_id, `${name}.span_id`),
      parent_span_id: optional(source.parent_span_id, `${name}.parent_span_id`, asText),
      name: asText(source.name, `${name}.name`),
      kind: spanKind(optional(source.kind, `${name}.kind`, asText)),
      start_time_ns: start + shiftNs,
      end_time_ns: end + shiftNs,
      duration_ns: optional(source.duration_ns, `${name}.duration_ns`, asNanoseconds) ?? between(start, end),
      status: spanStatus(optional(source.status, `${name}.status`, asText)),
      attributes: optional(source.attributes, `${name}.attributes`, asObject) ?? {},
    };
  };
}

/** Nanoseconds from one time to another; clocks of two machines can make a span end before it starts: no time then. */
export function between(start: bigint, end: bigint): bigint {
  return end > start ? end - start : 0n;
}
