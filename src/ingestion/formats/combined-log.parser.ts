import { parseAddress } from '../../common/ip-address.js';
import type { Header } from '../capture.js';
import {
  HOST,
  type Quoted,
  findAddress,
  quotedAt,
  readCommonLogTime,
  readRequestLine,
  toOrigin,
  toRecord,
  unescapeText,
} from './access-log.js';
import { LenientReader } from './decoders.js';
import { type LineResult, type ParseOptions, toFullUrl } from './parsed-request.js';
import { statusCodeDecoder } from './request-decoders.js';
import { sanitize } from './text.js';

/** The time, up to the quote that opens the request. A user name may have brackets as well. */
const TIME = / \[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "/;
/** Servers escape quotes in values, so that no client can write this into a field. */
const NEXT_REQUEST = new RegExp(String.raw`${TIME.source}[A-Z]{1,32} [^"]{1,65536} HTTP/\d(?:\.\d)?" \d{3} `);
/** Offset of the time within a match of `TIME`, and the length of the match. */
const [TIME_AT, TIME_LENGTH] = [2, 31];
const STATUS_AND_SIZE = / (\d{1,5}) (\d{1,20}|-)(?= |$)/y;
const QUOTED = / "/y;
/** A field after the user agent: quoted, unquoted, or `name="value"`. */
const FURTHER_FIELD = / +(?:"((?:[^"\\]|\\.)*)"|([^\s"]+(?:"[^"]*")?))/y;
/** Characters after the user agent that are searched for further fields. */
const MAX_FURTHER = 4_096;
/** A response time: seconds as nginx and gunicorn write them, also with a name, or milliseconds as Traefik does. */
const RESPONSE_TIME = /^(?:(?:rt|request_time)="?)?(?:(\d{1,9}\.(?:\d{3}|\d{6}))s?|(\d{1,12})ms)"?$/;
const NOT_ITS_FORM = { reason: 'line: must begin with host, identity, user, [time] and "request"' };
const NOT_THE_LAST = { reason: 'line: another request follows; each must end with a line feed' };
const WRONG_TIME = { reason: 'time: must have the form 17/May/2015:10:05:03 +0000, from 1970 to 2099' };

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
  const timestamp = readCommonLogTime(line, timeAt + TIME_AT);
  if (timestamp === null) return WRONG_TIME;
  const request = quotedAt(line, timeAt + TIME_LENGTH - 1);
  if (request === null) return { reason: 'request: its quote is not closed' };
  const read = readRequestLine(request.text);
  if ('reason' in read) return read;
  STATUS_AND_SIZE.lastIndex = request.end;
  const [result, status, size] = STATUS_AND_SIZE.exec(line) ?? [];
  if (result === undefined) return { reason: 'line: status and size must follow the request' };
  const status_code = statusCodeDecoder.decode(Number(status));
  if (status_code === undefined) return { reason: `status_code: ${statusCodeDecoder.ruleFor(status)}` };
  const fields = readFields(line, request.end + result.length);
  if (fields === null) return NOT_THE_LAST;
  const { userAgent, referer } = fields;
  const request_headers: Header[] = [];
  if (userAgent !== null) request_headers.push(['user-agent', userAgent]);
  if (referer !== null) request_headers.push(['referer', referer]);
  const parsed = {
    timestamp,
    method: read.method,
    url: toFullUrl(read.target, client.origin ?? options.baseUrl),
    status_code,
    user: options.consumerFrom === undefined || client.user === '-' ? null : unescapeText(client.user),
    client_ip: findAddress(client.host, fields.forwardedFor),
    request_size_bytes: null,
    // A hyphen means that no bytes were sent.
    response_size_bytes: size === '-' ? 0 : Number(size),
    response_time_ms: fields.responseTimeMs,
    userAgent,
    request_headers,
  };
  return toRecord(parsed, options, new LenientReader());
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
  const [, host, port] = HOST.exec(first) ?? [];
  const [identity, user] = host === undefined ? [] : (splitFields(rest, 2) ?? []);
  const isVirtualHost =
    port === undefined
      ? parseAddress(first) === null && parseAddress(second) !== null
      : identity === '-' || parseAddress(second) !== null;
  if (host === undefined || user === undefined || !isVirtualHost)
    return { host: first, user: rest, origin: undefined };
  return { host: second, user, origin: toOrigin(first) };
}

/** Null if another request follows: a client such as `curl -d` sends a file without its line feeds. */
function readFields(line: string, at: number): Fields | null {
  const referer = fieldAt(line, at);
  const userAgent = referer && fieldAt(line, referer.end);
  const end = userAgent?.end ?? referer?.end ?? at;
  const fields: Fields = {
    referer: toHeader(referer),
    userAgent: toHeader(userAgent),
    responseTimeMs: null,
    forwardedFor: null,
  };
  if (end === line.length) return fields;
  const further = line.slice(end);
  if (NEXT_REQUEST.test(further)) return null;
  readFurtherFields(further.slice(0, MAX_FURTHER), fields);
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

/** The quoted field at `at`; the rest of the line where its quote stays open. */
function fieldAt(line: string, at: number): Quoted | null {
  QUOTED.lastIndex = at;
  if (!QUOTED.test(line)) return null;
  return quotedAt(line, at + 1) ?? { text: line.slice(at + 2), end: line.length };
}
