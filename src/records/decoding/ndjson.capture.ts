import {
  type Capture,
  type CapturedException,
  type CapturedLog,
  type CapturedSpan,
  EMPTY_CAPTURE,
  type Header,
  formatMicroseconds,
  normalizeParentSpanId,
  normalizeSpanId,
  normalizeSpanKind,
  normalizeSpanStatus,
  normalizeTraceId,
} from '../capture.js';
import {
  type JsonObject,
  type LenientReader,
  createDecoder,
  createIntegerDecoder,
  createTextDecoder,
  isAbsent,
  nanosecondsDecoder,
  objectDecoder,
  textDecoder,
  textOrNumberDecoder,
} from './decoders.js';
import {
  MAX_ATTRIBUTES,
  MAX_ATTRIBUTE_NAME,
  MAX_EVENT_ID,
  MAX_LOG_NAME,
  MAX_MESSAGE,
  MAX_SPAN_NAME,
  MAX_STACKTRACE,
  MAX_TYPE,
  MAX_VALUE,
  VALUE_TOO_LARGE,
  limitBody,
  limitHeaders,
} from '../limits.js';
import { stringifyExact } from '../../shared/json/exact-json.js';
import { truncate } from '../text.js';
import { microsecondsDecoder } from './timestamps.js';

/** More than the 16 digits of OpenTelemetry: other tracers have IDs of their own. */
const MAX_SPAN_ID = 64;
const spanIdDecoder = createTextDecoder('must be a string', (text) => truncate(text, MAX_SPAN_ID));
const logNameDecoder = createTextDecoder('must be a string', (text) => truncate(text, MAX_LOG_NAME));
/** The number of a line of source code. */
const lineDecoder = createIntegerDecoder(0, Number.MAX_SAFE_INTEGER);

/** A pair of name and value; a value may be a number. */
const headerDecoder = createDecoder('must be a pair of name and value', (value): Header | undefined => {
  if (!Array.isArray(value) || value.length !== 2) return undefined;
  const name = textDecoder.decode(value[0]);
  const text = textOrNumberDecoder.decode(value[1]);
  return name === undefined || text === undefined ? undefined : [name, text];
});

/** A trace ID in lower case; null where all its digits are zeros. */
export const traceIdDecoder = createTextDecoder('must be 32 hex digits', (text) =>
  /^[0-9a-f]{32}$/i.test(text) ? normalizeTraceId(text.toLowerCase()) : undefined,
);

/**
 * The captured data of a request in the shape of Request Details; invalid parts are left out. Its times are
 * shifted by `shiftMs`, like the request's. A log record or span without a required member is left out.
 */
export function readCapture(source: JsonObject, shiftMs: number, reader: LenientReader): Capture {
  const { request_headers, response_headers, request_body_json, response_body_json } = source;
  const { trace_id, exception, logs, spans } = source;
  const texts = request_headers ?? response_headers ?? request_body_json ?? response_body_json;
  // Fast path: most lines have no captured data.
  if (isAbsent(texts ?? trace_id ?? exception ?? logs ?? spans)) return EMPTY_CAPTURE;
  const shiftNs = BigInt(shiftMs) * 1_000_000n;
  const decodeShiftedMicros = (value: unknown) => {
    const micros = microsecondsDecoder.decode(value);
    return micros === undefined ? undefined : micros + shiftMs * 1000;
  };
  return {
    request_headers: readHeaders(request_headers, 'request_headers', reader),
    response_headers: readHeaders(response_headers, 'response_headers', reader),
    request_body_json: decodeCapturedBody(request_body_json, 'request_body_json', reader),
    response_body_json: decodeCapturedBody(response_body_json, 'response_body_json', reader),
    trace_id: reader.read(trace_id, 'trace_id', traceIdDecoder),
    exception: readException(exception, reader),
    logs: reader.readList(logs, 'logs', (log) => readLog(log, decodeShiftedMicros, reader)),
    spans: reader.readList(spans, 'spans', (span) => readSpan(span, shiftNs, reader)),
  };
}

/** Headers within their limits; invalid ones are left out. */
export function readHeaders(value: unknown, name: string, reader: LenientReader): Header[] {
  return limitHeaders(reader.readList(value, name, headerDecoder.decode), name, reader.ignored);
}

function decodeCapturedBody(value: unknown, name: string, reader: LenientReader): string | null {
  const text = reader.read(value, name, textDecoder);
  return text === null || text === '' ? text : limitBody(text);
}

function readException(value: unknown, reader: LenientReader): CapturedException | null {
  if (isAbsent(value)) return null;
  const source = objectDecoder.decode(value);
  const type = textDecoder.decode(source?.type);
  if (source === undefined || type === undefined) {
    reader.ignored.push('exception');
    return null;
  }
  return limitException({
    type,
    message: reader.read(source.message, 'exception.message', textDecoder) ?? '',
    stacktrace: reader.read(source.stacktrace, 'exception.stacktrace', textDecoder) ?? '',
    tracker_event_id: reader.read(
      source.tracker_event_id ?? source.sentry_event_id,
      'exception.tracker_event_id',
      textDecoder,
    ),
  });
}

export function limitException(exception: CapturedException): CapturedException {
  const { type, message, stacktrace, tracker_event_id: id } = exception;
  return {
    type: truncate(type, MAX_TYPE),
    message: truncate(message, MAX_MESSAGE),
    stacktrace: truncate(stacktrace, MAX_STACKTRACE),
    tracker_event_id: id && truncate(id, MAX_EVENT_ID),
  };
}

/**
 * A captured log record; undefined if a required member is invalid.
 *
 * @param decodeMicros the time of a record in microseconds since the Unix epoch
 */
export function readLog(
  value: unknown,
  decodeMicros: (value: unknown) => number | undefined,
  reader: LenientReader,
): CapturedLog | undefined {
  const source = objectDecoder.decode(value);
  const micros = decodeMicros(source?.timestamp);
  const message = textDecoder.decode(source?.message);
  const level = textDecoder.decode(source?.level);
  if (source === undefined || micros === undefined || message === undefined || level === undefined)
    return undefined;
  return {
    timestamp: formatMicroseconds(micros),
    message: truncate(message, MAX_MESSAGE),
    level: truncate(level, MAX_LOG_NAME),
    logger: reader.read(source.logger, 'logs.logger', logNameDecoder),
    file: reader.read(source.file, 'logs.file', logNameDecoder),
    line: reader.read(source.line, 'logs.line', lineDecoder),
  };
}

/**
 * A captured span; undefined if a required member is invalid.
 *
 * @param shiftNs added to its times
 */
export function readSpan(value: unknown, shiftNs: bigint, reader: LenientReader): CapturedSpan | undefined {
  const source = objectDecoder.decode(value);
  const span_id = textDecoder.decode(source?.span_id);
  const name = textDecoder.decode(source?.name);
  const start = nanosecondsDecoder.decode(source?.start_time_ns);
  const end = nanosecondsDecoder.decode(source?.end_time_ns);
  if (source === undefined || span_id === undefined || name === undefined) return undefined;
  if (start === undefined || end === undefined) return undefined;
  return {
    span_id: truncate(normalizeSpanId(span_id), MAX_SPAN_ID),
    parent_span_id: normalizeParentSpanId(
      reader.read(source.parent_span_id, 'spans.parent_span_id', spanIdDecoder),
    ),
    name: truncate(name, MAX_SPAN_NAME),
    kind: normalizeSpanKind(reader.read(source.kind, 'spans.kind', textDecoder)),
    start_time_ns: start + shiftNs,
    end_time_ns: end + shiftNs,
    duration_ns:
      reader.read(source.duration_ns, 'spans.duration_ns', nanosecondsDecoder) ?? computeDuration(start, end),
    status: normalizeSpanStatus(reader.read(source.status, 'spans.status', textDecoder)),
    attributes: limitAttributes(
      reader.read(source.attributes, 'spans.attributes', objectDecoder) ?? {},
      reader,
    ),
  };
}

/** Attributes within their limits; a value that is a list or an object has a length as JSON. */
function limitAttributes(attributes: JsonObject, { ignored }: LenientReader): JsonObject {
  const all = Object.entries(attributes);
  for (let at = MAX_ATTRIBUTES; at < all.length; at++) ignored.push('spans.attributes');
  const limited = all.slice(0, MAX_ATTRIBUTES).map(([name, value]): [string, unknown] => {
    if (typeof value === 'string') return [truncate(name, MAX_ATTRIBUTE_NAME), truncate(value, MAX_VALUE)];
    const isLong = typeof value === 'object' && value !== null && stringifyExact(value).length > MAX_VALUE;
    return [truncate(name, MAX_ATTRIBUTE_NAME), isLong ? VALUE_TOO_LARGE : value];
  });
  return Object.fromEntries(limited);
}

/** Nanoseconds from one time to another; 0 if a span ends before it starts, because of different clocks. */
function computeDuration(start: bigint, end: bigint): bigint {
  return end > start ? end - start : 0n;
}
