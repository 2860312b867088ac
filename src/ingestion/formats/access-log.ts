import { parseAddress, parseHops } from '../../common/ip-address.js';
import { EMPTY_CAPTURE, type Header, toCaptureJson, toRequestHeadersJson } from '../capture.js';
import { isPublic, lookUpCountry } from '../client-country.js';
import { isStaticAssetOrHealthCheck } from '../log-exclusion.js';
import { LenientReader, isAbsent } from './decoders.js';
import { traceIdDecoder } from './ndjson.capture.js';
import { type LineResult, type ParseOptions, toFullUrl } from './parsed-request.js';
import { inferPathPattern } from './path-pattern.js';
import {
  identifierDecoder,
  methodDecoder,
  responseTimeDecoder,
  sizeDecoder,
  statusCodeDecoder,
  urlDecoder,
} from './request-decoders.js';
import { MAX_URL, findClosingQuote, isLongerThan, normalizeMethod, sanitize } from './text.js';
import { isStorable, readTwoDigits, toEpochMs } from './timestamps.js';

/** A host, with or without a port. */
export const HOST = /^([\w.-]{1,255}|\[[\da-fA-F:.]{1,255}\])(?::(\d{1,5}))?$/;
const DEFAULT_PORT = /^(?:(http:\/\/[^/?#]*):80|(https:\/\/[^/?#]*):443)(?=[/?#]|$)/i;
const PROTOCOL = /^HTTP\/\d(?:\.\d)?$/;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
/** W3C Trace Context, section 3.2. */
const TRACEPARENT = /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}(?:-|$)/i;
const NUMERIC = /^\d{1,15}(?:\.\d{1,9})?$/;
/** Runs of escaped bytes, or any other escape; a run is bounded because V8 keeps a state for each repetition. */
const ESCAPES = /(?:\\x[0-9A-Fa-f]{2}){1,4096}|\\(.)/gs;
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', v: '\v' };
/** A byte of the target may be written in four characters; twice that leaves room for method and protocol. */
const MAX_REQUEST = 8 * MAX_URL;

/** A quoted text with its escapes, and the offset after it. */
export interface Quoted {
  readonly text: string;
  readonly end: number;
}

/** What a line of an access log says, with its required values checked. */
export interface AccessLogRequest {
  /** Milliseconds since the Unix epoch. */
  timestamp: number;
  /** In upper case. */
  method: string;
  url: string;
  status_code: number;
  /** The authenticated user. */
  user: string | null;
  client_ip: string | null;
  request_size_bytes: unknown;
  response_size_bytes: unknown;
  response_time_ms: unknown;
  userAgent: string | null;
  /** Without NUL and lone surrogates. */
  request_headers: readonly Header[];
  response_headers?: readonly Header[];
  trace_id?: string | null;
}

/** The record of a request of an access log. Its path is inferred from the URL, because no access log has the route. */
export function toRecord(
  request: AccessLogRequest,
  { shiftMs = 0, consumerFrom }: ParseOptions,
  reader: LenientReader,
): LineResult {
  const { method, url, status_code, user, client_ip } = request;
  const path = inferPathPattern(url);
  const excluded_from_logs = isStaticAssetOrHealthCheck(path, url, request.userAgent);
  const identifier = consumerFrom === 'user' ? reader.read(user, 'consumer', identifierDecoder) : null;
  const record = {
    request_uuid: null,
    timestamp: request.timestamp + shiftMs,
    env: null,
    consumer: identifier === null ? null : { identifier },
    method,
    path,
    is_path_inferred: true,
    url,
    status_code,
    request_size_bytes: reader.read(request.request_size_bytes, 'request_size_bytes', sizeDecoder),
    response_size_bytes: reader.read(request.response_size_bytes, 'response_size_bytes', sizeDecoder),
    response_time_ms: reader.read(request.response_time_ms, 'response_time_ms', responseTimeDecoder),
    client_ip,
    client_country_iso_code: lookUpCountry(client_ip),
    excluded_from_logs,
    // Requests that are excluded from the logs have no capture.
    captured_json: excluded_from_logs ? '' : captureRequest(request),
  };
  return { record, ignored: reader.ignored };
}

function captureRequest({ request_headers, response_headers = [], trace_id }: AccessLogRequest): string {
  if (response_headers.length > 0 || !isAbsent(trace_id))
    return toCaptureJson({ ...EMPTY_CAPTURE, request_headers, response_headers, trace_id: trace_id ?? null });
  return request_headers.length === 0
    ? ''
    : toRequestHeadersJson(request_headers.map((header) => JSON.stringify(header)));
}

/** The values of a line by which a request is known, as the log has them; undefined where it has none. */
export interface RequiredValues {
  /** Milliseconds since the Unix epoch; NaN if it is no time that can be read. */
  timestamp: number | undefined;
  method: unknown;
  /** A path with its query, or a whole URL. */
  target: unknown;
  /** Scheme and host, for a target that is a path. */
  origin: string | undefined;
  status: unknown;
}

/** The log's own names of the required values, as text of an error message. */
export type ValueNames = Readonly<Record<'timestamp' | 'method' | 'url' | 'status_code', string>>;

type Required = Pick<AccessLogRequest, 'timestamp' | 'method' | 'url' | 'status_code'>;

/** The required values of a request, checked, or the reason why one of them is invalid. */
export function readRequired(
  values: RequiredValues,
  names: ValueNames,
  baseUrl: string | undefined,
): Required | { reason: string } {
  const { timestamp, target, origin } = values;
  if (timestamp === undefined) return missing('timestamp', names);
  if (!isStorable(timestamp)) return { reason: 'timestamp: must be a date and time from 1970 to 2099' };
  if (isAbsent(values.method)) return missing('method', names);
  if (isAbsent(target)) return missing('url', names);
  if (isAbsent(values.status)) return missing('status_code', names);
  const method = methodDecoder.decode(values.method);
  if (method === undefined) return { reason: `method: ${methodDecoder.ruleFor(values.method)}` };
  const given = urlDecoder.decode(target);
  if (given === undefined) return { reason: `url: ${urlDecoder.ruleFor(target)}` };
  const status = toNumber(values.status);
  const status_code = statusCodeDecoder.decode(status);
  if (status_code === undefined) return { reason: `status_code: ${statusCodeDecoder.ruleFor(status)}` };
  const url = toFullUrl(given.replace(DEFAULT_PORT, '$1$2'), origin ?? baseUrl);
  return { timestamp: Math.floor(timestamp), method, url, status_code };
}

function missing(name: keyof ValueNames, names: ValueNames): { reason: string } {
  return { reason: `${name}: is missing; the line must have ${names[name]}` };
}

/** A number that may be written as text; any other value as it is. */
export function toNumber(value: unknown): unknown {
  return typeof value === 'string' && NUMERIC.test(value) ? Number(value) : value;
}

/** A time that may be written as text, in milliseconds; any other value as it is. */
export function toMilliseconds(value: unknown, perUnit: number): unknown {
  const number = toNumber(value);
  return typeof number === 'number' ? number * perUnit : number;
}

/**
 * The URL's scheme and host from a host with or without a port; undefined if it is no host. The port of the scheme is left
 * out. Without a scheme, port 443 means https.
 */
export function toOrigin(host: string, scheme?: string): string | undefined {
  const [, name, port] = HOST.exec(host) ?? [];
  if (name === undefined) return undefined;
  const isHttps = scheme === undefined ? port === '443' : scheme.toLowerCase() === 'https';
  const origin = `${isHttps ? 'https' : 'http'}://${name}`;
  return port === undefined || port === (isHttps ? '443' : '80') ? origin : `${origin}:${port}`;
}

/** The client's address: the host's, unless the host is not public and proxies named an address that is. */
export function findAddress(host: string, forwardedFor: string | null): string | null {
  const own = parseAddress(host);
  if (forwardedFor === null || (own !== null && isPublic(own))) return own;
  return parseHops(forwardedFor).find(isPublic) ?? own;
}

/** The trace ID of a `traceparent` header or of a text that is one; null if it is neither. */
export function readTraceId(text: string): string | null {
  return traceIdDecoder.decode(TRACEPARENT.exec(text)?.[1] ?? text) ?? null;
}

/** Method and target of a request line, `GET /x HTTP/1.1`, or the reason why it is none. */
export function readRequestLine(text: string): { method: string; target: string } | { reason: string } {
  if (text === '' || text === '-') return { reason: 'request: there is none' };
  const tooLong = { reason: `url: must have 1 to ${MAX_URL} characters` };
  if (text.length > MAX_REQUEST) return tooLong;
  const request = unescapeText(text);
  const methodEnd = request.indexOf(' ');
  const method = normalizeMethod(request.slice(0, Math.max(methodEnd, 0)));
  const target = targetFrom(request.slice(methodEnd + 1));
  if (method === null || target === '')
    return { reason: 'request: must have the form METHOD target HTTP/version' };
  return isLongerThan(target, MAX_URL) ? tooLong : { method, target };
}

/** The target before the protocol, which HTTP/0.9 does not have; empty when it is neither. */
function targetFrom(text: string): string {
  const end = text.lastIndexOf(' ');
  if (end !== -1 && PROTOCOL.test(text.slice(end + 1))) return sanitize(text.slice(0, end));
  return end === -1 && text.startsWith('/') ? sanitize(text) : '';
}

/**
 * The time of the common log format at `at`, `17/May/2015:10:05:03 +0000`, in milliseconds since the Unix epoch; null if it
 * is not in the valid range. Each digit must be one.
 */
export function readCommonLogTime(line: string, at: number): number | null {
  const year = readTwoDigits(line, at + 7) * 100 + readTwoDigits(line, at + 9);
  const month = MONTHS.indexOf(line.slice(at + 3, at + 6)) + 1;
  const [day, hour] = [readTwoDigits(line, at), readTwoDigits(line, at + 12)];
  const [minute, second] = [readTwoDigits(line, at + 15), readTwoDigits(line, at + 18)];
  const [offsetHours, offsetMinutes] = [readTwoDigits(line, at + 22), readTwoDigits(line, at + 24)];
  if (offsetHours > 23 || offsetMinutes > 59) return null;
  const offset = (offsetHours * 60 + offsetMinutes) * 60_000;
  const local = toEpochMs(year, month, day, hour, minute, second);
  const timestamp = line[at + 21] === '-' ? local + offset : local - offset;
  return isStorable(timestamp) ? timestamp : null;
}

/** The text of the quotes that open at `at`; null when they stay open. */
export function quotedAt(line: string, at: number): Quoted | null {
  const quote = findClosingQuote(line, at);
  return quote === line.length ? null : { text: line.slice(at + 1, quote), end: quote + 1 };
}

/** Undoes `\"`, `\\`, `\n` and the like, and `\xhh`, of which runs are UTF-8. */
export function unescapeText(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(ESCAPES, (escape, character?: string) =>
    character === undefined
      ? Buffer.from(escape.replaceAll('\\x', ''), 'hex').toString()
      : (ESCAPED[character] ?? character),
  );
}
