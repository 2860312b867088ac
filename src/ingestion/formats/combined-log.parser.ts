import { parseAddress } from '../../common/ip-address.js';
import { toRequestHeadersJson } from '../capture.js';
import { isPublic, lookUpCountry } from '../client-country.js';
import { isStaticAssetOrHealthCheck } from '../log-exclusion.js';
import { LenientReader } from './decoders.js';
import { type LineResult, type ParseOptions, toFullUrl } from './parsed-request.js';
import { inferPathPattern } from './path-pattern.js';
import {
  identifierDecoder,
  responseTimeDecoder,
  sizeDecoder,
  statusCodeDecoder,
} from './request-decoders.js';
import { MAX_URL, isLongerThan, normalizeMethod, sanitize } from './text.js';
import { isStorable, readTwoDigits, toEpochMs } from './timestamps.js';

/** The time, up to the quote that opens the request. A user name may have brackets as well. */
const TIME = / \[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "/;
/** Offset of the time within a match of `TIME`, and the length of the match. */
const [TIME_AT, TIME_LENGTH] = [2, 31];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const VIRTUAL_HOST = /^([\w.-]{1,255}|\[[\da-fA-F:.]{1,255}\])(?::(\d{1,5}))?$/;
const PROTOCOL = /^HTTP\/\d(?:\.\d)?$/;
const STATUS_AND_SIZE = / (\d{1,5}) (\d{1,20}|-)(?= |$)/y;
const QUOTED = / "/y;
/** A field after the user agent: quoted, unquoted, or `name="value"`. */
const FURTHER_FIELD = / +(?:"((?:[^"\\]|\\.)*)"|([^\s"]+(?:"[^"]*")?))/y;
/** Characters after the user agent that are searched for further fields. */
const MAX_FURTHER = 4_096;
/** A response time: seconds as nginx and gunicorn write them, also with a name, or milliseconds as Traefik does. */
const RESPONSE_TIME = /^(?:(?:rt|request_time)="?)?(?:(\d{1,9}\.(?:\d{3}|\d{6}))s?|(\d{1,12})ms)"?$/;
/** More than any chain of proxies has. */
const MAX_HOPS = 32;
/** Runs of escaped bytes, or any other escape; a run is bounded because V8 keeps a state for each repetition. */
const ESCAPES = /(?:\\x[0-9A-Fa-f]{2}){1,4096}|\\(.)/gs;
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', v: '\v' };
/** A byte of the target may be written in four characters; twice that leaves room for method and protocol. */
const MAX_REQUEST = 8 * MAX_URL;

const NOT_ITS_FORM = { reason: 'line: must begin with host, identity, user, [time] and "request"' };
const WRONG_TIME = { reason: 'time: must have the form 17/May/2015:10:05:03 +0000, from 1970 to 2099' };

/** A quoted text with its escapes, and the offset after it. */
interface Quoted {
  readonly text: string;
  readonly end: number;
}

/** The fields before the time: client and virtual host. */
interface Client {
  readonly host: string;
  readonly user: string;
  /** Scheme and virtual host; undefined if the line has none. */
  readonly origin: string | undefined;
}

/** The fields after the size. */
interface Fields {
  referer: string | null;
  userAgent: string | null;
  responseTimeMs: number | null;
  /** Addresses of the client and of proxies, as the header `X-Forwarded-For` has them. */
  forwardedFor: string | null;
}

/**
 * Reads one line of an Apache or nginx access log in the common or the combined format, which a virtual host with its
 * port may precede:
 *
 *     host identity user [17/May/2015:10:05:03 +0000] "GET /x HTTP/1.1" 200 512 "referer" "user agent"
 *     www.example.com:443 host identity user [17/May/2015:10:05:03 +0000] "GET /x HTTP/1.1" 200 512
 *
 * Referer and user agent become request headers. Of what follows them, a time becomes the response time (`0.004`,
 * `rt=0.004`, `request_time=0.004`, `12ms`), and the first public address in the first quoted field, where proxies are
 * logged, becomes the client's address if the host is not a public address. Microseconds of Apache's `%D` cannot be distinguished
 * from other numbers. A host that is a name gives no client address. The URL is the request target behind the virtual
 * host or `baseUrl`, or alone where neither is known.
 *
 * An unclosed quote in the last field is accepted. Runs in linear time. Never throws.
 */
export function parseCombinedLine(line: string, options: ParseOptions = {}): LineResult {
  const timeAt = line.search(TIME);
  if (timeAt === -1) return hasOtherTime(line) ? WRONG_TIME : NOT_ITS_FORM;
  const client = readClient(line.slice(0, timeAt));
  if (client === null) return NOT_ITS_FORM;
  const timestamp = readTime(line, timeAt + TIME_AT);
  if (timestamp === null) return WRONG_TIME;
  const request = quotedAt(line, timeAt + TIME_LENGTH - 1);
  if (request === null) return { reason: 'request: its quote is not closed' };
  const target = readTarget(request.text, client.origin ?? options.baseUrl);
  if ('reason' in target) return target;
  STATUS_AND_SIZE.lastIndex = request.end;
  const [result, status, size] = STATUS_AND_SIZE.exec(line) ?? [];
  if (result === undefined) return { reason: 'line: status and size must follow the request' };
  const status_code = statusCodeDecoder.decode(Number(status));
  if (status_code === undefined) return { reason: `status_code: ${statusCodeDecoder.ruleFor(status)}` };
  const { method, url } = target;
  const reader = new LenientReader();
  const fields = readFields(line, request.end + result.length);
  const path = inferPathPattern(url);
  const client_ip = findAddress(client.host, fields.forwardedFor);
  const excluded_from_logs = isStaticAssetOrHealthCheck(path, url, fields.userAgent);
  const record = {
    request_uuid: null,
    timestamp: timestamp + (options.shiftMs ?? 0),
    env: null,
    consumer: options.consumerFrom === 'user' ? readConsumer(client.user, reader) : null,
    method,
    path,
    is_path_inferred: true,
    url,
    status_code,
    request_size_bytes: null,
    // A hyphen means that no bytes were sent.
    response_size_bytes: reader.read(size === '-' ? 0 : Number(size), 'response_size_bytes', sizeDecoder),
    response_time_ms: reader.read(fields.responseTimeMs, 'response_time_ms', responseTimeDecoder),
    client_ip,
    client_country_iso_code: lookUpCountry(client_ip),
    excluded_from_logs,
    // Requests that are excluded from the logs have no capture.
    captured_json: excluded_from_logs ? '' : captureHeaders(fields),
  };
  return { record, ignored: reader.ignored };
}

/** Whether a line has the form of an access log, except for its time. */
function hasOtherTime(line: string): boolean {
  const closing = line.indexOf('] "');
  const opening = closing === -1 ? -1 : line.lastIndexOf(' [', closing);
  return opening !== -1 && splitFields(line.slice(0, opening), 3) !== null;
}

/**
 * The first `count - 1` fields of a text, each followed by one space, and all that follows them as the last one; null
 * when the text has fewer, or a field begins with white space. A regular expression would keep a state for each
 * character of a field, and throw a `RangeError` where there are millions.
 */
function splitFields(text: string, count: number): string[] | null {
  const fields: string[] = [];
  let rest = text;
  while (fields.length < count - 1) {
    const end = rest.search(/\s/);
    if (end < 1 || rest[end] !== ' ') return null;
    fields.push(rest.slice(0, end));
    rest = rest.slice(end + 1);
  }
  return /^\S/.test(rest) ? [...fields, rest] : null;
}

function readClient(text: string): Client | null {
  // Usually identity and user follow the client.
  const [first, second = '', rest = ''] = splitFields(text, 3) ?? [];
  if (first === undefined) return null;
  const [, host, port] = VIRTUAL_HOST.exec(first) ?? [];
  const [identity, user] = host === undefined ? [] : (splitFields(rest, 2) ?? []);
  const isVirtualHost =
    port === undefined
      ? parseAddress(first) === null && parseAddress(second) !== null
      : identity === '-' || parseAddress(second) !== null;
  if (host === undefined || user === undefined || !isVirtualHost)
    return { host: first, user: rest, origin: undefined };
  return { host: second, user, origin: toOrigin(host, port) };
}

/** Scheme and host; the port as well, unless it is that of the scheme. */
function toOrigin(host: string, port: string | undefined): string {
  if (port === '443') return `https://${host}`;
  return port === undefined || port === '80' ? `http://${host}` : `http://${host}:${port}`;
}

/** The time at `at`, as `TIME` found it, in milliseconds since the Unix epoch; null when there is no such time. */
function readTime(line: string, at: number): number | null {
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

function readTarget(
  text: string,
  baseUrl: string | undefined,
): { method: string; url: string } | { reason: string } {
  if (text === '' || text === '-') return { reason: 'request: there is none' };
  const tooLong = { reason: `url: must have 1 to ${MAX_URL} characters` };
  if (text.length > MAX_REQUEST) return tooLong;
  const request = unescapeText(text);
  const methodEnd = request.indexOf(' ');
  const method = normalizeMethod(request.slice(0, Math.max(methodEnd, 0)));
  const target = targetFrom(request.slice(methodEnd + 1));
  if (method === null || target === '')
    return { reason: 'request: must have the form METHOD target HTTP/version' };
  return isLongerThan(target, MAX_URL) ? tooLong : { method, url: toFullUrl(target, baseUrl) };
}

/** The target before the protocol, which HTTP/0.9 does not have; empty when it is neither. */
function targetFrom(text: string): string {
  const end = text.lastIndexOf(' ');
  if (end !== -1 && PROTOCOL.test(text.slice(end + 1))) return sanitize(text.slice(0, end));
  return end === -1 && text.startsWith('/') ? sanitize(text) : '';
}

function readFields(line: string, at: number): Fields {
  const referer = fieldAt(line, at);
  const userAgent = referer && fieldAt(line, referer.end);
  const end = userAgent?.end ?? referer?.end ?? at;
  const fields: Fields = {
    referer: toHeader(referer),
    userAgent: toHeader(userAgent),
    responseTimeMs: null,
    forwardedFor: null,
  };
  if (end < line.length) readFurtherFields(line.slice(end, end + MAX_FURTHER), fields);
  return fields;
}

function toHeader(field: Quoted | null): string | null {
  return field === null || field.text === '-' || field.text === ''
    ? null
    : sanitize(unescapeText(field.text));
}

function readFurtherFields(text: string, fields: Fields) {
  FURTHER_FIELD.lastIndex = 0;
  for (let field = FURTHER_FIELD.exec(text); field !== null; field = FURTHER_FIELD.exec(text)) {
    const [, quoted, unquoted = ''] = field;
    if (quoted !== undefined) fields.forwardedFor ??= quoted;
    const [, seconds, milliseconds] = RESPONSE_TIME.exec(quoted ?? unquoted) ?? [];
    if (seconds !== undefined) fields.responseTimeMs ??= Number(seconds) * 1000;
    else if (milliseconds !== undefined) fields.responseTimeMs ??= Number(milliseconds);
  }
}

/** The client's address: the host's, unless the host is not public and proxies named an address that is. */
function findAddress(host: string, forwardedFor: string | null): string | null {
  const own = parseAddress(host);
  if (forwardedFor === null || (own !== null && isPublic(own))) return own;
  for (const hop of forwardedFor.split(',', MAX_HOPS)) {
    const address = parseAddress(hop.trim());
    if (address !== null && isPublic(address)) return address;
  }
  return own;
}

function readConsumer(user: string, reader: LenientReader) {
  const identifier = user === '-' ? null : reader.read(unescapeText(user), 'consumer', identifierDecoder);
  return identifier === null ? null : { identifier };
}

function captureHeaders({ userAgent, referer }: Fields): string {
  const headers = [];
  if (userAgent !== null) headers.push(`["user-agent",${JSON.stringify(userAgent)}]`);
  if (referer !== null) headers.push(`["referer",${JSON.stringify(referer)}]`);
  return headers.length === 0 ? '' : toRequestHeadersJson(headers);
}

/** The quoted field at `at`; the rest of the line where its quote stays open. */
function fieldAt(line: string, at: number): Quoted | null {
  QUOTED.lastIndex = at;
  if (!QUOTED.test(line)) return null;
  return quotedAt(line, at + 1) ?? { text: line.slice(at + 2), end: line.length };
}

/** The text of the quotes that open at `at`; null when they stay open. */
function quotedAt(line: string, at: number): Quoted | null {
  for (let quote = line.indexOf('"', at + 1); quote !== -1; quote = line.indexOf('"', quote + 1))
    if (!isEscaped(line, quote)) return { text: line.slice(at + 1, quote), end: quote + 1 };
  return null;
}

function isEscaped(line: string, at: number): boolean {
  let backslashes = 0;
  while (line[at - 1 - backslashes] === '\\') backslashes++;
  return backslashes % 2 === 1;
}

/** Undoes `\"`, `\\`, `\n` and the like, and `\xhh`, of which runs are UTF-8. */
function unescapeText(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(ESCAPES, (escape, character?: string) =>
    character === undefined
      ? Buffer.from(escape.replaceAll('\\x', ''), 'hex').toString()
      : (ESCAPED[character] ?? character),
  );
}
