import { type Capture, type CapturedException, type CapturedSpan } from '../../records/capture.js';
import {
  type JsonObject,
  type LenientReader,
  isAbsent,
  objectDecoder,
  textDecoder,
} from '../../records/decoding/decoders.js';
import {
  limitException,
  readHeaders,
  readLog,
  readSpan,
  traceIdDecoder,
} from '../../records/decoding/ndjson.capture.js';
import { limitBody } from '../../records/limits.js';
import { base64TextDecoder, epochMicrosDecoder, getField } from './hub-fields.js';

/** A limit of the client libraries. */
const MAX_LOGS = 1_000;

/**
 * The captured data of a logged request, in the shape of Request Details; invalid parts are left out. A log
 * record or a span without a required member is left out.
 */
export function readItemCapture(
  item: JsonObject,
  request: JsonObject,
  response: JsonObject,
  reader: LenientReader,
): Capture {
  const logs = Array.isArray(item.logs) ? item.logs.slice(0, MAX_LOGS) : item.logs;
  if (Array.isArray(item.logs) && item.logs.length > MAX_LOGS) reader.ignored.push('logs');
  return {
    request_headers: readHeaders(request.headers, 'request.headers', reader),
    response_headers: readHeaders(response.headers, 'response.headers', reader),
    request_body_json: limitBody(reader.read(request.body, 'request.body', base64TextDecoder) ?? ''),
    response_body_json: limitBody(reader.read(response.body, 'response.body', base64TextDecoder) ?? ''),
    trace_id: reader.read(getField(item, 'trace_id'), 'trace_id', traceIdDecoder),
    exception: readException(item.exception, reader),
    logs: reader.readList(logs, 'logs', (log) => readLog(log, epochMicrosDecoder.decode, reader)),
    spans: reader.readList(item.spans, 'spans', (span) => readItemSpan(span, reader)),
  };
}

function readException(value: unknown, reader: LenientReader): CapturedException | null {
  if (isAbsent(value)) return null;
  const source = objectDecoder.decode(value);
  const type = textDecoder.decode(source?.type);
  if (source === undefined || type === undefined) {
    reader.ignored.push('exception');
    return null;
  }
  // The Java library writes `stackTrace`, the libraries of JavaScript and .NET write `stacktrace`, and the
  // Python library writes `traceback`.
  const stacktrace = getField(source, 'stack_trace') ?? source.stacktrace ?? source.traceback;
  const sentryEventId = getField(source, 'sentry_event_id');
  return limitException({
    type,
    message: reader.read(source.message, 'exception.message', textDecoder) ?? '',
    stacktrace: reader.read(stacktrace, 'exception.stacktrace', textDecoder) ?? '',
    tracker_event_id: reader.read(sentryEventId, 'exception.sentry_event_id', textDecoder),
  });
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
