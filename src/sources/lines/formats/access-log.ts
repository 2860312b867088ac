import { parseAddress, parseHops } from '../../../shared/ip-address.js';
import {
  EMPTY_CAPTURE,
  type Header,
  getHeader,
  toCaptureJson,
  toRequestHeadersJson,
} from '../../../records/capture.js';
import { isPublic, lookUpCountry } from '../../decoding/client-country.js';
import { isStaticAssetOrHealthCheck } from '../../decoding/log-exclusion.js';
import { LenientReader, isAbsent, textDecoder } from '../../../records/decoding/decoders.js';
import { parseLogTime } from './log-times.js';
import { traceIdDecoder } from '../../../records/decoding/ndjson.capture.js';
import { type LineResult, type ParseOptions, type ParsedRequest, toFullUrl } from './parsed-request.js';
import { findMcpOperation } from '../../decoding/mcp-operation.js';
import { addOperation } from '../../../records/operation.js';
import { addSlash, inferPathPattern, normalizeRoutePattern } from '../../decoding/path-pattern.js';
import {
  methodDecoder,
  readConsumer,
  responseTimeDecoder,
  sizeDecoder,
  statusCodeDecoder,
  urlDecoder,
} from '../../decoding/request-decoders.js';
import { MAX_VALUE, limitHeaders } from '../../../records/limits.js';
import { MAX_URL, isLongerThan, normalizeMethod, sanitize } from '../../../records/text.js';

/** A host, with or without a port. `_` is nginx's name for a server without a name. */
const HOST = /^(?![_-]$)([\w.-]{1,255}|\[[\da-fA-F:.]{1,255}\])(?::(\d{1,5}))?$/;
const DEFAULT_PORT = /^(?:(http:\/\/[^/?#]*):80|(https:\/\/[^/?#]*):443)(?=[/?#]|$)/i;
/** `off` in nginx, and the name that sidecars of Istio use for each other. */
const NOT_TLS = /^(?:off$|outbound_)/;
const PROTOCOL = /^HTTP\/\d(?:\.\d)?$/;
/**
 * W3C Trace Context, section 3.2; AWS X-Ray, whose root is a trace ID with hyphens; Google Cloud's name of a
 * trace.
 */
const TRACEPARENT = /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}(?:-|$)/i;
const X_RAY = /(?:^|;)(?:Root=)?1-([\da-f]{8})-([\da-f]{24})(?:;|$)/i;
const CLOUD_TRACE = /^projects\/[^/]{1,64}\/traces\/([\da-f]{32})$/i;
const NUMERIC = /^[+-]?\d{1,15}(?:\.\d{1,9})?$/;
/**
 * Several times of one request: of nginx's upstreams, or of the phases of a load balancer. A hyphen is not a
 * time.
 */
const TIMES = /^[\d.-]{1,20}(?:(?:, ?| : | )[\d.-]{1,20}){1,32}$/;
/** A duration with units, as Go writes it (`1m2.5s`, `12.3ms`), or with a unit after a blank. */
const DURATION = /^(?:(\d{1,6})h)?(?:(\d{1,8})m(?!s))?(?:(\d{1,12}(?:\.\d{1,9})?) ?(s|ms|µs|μs|us|ns))?$/;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, ms: 1, µs: 1e-3, μs: 1e-3, us: 1e-3, ns: 1e-6 };
/**
 * Runs of escaped bytes, an escaped UTF-16 unit, or any other escape; a run is bounded because V8 keeps a
 * state for each repetition.
 */
const ESCAPES = /((?:\\x[0-9A-Fa-f]{2}){1,4096})|\\u([0-9A-Fa-f]{4})|\\(.)/gs;
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', v: '\v' };
/** A byte of a URL may be written in four characters; twice that leaves room for method and protocol. */
const MAX_ESCAPED = 8 * MAX_URL;
/** After an address without brackets, as HAProxy and AWS write it. */
const PORT = /:\d{1,5}$/;

/** The values of a line of an access log, each as it is written: a text, a number, or a value of JSON. */
export interface LogValues {
  /** A time in any form that `parseLogTime` accepts; or a date, and a time of the day. */
  timestamp?: unknown;
  date?: unknown;
  time?: unknown;
  /** A request line: `GET /a HTTP/1.1`. */
  request?: unknown;
  method?: unknown;
  /** A path with its query, or a whole URL. */
  url?: unknown;
  /** A path, and the text after its question mark. */
  path?: unknown;
  query?: unknown;
  /** A host with or without a port. */
  host?: unknown;
  port?: unknown;
  scheme?: unknown;
  /** The protocol or the server's name of TLS, which means https. */
  tls?: unknown;
  status_code?: unknown;
  /** One address or several, with or without ports. */
  client_ip?: unknown;
  /** An address and its port. */
  client_ip_port?: unknown;
  /** Addresses of the client and of proxies, in the form of the header `X-Forwarded-For`. */
  forwarded_for?: unknown;
  /** The authenticated user. */
  user?: unknown;
  consumer?: unknown;
  /** The route in the spelling of its framework. */
  route?: unknown;
  request_size_bytes?: unknown;
  response_size_bytes?: unknown;
  response_time_ms?: unknown;
  response_time_s?: unknown;
  response_time_us?: unknown;
  response_time_ns?: unknown;
  /** A number with a unit, or in seconds. */
  response_time?: unknown;
  /** A trace ID, or a header with one. */
  trace_id?: unknown;
  /** Without NUL and lone surrogates. */
  request_headers?: readonly Header[];
  response_headers?: readonly Header[];
}

/** The log's own names of the values that a request needs, as text of an error message. */
export type ValueNames = Readonly<Record<'timestamp' | 'method' | 'url' | 'status_code', string>>;

const NO_REQUEST = { reason: 'request: there is none' };

/** Whether a value of a log means "none". */
export function isBlank(value: unknown): boolean {
  return isAbsent(value) || value === '' || value === '-';
}

/**
 * The request of a line, or the reason why the line is invalid. Invalid optional values are left out and
 * named. Never throws.
 *
 * @param loggedAt time of the envelope, for a line without a time
 */
export function toRequest(
  values: LogValues,
  names: ValueNames,
  options: ParseOptions,
  loggedAt?: unknown,
): LineResult {
  if (isBlank(values.request) && values.request !== undefined && isBlank(values.method)) return NO_REQUEST;
  const line = isBlank(values.request) ? undefined : readRequestLine(String(values.request));
  if (line !== undefined && 'reason' in line) return line;
  const given = isBlank(values.timestamp) ? (joinTime(values) ?? loggedAt) : values.timestamp;
  if (given === undefined) return missing('timestamp', names);
  const timestamp = parseLogTime(given);
  if (Number.isNaN(timestamp)) return { reason: 'timestamp: must be a date and time from 1970 to 2099' };
  const isNamed = !isBlank(values.method);
  if (!isNamed && line === undefined) return missing('method', names);
  const target = isBlank(values.url) ? (line?.target ?? joinTarget(values)) : values.url;
  if (target === undefined) return missing('url', names);
  if (isBlank(values.status_code)) return missing('status_code', names);
  // The parts of a request line are valid already.
  const method = isNamed ? methodDecoder.decode(values.method) : line?.method;
  if (method === undefined) return { reason: `method: ${methodDecoder.ruleFor(values.method)}` };
  const text = target === line?.target ? line.target : urlDecoder.decode(target);
  if (text === undefined) return { reason: `url: ${urlDecoder.ruleFor(target)}` };
  const status = toNumber(values.status_code);
  const status_code = statusCodeDecoder.decode(status);
  if (status_code === undefined) return { reason: `status_code: ${statusCodeDecoder.ruleFor(status)}` };
  const url = text.startsWith('/') ? text : normalizeTarget(text, method);
  const origin = findOrigin(values) ?? options.baseUrl;
  const required = { timestamp: Math.floor(timestamp), method, url: toFullUrl(url, origin), status_code };
  return toRecord(values, required, options);
}

function toRecord(
  values: LogValues,
  {
    timestamp,
    method,
    url,
    status_code,
  }: Pick<ParsedRequest, 'timestamp' | 'method' | 'url' | 'status_code'>,
  { shiftMs = 0, consumerFrom, trustForwarded = false }: ParseOptions,
): LineResult {
  const reader = new LenientReader();
  const [requestHeaders, responseHeaders] = (['request_headers', 'response_headers'] as const).map((name) =>
    limitHeaders(values[name] ?? [], name, reader.ignored),
  ) as [Header[], Header[]];
  const route = textDecoder.decode(values.route);
  const pattern = route === undefined ? inferPathPattern(url) : normalizeRoutePattern(route);
  const client_ip = findClient(values, trustForwarded);
  const userAgent = getHeader(requestHeaders, 'user-agent');
  const excluded_from_logs = isStaticAssetOrHealthCheck(pattern, url, userAgent, route === undefined);
  const consumer =
    isBlank(values.consumer) && consumerFrom === 'user' ? findUser(values.user) : values.consumer;
  const record = {
    request_uuid: null,
    timestamp: timestamp + shiftMs,
    env: null,
    consumer: isBlank(consumer) ? null : readConsumer(consumer, 'consumer', reader),
    method,
    path: addOperation(pattern, findMcpOperation(method, status_code, requestHeaders)),
    is_path_inferred: route === undefined,
    url,
    status_code,
    request_size_bytes: reader.read(toNumber(values.request_size_bytes), 'request_size_bytes', sizeDecoder),
    response_size_bytes: reader.read(
      toNumber(values.response_size_bytes),
      'response_size_bytes',
      sizeDecoder,
    ),
    response_time_ms: reader.read(findResponseTime(values), 'response_time_ms', responseTimeDecoder),
    client_ip,
    client_country_iso_code: lookUpCountry(client_ip),
    excluded_from_logs,
    // Requests that are excluded from the logs have no capture.
    captured_json: excluded_from_logs ? '' : captureRequest(requestHeaders, responseHeaders, values.trace_id),
  };
  return { record, ignored: reader.ignored };
}

function captureRequest(
  request_headers: readonly Header[],
  response_headers: readonly Header[],
  traced: unknown,
): string {
  const text = isBlank(traced) ? getHeader(request_headers, 'traceparent') : String(traced);
  const trace_id = text === null ? null : readTraceId(text);
  if (response_headers.length > 0 || trace_id !== null)
    return toCaptureJson({ ...EMPTY_CAPTURE, request_headers, response_headers, trace_id });
  return request_headers.length === 0
    ? ''
    : toRequestHeadersJson(request_headers.map((header) => JSON.stringify(header)));
}

function missing(name: keyof ValueNames, names: ValueNames): { reason: string } {
  return { reason: `${name}: is missing; the line must have ${names[name]}` };
}

function joinTime({ date, time }: LogValues): string | undefined {
  return isBlank(date) || isBlank(time) ? undefined : `${String(date)}T${String(time)}`;
}

function joinTarget({ path, query }: LogValues): unknown {
  if (isBlank(path)) return undefined;
  if (typeof path !== 'string' || isBlank(query)) return path;
  return `${path}?${String(query).replace(/^\?/, '')}`;
}

/** A URL without the default port of its scheme, or a path. CONNECT has a host and a port. */
function normalizeTarget(target: string, method: string): string {
  return method === 'CONNECT' ? target : addSlash(target).replace(DEFAULT_PORT, '$1$2');
}

/** A number that may be written as text; undefined if there is no value; any other value unchanged. */
function toNumber(value: unknown): unknown {
  if (typeof value === 'number') return value;
  if (isBlank(value)) return undefined;
  return typeof value === 'string' && NUMERIC.test(value) ? Number(value) : value;
}

function findResponseTime(values: LogValues): unknown {
  return (
    sumMilliseconds(values.response_time_ms, 1) ??
    sumMilliseconds(values.response_time_s, 1_000) ??
    sumMilliseconds(values.response_time_us, 1e-3) ??
    sumMilliseconds(values.response_time_ns, 1e-6) ??
    parseDuration(values.response_time)
  );
}

/**
 * A time, or the sum of several times, in milliseconds; undefined if one of them is -1; any other value
 * unchanged.
 */
function sumMilliseconds(value: unknown, perUnit: number): unknown {
  if (value === undefined) return undefined;
  const number = typeof value === 'string' && TIMES.test(value) ? sum(value) : toNumber(value);
  if (number === -1) return undefined;
  return typeof number === 'number' ? number * perUnit : number;
}

function sum(times: string): unknown {
  const numbers = times
    .split(/[,: ]+/)
    .filter((time) => time !== '-')
    .map(Number);
  return numbers.includes(-1) ? -1 : numbers.reduce((total, number) => total + number, 0);
}

/** Milliseconds of a text with units, or of seconds; any other value unchanged. */
function parseDuration(value: unknown): unknown {
  const seconds = sumMilliseconds(value, 1_000);
  if (typeof seconds !== 'string') return seconds;
  const [match, hours = '0', minutes = '0', rest = '0', unit = 's'] = DURATION.exec(seconds) ?? [];
  if (match === undefined) return value;
  return (Number(hours) * 60 + Number(minutes)) * 60_000 + Number(rest) * (UNIT_MS[unit] ?? 0);
}

/** Scheme and host of the URL; undefined if the host is unknown. */
function findOrigin({
  host: given,
  port,
  scheme: named,
  tls,
  request_headers = [],
}: LogValues): string | undefined {
  const host = isBlank(given) ? getHeader(request_headers, 'host') : given;
  if (isBlank(host)) return undefined;
  const forwarded = isBlank(named) ? getHeader(request_headers, 'x-forwarded-proto') : named;
  // Each proxy in a chain appends its scheme.
  const [scheme = ''] = isBlank(forwarded) ? [] : String(forwarded).split(',');
  const isSecure = (!isBlank(tls) && !NOT_TLS.test(String(tls))) || String(port) === '443';
  return toOrigin(String(host), scheme.trim() || (isSecure ? 'https' : undefined));
}

/**
 * Scheme and host of a URL, from a host with or without a port; undefined if the text is not a host. The
 * default port of the scheme is left out. Without a scheme, port 443 means https.
 */
function toOrigin(text: string, scheme?: string): string | undefined {
  const [, name, port] = HOST.exec(text) ?? [];
  if (name === undefined) return undefined;
  const isHttps = scheme === undefined ? port === '443' : scheme.toLowerCase() === 'https';
  const origin = `${isHttps ? 'https' : 'http'}://${name}`;
  return port === undefined || port === (isHttps ? '443' : '80') ? origin : `${origin}:${port}`;
}

function toText(value: unknown): string {
  return isBlank(value) ? '' : String(value);
}

/** Apache writes two quotes for an empty user. */
function findUser(user: unknown): string | null {
  return isBlank(user) || user === '""' ? null : String(user);
}

/**
 * The client's address: the first public address that the log names as the client. If there is none, or if
 * proxies are trusted, the first public address that proxies named.
 */
function findClient(values: LogValues, trustForwarded: boolean): string | null {
  const { client_ip, client_ip_port, request_headers = [] } = values;
  const named = isBlank(client_ip) ? toText(client_ip_port).replace(PORT, '') : String(client_ip);
  const addresses = parseClients(named);
  const [first = null] = addresses;
  const client = addresses.length > 1 ? (addresses.find(isPublic) ?? first) : first;
  const forwardedFor = isBlank(values.forwarded_for)
    ? getHeader(request_headers, 'x-forwarded-for')
    : values.forwarded_for;
  if (isBlank(forwardedFor) || (!trustForwarded && client !== null && isPublic(client))) return client;
  const hops = parseClients(String(forwardedFor));
  return hops.find(isPublic) ?? client ?? hops[0] ?? null;
}

function parseClients(given: string): string[] {
  const text = given.slice(0, MAX_VALUE);
  const whole = parseAddress(text);
  return whole === null ? parseHops(text, readHop) : [whole];
}

/**
 * An address in `for="[2001:db8::7]:443";proto=https` of `Forwarded`, or in quotes; IIS writes a plus sign
 * for a blank.
 */
function readHop(hop: string): string {
  return hop.replace(/^.*\bfor=/i, '').replace(/;.*$|["+\s]/g, '');
}

/** The trace ID in a header, or in a text that consists of it; null if there is none. */
function readTraceId(text: string): string | null {
  const [, time = '', rest = ''] = X_RAY.exec(text) ?? [];
  const id = time + rest || (TRACEPARENT.exec(text) ?? CLOUD_TRACE.exec(text))?.[1];
  return traceIdDecoder.decode(id ?? text) ?? null;
}

/** Method and target of a request line, `GET /x HTTP/1.1`, or the reason why the line is invalid. */
function readRequestLine(text: string): { method: string; target: string } | { reason: string } {
  const tooLong = { reason: `url: must have 1 to ${MAX_URL} characters` };
  if (text.length > MAX_ESCAPED) return tooLong;
  const methodEnd = text.indexOf(' ');
  const method = normalizeMethod(text.slice(0, Math.max(methodEnd, 0)));
  const target = targetFrom(text.slice(methodEnd + 1));
  if (method === null || target === '')
    return { reason: 'request: must have the form METHOD target HTTP/version' };
  return isLongerThan(target, MAX_URL) ? tooLong : { method, target };
}

/** The target before the protocol, which HTTP/0.9 lacks; empty if there is no target. */
function targetFrom(text: string): string {
  const end = text.lastIndexOf(' ');
  if (end !== -1 && PROTOCOL.test(text.slice(end + 1))) return sanitize(text.slice(0, end));
  return end === -1 && text.startsWith('/') ? sanitize(text) : '';
}

/**
 * Decodes escapes in a text within the length of a request: `\"`, `\\`, `\n` and similar, `\u00e9`, and
 * `\xhh`, whose runs are UTF-8.
 */
export function unescapeText(text: string): string {
  if (!text.includes('\\') || text.length > MAX_ESCAPED) return text;
  return text.replace(ESCAPES, (_, bytes?: string, unit?: string, character?: string) => {
    if (bytes !== undefined) return Buffer.from(bytes.replaceAll('\\x', ''), 'hex').toString();
    if (unit !== undefined) return String.fromCharCode(parseInt(unit, 16));
    return ESCAPED[character ?? ''] ?? character ?? '';
  });
}
