import {
  type Capture,
  type CapturedException,
  type CapturedLog,
  type CapturedSpan,
  formatMicroseconds,
  spanKind,
  spanStatus,
} from '../../ingestion/capture.js';
import { type Members, asObject, asText, listOf, optional } from '../../ingestion/checks.js';
import { asHeaders, asLine, asTraceId, between } from '../../ingestion/ndjson.capture.js';
import { cut } from '../../ingestion/text.js';
import { asBase64Text, asEpochMicros, asWireNanoseconds, memberOf } from './members.js';

/** Where the client libraries cut, in characters, bytes and entries. */
const MAX_MESSAGE = 2_048;
const MAX_STACKTRACE = 65_536;
const MAX_LOGS = 1_000;
/** The libraries leave out bodies over 50,000 bytes before they mask them, which can make them longer. */
const MAX_BODY = 100_000;
const BODY_TOO_LARGE = '<body too large>';

/**
 * What a logged request captured, in the shape of Request Details.
 *
 * @throws Rejection for a member of another type than the protocol's
 */
export function captureOf(item: Members, request: Members, response: Members): Capture {
  const logs = Array.isArray(item.logs) ? item.logs.slice(0, MAX_LOGS) : item.logs;
  return {
    request_headers: optional(request.headers, 'request.headers', asHeaders) ?? [],
    response_headers: optional(response.headers, 'response.headers', asHeaders) ?? [],
    request_body_json: bodyOf(request.body, 'request.body'),
    response_body_json: bodyOf(response.body, 'response.body'),
    trace_id: optional(memberOf(item, 'trace_id'), 'trace_id', asTraceId),
    exception: optional(item.exception, 'exception', asException),
    logs: optional(logs, 'logs', listOf(asLog)) ?? [],
    spans: optional(item.spans, 'spans', listOf(asSpan)) ?? [],
  };
}

function bodyOf(value: unknown, name: string): string | null {
  const text = optional(value, name, asBase64Text) ?? '';
  if (text === '') return null;
  return Buffer.byteLength(text) > MAX_BODY ? BODY_TOO_LARGE : text;
}

function asException(value: unknown, name: string): CapturedException {
  const source = asObject(value, name);
  const stacktrace = memberOf(source, 'stack_trace') ?? source.stacktrace ?? source.traceback;
  return {
    type: asText(source.type, `${name}.type`),
    message: cut(optional(source.message, `${name}.message`, asText) ?? '', MAX_MESSAGE),
    stacktrace: cut(optional(stacktrace, `${name}.stacktrace`, asText) ?? '', MAX_STACKTRACE),
    tracker_event_id: optional(memberOf(source, 'sentry_event_id'), `${name}.sentry_event_id`, asText),
  };
}

function asLog(value: unknown, name: string): CapturedLog {
  const source = asObject(value, name);
  return {
    timestamp: formatMicroseconds(asEpochMicros(source.timestamp, `${name}.timestamp`)),
    message: cut(asText(source.message, `${name}.message`), MAX_MESSAGE),
    level: asText(source.level, `${name}.level`),
    logger: optional(source.logger, `${name}.logger`, asText),
    file: optional(source.file, `${name}.file`, asText),
    line: optional(source.line, `${name}.line`, asLine),
  };
}

function asSpan(value: unknown, name: string): CapturedSpan {
  const source = asObject(value, name);
  const textOf = (member: string) => optional(memberOf(source, member), `${name}.${member}`, asText);
  const start = asWireNanoseconds(memberOf(source, 'start_time'), `${name}.start_time`);
  const end = asWireNanoseconds(memberOf(source, 'end_time'), `${name}.end_time`);
  return {
    span_id: asText(memberOf(source, 'span_id'), `${name}.span_id`),
    parent_span_id: textOf('parent_span_id'),
    name: asText(source.name, `${name}.name`),
    kind: spanKind(textOf('kind')),
    start_time_ns: start,
    end_time_ns: end,
    duration_ns: between(start, end),
    status: spanStatus(textOf('status')),
    attributes: optional(source.attributes, `${name}.attributes`, asObject) ?? {},
  };
}
