import { addSlash } from '../decoding/path-pattern.js';
import { gunzipSync } from 'node:zlib';
import type { Steps } from '../../shared/async/slices.js';
import { parseAddress } from '../../shared/ip-address.js';
import { type Bin, findBin } from '../../records/bins.js';
import {
  type Capture,
  type CapturedException,
  EVENT_SEPARATOR,
  type Header,
  SPAN_KINDS,
  SPAN_STATUSES,
  getHeader,
  toCaptureJson,
} from '../../records/capture.js';
import { isPublic, lookUpCountry } from '../decoding/client-country.js';
import { isGzip, isTooLarge } from '../decoding/gunzip.js';
import { type Decoder, LenientReader } from '../../records/decoding/decoders.js';
import {
  responseTimeDecoder,
  sizeDecoder,
  statusCodeDecoder,
  urlDecoder,
} from '../decoding/request-decoders.js';
import { sanitize, truncate } from '../../records/text.js';
import { checkRetention, getLogsRetention } from '../../records/decoding/timestamps.js';
import { isStaticAssetOrHealthCheck } from '../decoding/log-exclusion.js';
import type { RequestRecord } from '../../records/request-record.js';
import { findRequestUuid } from '../../records/server-span.js';
import {
  BODY_TOO_LARGE,
  MAX_ATTRIBUTES,
  MAX_BODY,
  MAX_EVENTS,
  MAX_MESSAGE,
  MAX_STACKTRACE,
  MAX_TYPE,
  limitBody,
  limitHeaders,
} from '../../records/limits.js';
import type { SpanRecord } from '../../records/span-record.js';
import type { BodySpans } from '../../write/batches/inner-spans.js';
import type { Message, SpanCount } from '../../write/batches/message.js';
import { findClientAddress } from '../decoding/client-address.js';
import {
  Attributes,
  CONSUMER_ATTRIBUTES,
  findConsumer,
  findMethod,
  findStatusCode,
  limitedAttributesJson,
  toPath,
} from './attributes.js';
import { findMcpOperation } from '../decoding/mcp-operation.js';
import { OPERATION_ATTRIBUTES, findOperation } from './operations.js';
import { addOperation, hasOperation } from '../../records/operation.js';
import { isValidId, toHex, toMilliseconds } from './encoding.js';
import { findFramework } from './framework.js';
import {
  type Span,
  type Span_Event,
  Span_SpanKind,
  Status_StatusCode,
} from './generated/opentelemetry/proto/trace/v1/trace_pb.js';
import type { Parts } from './items.js';
import { type BodyContext, ExpandedBodyError, readMessages } from './origin.js';
import { findWeight } from './sampling.js';

type Expansion = BodyContext['expansion'];

const MAX_INT64 = 2n ** 63n - 1n;
const NAMES_CONSUMER: ReadonlySet<string> = new Set(CONSUMER_ATTRIBUTES);
const NAMES_OPERATION: ReadonlySet<string> = new Set(OPERATION_ATTRIBUTES);
/** A span of MCP is linked with the request that brought its message; links cost as much as spans. */
const MAX_LINKS = 1;
/** Kinds of the spans of what is done for a request; one of kind CLIENT is a request to another server. */
const SERVES: ReadonlySet<Span_SpanKind> = new Set([Span_SpanKind.SERVER, Span_SpanKind.INTERNAL]);
const MAX_NAME = 1_024;
const MAX_SCOPE = 256;

/** Attributes that are the bodies, as the client library and the semantic conventions name them. */
const REQUEST_BODY = ['apitally.request.body', 'http.request.body.content'] as const;
const RESPONSE_BODY = ['apitally.response.body', 'http.response.body.content'] as const;
const BODIES: ReadonlySet<string> = new Set([...REQUEST_BODY, ...RESPONSE_BODY]);
/** The end of the scope name of the instrumentation of Go's `net/http`. */
const NET_HTTP = '/otelhttp';
/** The end of the scope name of the instrumentation of Tornado. */
const TORNADO = '.instrumentation.tornado';
/**
 * From version 0.63 on, Tornado's instrumentation has the route in the span's name, before that the path of
 * the URL.
 */
const TORNADO_ROUTES_SINCE = 63;
/** Spans of single ASGI messages: several for each request, without any information about the application. */
const ASGI_MESSAGE = / http (?:send|receive)$/;

/** Parses spans. Those of kind SERVER with an HTTP method are requests as well. */
export function* parseTraces(
  parts: Parts<Span>,
  context: BodyContext,
  innerSpans: BodySpans,
): Steps<Message[]> {
  let [name, version] = ['', ''];
  const shorten = (text = '') => truncate(sanitize(text), MAX_SCOPE);
  const messages = yield* readMessages(parts, context, (message, part) => {
    if (part.kind === 'resource') message.framework ??= findFramework(part.resource, part.scopes);
    else if (part.kind === 'scope')
      [name, version] = [shorten(part.scope?.name), shorten(part.scope?.version)];
    else addSpan(message, part.item, name, version, context, innerSpans);
  });
  yield* innerSpans.assign(messages);
  return messages;
}

function addSpan(
  message: Message,
  span: Span,
  scopeName: string,
  scopeVersion: string,
  context: BodyContext,
  innerSpans: BodySpans,
): void {
  if (span.kind !== Span_SpanKind.SERVER && ASGI_MESSAGE.test(span.name)) return;
  const fault = findFault(span, context.now);
  if (fault !== undefined) {
    message.rejected.add(fault);
    return;
  }
  if (span.events.length > MAX_EVENTS)
    message.rejected.warn(`spans[].events: at most ${MAX_EVENTS} are kept`);
  span.events.splice(MAX_EVENTS);
  const record = toSpanRecord(span, scopeName, scopeVersion, (change) => {
    message.rejected.warn(`spans[].attributes: ${change}`);
  });
  span.attributes.splice(MAX_ATTRIBUTES);
  message.spans.push(record);
  if (span.kind === Span_SpanKind.SERVER && addRequest(message, span, record, context)) return;
  const has = (keys: ReadonlySet<string>) => span.attributes.some(({ key }) => keys.has(key));
  if (has(NAMES_CONSUMER)) {
    const reader = new LenientReader();
    const consumer = findConsumer(new Attributes(span.attributes), 'spans[].consumer', reader);
    message.rejected.addMembers(reader.ignored);
    if (consumer) innerSpans.addConsumer(record, consumer);
  }
  if (!SERVES.has(span.kind) || !has(NAMES_OPERATION)) return;
  const attributes = new Attributes(span.attributes);
  const name = findOperation(attributes, context.graphql);
  if (name === null) return;
  const links = span.links
    .slice(0, MAX_LINKS)
    .flatMap(({ traceId, spanId }) =>
      isValidId(traceId, 16) && isValidId(spanId, 8)
        ? { trace_id: toHex(traceId), span_id: toHex(spanId) }
        : [],
    );
  innerSpans.addOperation(record, links, { name, error: findOperationError(span, attributes) });
}

/** Why a span is rejected; undefined if it is accepted. */
function findFault({ traceId, spanId, startTimeUnixNano }: Span, now: number): string | undefined {
  if (!isValidId(traceId, 16)) return 'spans[].trace_id: must be 16 bytes';
  if (!isValidId(spanId, 8)) return 'spans[].span_id: must be 8 bytes';
  const outOfTime = checkRetention(toMilliseconds(startTimeUnixNano), getLogsRetention(now), now);
  return outOfTime && `spans[].start_time_unix_nano: ${outOfTime}`;
}

function toSpanRecord(
  span: Span,
  scope_name: string,
  scope_version: string,
  warn: (change: string) => void,
): SpanRecord {
  const { startTimeUnixNano: start, endTimeUnixNano: end } = span;
  return {
    trace_id: toHex(span.traceId),
    span_id: toHex(span.spanId),
    parent_span_id: isValidId(span.parentSpanId, 8) ? toHex(span.parentSpanId) : '',
    name: truncate(sanitize(span.name), MAX_NAME),
    kind: SPAN_KINDS[span.kind] ?? 'UNSPECIFIED',
    status: SPAN_STATUSES[span.status?.code ?? 0] ?? 'UNSET',
    start_time_ns: start.toString(),
    duration_ns: (hasDuration(span) ? end - start : 0n).toString(),
    scope_name,
    scope_version,
    // The bodies are in Request Details.
    attributes: limitedAttributesJson(
      span.attributes,
      warn,
      (key) => span.kind === Span_SpanKind.SERVER && BODIES.has(key),
    ),
    events: `[${span.events.map((event) => eventJson(event, warn)).join(EVENT_SEPARATOR)}]`,
  };
}

/** Whether the time of a span is known: it may not have ended, or its clock was set back. */
function hasDuration({ startTimeUnixNano: start, endTimeUnixNano: end }: Span): boolean {
  return end >= start && end <= MAX_INT64;
}

function eventJson({ timeUnixNano, name, attributes }: Span_Event, warn: (change: string) => void): string {
  const timestamp = JSON.stringify(formatNanoseconds(timeUnixNano));
  return `{"timestamp":${timestamp},"name":${JSON.stringify(truncate(sanitize(name), MAX_NAME))},"attributes":${limitedAttributesJson(attributes, warn)}}`;
}

/** UTC with nanoseconds and `Z`; the epoch for times beyond the year 9999. */
function formatNanoseconds(epochNs: bigint): string {
  const seconds = Number(epochNs / 1_000_000_000n);
  const date = new Date(seconds <= 253_402_300_799 ? seconds * 1000 : 0);
  return `${date.toISOString().slice(0, -5)}.${String(epochNs % 1_000_000_000n).padStart(9, '0')}Z`;
}

/** Logs and counts the request of a SERVER span. Returns whether it is one. */
function addRequest(
  message: Message,
  span: Span,
  record: SpanRecord,
  { expansion, maxSpanWeight, graphql }: BodyContext,
): boolean {
  const reader = new LenientReader();
  const request = readRequest(span, record, { env: message.env, expansion, graphql, reader });
  if (request === undefined) return false;
  message.rejected.addMembers(reader.ignored);
  if (!request.excluded_from_logs) message.logs.push(request);
  let weight = findWeight(span.traceState, record.span_id);
  if (weight > maxSpanWeight) {
    weight = 1;
    message.rejected.warn(
      `spans[].trace_state: stands for more than ${maxSpanWeight} requests, counted as one`,
    );
  }
  message.spanCounts.push(countRequest(request, record, weight, hasDuration(span)));
  return true;
}

/** The request of a span; undefined without a method: then it is not an HTTP request. */
function readRequest(
  span: Span,
  { trace_id, span_id, duration_ns, scope_name, scope_version }: SpanRecord,
  {
    env,
    expansion,
    graphql,
    reader,
  }: { env: string; expansion: Expansion; graphql: boolean; reader: LenientReader },
): RequestRecord | undefined {
  const attributes = new Attributes(span.attributes);
  const method = findMethod(attributes);
  if (method === undefined) return undefined;
  const read = <T>(name: string, value: unknown, decoder: Decoder<T>) =>
    reader.read(value, `spans[].${name}`, decoder);
  const route = attributes.findText('http.route');
  const hasRoute = span.name.startsWith(`${method} /`) && hasRouteInName(scope_name, scope_version);
  const pattern = toPath(route ?? (hasRoute ? span.name.slice(method.length + 1) : ''), scope_name);
  const url = read('url', findUrl(attributes), urlDecoder) ?? '/';
  const status = findStatusCode(attributes, span.status?.code === Status_StatusCode.ERROR);
  const status_code = read('http.response.status_code', status, statusCodeDecoder) ?? 0;
  const received = findSize(attributes, 'request');
  const sent = findSize(attributes, 'response');
  const request_size_bytes = read('http.request.body.size', received, sizeDecoder);
  const response_size_bytes = read('http.response.body.size', sent, sizeDecoder);
  const consumer = findConsumer(attributes, 'spans[].consumer', reader);
  const capture = readCapture(span, attributes, { trace_id, status_code }, expansion);
  const operation =
    findOperation(attributes, graphql) ?? findMcpOperation(method, status_code, capture.request_headers);
  const path = addOperation(pattern, operation);
  const isWithin = hasOperation(path) && status_code < 500;
  const exception = isWithin ? findOperationError(span, attributes) : capture.exception;
  const client_ip = findClient(attributes, capture.request_headers);
  const agent = attributes.findText('user_agent.original', 'http.user_agent');
  const excluded_from_logs = isStaticAssetOrHealthCheck(
    pattern,
    url,
    agent ?? getHeader(capture.request_headers, 'user-agent'),
  );
  return {
    request_uuid: findRequestUuid(trace_id, span_id, span.startTimeUnixNano),
    timestamp: toMilliseconds(span.startTimeUnixNano),
    env,
    consumer,
    method,
    path,
    is_path_inferred: false,
    url,
    status_code,
    request_size_bytes,
    response_size_bytes,
    response_time_ms: hasDuration(span)
      ? (responseTimeDecoder.decode(Number(duration_ns) / 1e6) ?? null)
      : null,
    client_ip,
    client_country_iso_code: lookUpCountry(client_ip),
    excluded_from_logs,
    captured_json: toCaptureJson({ ...capture, exception }),
  };
}

/** The counts of a request: its span stands for `weight` requests. */
function countRequest(
  request: RequestRecord,
  record: SpanRecord,
  weight: number,
  hasTime: boolean,
): SpanCount {
  const { request_size_bytes, response_size_bytes } = request;
  const bins: Bin[] = hasTime ? [['time', findBin(Number(record.duration_ns) / 1e6 / 1000), weight]] : [];
  if (request_size_bytes !== null) bins.push(['received', findBin(request_size_bytes), weight]);
  if (response_size_bytes !== null) bins.push(['sent', findBin(response_size_bytes), weight]);
  return {
    request_uuid: request.request_uuid,
    unlogged_span: request.excluded_from_logs ? record : null,
    timestamp: request.timestamp,
    ended_at: toMilliseconds(BigInt(record.start_time_ns) + BigInt(record.duration_ns)),
    env: request.env,
    consumer: request.consumer,
    method: request.method,
    path: request.path,
    status_code: request.status_code,
    requests: weight,
    bytes_received: Math.min((request_size_bytes ?? 0) * weight, Number.MAX_SAFE_INTEGER),
    bytes_sent: Math.min((response_size_bytes ?? 0) * weight, Number.MAX_SAFE_INTEGER),
    bins,
  };
}

/**
 * Some instrumentations write the path of the URL into the name. So this is only for instrumentations without
 * an attribute for the route.
 */
function hasRouteInName(scope: string, version: string): boolean {
  if (!scope.endsWith(TORNADO)) return scope.endsWith(NET_HTTP);
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  return major > 0 || minor >= TORNADO_ROUTES_SINCE;
}

function findSize(attributes: Attributes, which: 'request' | 'response'): number | undefined {
  return attributes.findNumber(
    `http.${which}.body.size`,
    `http.${which}_content_length`,
    `http.${which}_content_length_uncompressed`,
  );
}

/** The URL, built from the attributes that exist. */
function findUrl(attributes: Attributes): string {
  const find = (...keys: string[]) => {
    const text = attributes.findText(...keys);
    return text === '' ? undefined : text;
  };
  const whole = find('url.full', 'http.url');
  // Fiber and Tornado leave out the host.
  if (whole !== undefined && !whole.startsWith('/')) return whole;
  const path = attributes.findText('url.path');
  const query = attributes.findText('url.query') ?? '';
  const parts =
    path === undefined ? find('http.target') : `${path}${query === '' ? '' : `?${query.replace(/^\?/, '')}`}`;
  const target = whole ?? parts ?? '/';
  const address = find('server.address', 'http.host', 'net.host.name', 'http.server_name');
  if (address === undefined) return addSlash(target);
  // An IPv6 address without its port may have no brackets.
  const host = /^[^[]*:[^[]*:/.test(address) ? `[${address}]` : address;
  const scheme = find('url.scheme', 'http.scheme') ?? 'http';
  const port = attributes.findNumber('server.port', 'net.host.port');
  const isUsual = port === undefined || port === (scheme === 'https' ? 443 : 80) || /:\d+$/.test(host);
  return `${scheme}://${host}${isUsual ? '' : `:${port}`}${target.startsWith('/') ? target : `/${target}`}`;
}

function findClient(attributes: Attributes, headers: readonly Header[]): string | null {
  const named = attributes.findText('client.address', 'http.client_ip');
  const peer = attributes.findText('network.peer.address', 'net.sock.peer.addr', 'net.peer.ip');
  const addresses = [named, findClientAddress(headers), peer].map((text) => parseAddress(text ?? ''));
  return (
    addresses.find((address) => address !== null && isPublic(address)) ?? addresses.find(Boolean) ?? null
  );
}

/** The capture of a span. Spans and log records of its trace are joined when they are read. */
function readCapture(
  span: Span,
  attributes: Attributes,
  { trace_id, status_code }: { trace_id: string; status_code: number },
  expansion: Expansion,
): Capture {
  return {
    request_headers: readHeaders(attributes, 'http.request.header.'),
    response_headers: readHeaders(attributes, 'http.response.header.'),
    request_body_json: readBodyAttribute(attributes, REQUEST_BODY, expansion),
    response_body_json: readBodyAttribute(attributes, RESPONSE_BODY, expansion),
    trace_id,
    // An exception that the application handled stays in the events of the span.
    exception: status_code >= 500 ? findException(span, attributes) : null,
    logs: [],
    spans: [],
  };
}

/** Older conventions have underscores instead of hyphens. */
function readHeaders(attributes: Attributes, prefix: string): Header[] {
  const all = Array.from(attributes.listPrefixed(prefix), ([name, value]): Header => [
    name.replaceAll('_', '-'),
    value,
  ]);
  return limitHeaders(all, prefix, []);
}

function readBodyAttribute(
  attributes: Attributes,
  keys: readonly string[],
  expansion: Expansion,
): string | null {
  for (const key of keys) {
    const bytes = attributes.findBytes(key);
    const text = bytes ? unpackText(Buffer.from(bytes), expansion) : attributes.findJson(key);
    const body = limitBody(text ?? '');
    if (body !== null) return body;
  }
  return null;
}

/** A text that may be packed; undefined if it is damaged. */
function unpackText(bytes: Buffer, expansion: Expansion): string | undefined {
  if (!isGzip(bytes)) return sanitize(bytes.toString());
  // Checked before unpacking: the size is not known, and thousands of bombs take time as well.
  if (expansion.remaining < MAX_BODY) return BODY_TOO_LARGE;
  const [text, length] = gunzipText(bytes);
  expansion.remaining -= length;
  if (expansion.remaining < (expansion.minimum ?? 0)) throw new ExpandedBodyError();
  return text;
}

function gunzipText(bytes: Buffer): [text: string | undefined, length: number] {
  try {
    const unpacked = gunzipSync(bytes, { maxOutputLength: MAX_BODY });
    return [sanitize(unpacked.toString()), unpacked.length];
  } catch (error) {
    return [isTooLarge(error) ? BODY_TOO_LARGE : undefined, MAX_BODY];
  }
}

function findException({ events }: Span, spanAttributes: Attributes): CapturedException | null {
  const event = events.findLast(({ name }) => name === 'exception');
  if (!event) return null;
  const attributes = new Attributes(event.attributes);
  const type = attributes.findText('exception.type') ?? '';
  const message = attributes.findText('exception.message') ?? '';
  if (type === '' && message === '') return null;
  return {
    type: truncate(type || 'Error', MAX_TYPE),
    message: truncate(message, MAX_MESSAGE),
    stacktrace: truncate(attributes.findText('exception.stacktrace') ?? '', MAX_STACKTRACE),
    tracker_event_id: spanAttributes.findText('apitally.exception.sentry_event_id') ?? null,
  };
}

/** The error of an operation, whatever status the response has; null if the span has none. */
function findOperationError(span: Span, attributes: Attributes): CapturedException | null {
  const code = attributes.findNumber('rpc.jsonrpc.error_code', 'rpc.response.status_code', 'rpc.status_code');
  const given = attributes.findText('error.type');
  // Of a response with 404 and the like, `error.type` is the status.
  const named = given === String(findStatusCode(attributes, false)) ? undefined : given;
  const type = named ?? (code ? String(code) : undefined);
  if (!type && span.status?.code !== Status_StatusCode.ERROR) return null;
  const exception = findException(span, attributes);
  const message = [
    exception?.message,
    attributes.findText('rpc.jsonrpc.error_message'),
    span.status?.message,
  ].find(Boolean);
  return {
    type: truncate([type, exception?.type].find(Boolean) ?? 'Error', MAX_TYPE),
    message: truncate(sanitize(message ?? ''), MAX_MESSAGE),
    stacktrace: exception?.stacktrace ?? '',
    tracker_event_id: exception?.tracker_event_id ?? null,
  };
}
