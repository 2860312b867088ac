import { parseJson } from '../../common/json/parse-json.js';
import { type Header, getHeader } from '../capture.js';
import {
  type AccessLogRequest,
  type RequiredValues,
  type ValueNames,
  findAddress,
  readCommonLogTime,
  readRequestLine,
  readRequired,
  readTraceId,
  toMilliseconds,
  toNumber,
  toOrigin,
  toRecord,
} from './access-log.js';
import { type JsonObject, LenientReader, explainFailure, objectDecoder, textDecoder } from './decoders.js';
import type { JsonLogFormat } from './json-logs.js';
import type { LineResult, ParseOptions } from './parsed-request.js';
import { parseIngestTimestamp } from './timestamps.js';

const COMMON_LOG_TIME = /^\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}$/;
/** Caddy's `wall` times. */
const SLASHED_DATE = /^(\d{4})\/(\d\d)\/(\d\d) /;
/** Runs of bytes as nginx escapes them by default, which JSON does not allow. */
const HEX_BYTES = /(?:\\x[0-9A-Fa-f]{2}){1,4096}/g;
/** A number and its unit in a duration as Go writes it: `1m2.5s`, `12.3ms`. */
const GO_DURATION = /^(?:(\d{1,6})h)?(?:(\d{1,8})m(?!s))?(?:(\d{1,12}(?:\.\d{1,9})?)(s|ms|µs|us|ns))?$/;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, ms: 1, µs: 1e-3, us: 1e-3, ns: 1e-6 };
/** Times since the epoch from here on are in milliseconds, microseconds, nanoseconds: in seconds they are after the year 5000. */
const [FROM_MS, FROM_US, FROM_NS] = [1e11, 1e14, 1e17];
const NOT_AN_OBJECT = { reason: 'line: must be a JSON object' };
/** More than servers accept. */
const MAX_HEADERS = 200;

/** What a format's line says, as it is written. */
interface LogValues extends RequiredValues {
  client: string;
  forwardedFor: string | null;
  user: string | null;
  request_size_bytes: unknown;
  response_size_bytes: unknown;
  response_time_ms: unknown;
  request_headers: readonly Header[];
  response_headers?: readonly Header[];
  trace_id: string | null;
}

/** One format of JSON logs. */
interface JsonLogReader {
  readonly names: ValueNames;
  readonly read: (line: JsonObject) => LogValues | { reason: string };
}

/**
 * Reads one line of an access log with a JSON object in each line. Members with an empty text or a hyphen have no
 * value; numbers may be written as text; unknown members are ignored. Never throws.
 */
export function parseJsonLogLine(
  format: JsonLogFormat,
  text: string,
  options: ParseOptions = {},
): LineResult {
  try {
    const line = parseJsonLog(text);
    return line === undefined ? NOT_AN_OBJECT : readJsonLog(format, line, options);
  } catch (error) {
    return { reason: explainFailure(error, 'line') };
  }
}

/**
 * The object of a line; undefined if it is none. Bytes that nginx escaped without `escape=json` are accepted.
 *
 * @throws SyntaxError
 */
export function parseJsonLog(text: string): JsonObject | undefined {
  // Before parsing, because a syntax error with its stack trace is slow.
  if (!text.trimStart().startsWith('{')) return undefined;
  return objectDecoder.decode(text.includes('\\x') ? parseEscaped(text) : parseJson(text));
}

function parseEscaped(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return parseJson(text.replace(HEX_BYTES, toJsonText));
  }
}

function toJsonText(escapes: string): string {
  return JSON.stringify(Buffer.from(escapes.replaceAll('\\x', ''), 'hex').toString()).slice(1, -1);
}

function readJsonLog(format: JsonLogFormat, line: JsonObject, options: ParseOptions): LineResult {
  const { names, read } = READERS[format];
  const values = read(line);
  if ('reason' in values) return values;
  const required = readRequired(values, names, options.baseUrl);
  if ('reason' in required) return required;
  const request: AccessLogRequest = {
    ...values,
    ...required,
    client_ip: findAddress(values.client, values.forwardedFor),
    userAgent: getHeader(values.request_headers, 'user-agent'),
  };
  return toRecord(request, options, new LenientReader());
}

/**
 * nginx, which has no JSON format of its own: the members have the names of its variables, or common other names for them.
 */
function readNginx(line: JsonObject): LogValues | { reason: string } {
  const request = textIn(line, 'request');
  // A request line, or the target alone.
  const requestLine = request?.includes(' ') ? readRequestLine(request) : undefined;
  if (requestLine !== undefined && 'reason' in requestLine) return requestLine;
  const uri = valueIn(line, 'uri', 'url', 'path', 'document_uri');
  const query = textIn(line, 'args', 'query_string');
  const target = valueIn(line, 'request_uri') ?? requestLine?.target ?? request ?? uri;
  const host = textIn(line, 'http_host', 'host', 'server_name', 'vhost');
  const port = textIn(line, 'server_port');
  const hasTls = textIn(line, 'https') === 'on' || textIn(line, 'ssl_protocol') !== null || port === '443';
  const scheme = textIn(line, 'http_x_forwarded_proto', 'scheme') ?? (hasTls ? 'https' : undefined);
  return {
    timestamp: timeIn(line, 'time_iso8601', 'msec', 'time_local', 'timestamp', '@timestamp', 'time', 'ts'),
    method: valueIn(line, 'request_method', 'method') ?? requestLine?.method,
    target: target === uri && typeof uri === 'string' && query !== null ? `${uri}?${query}` : target,
    origin: host === null ? undefined : toOrigin(host, scheme),
    status: valueIn(line, 'status', 'status_code', 'response_status'),
    client: textIn(line, 'remote_addr', 'client_ip', 'remote_ip', 'client', 'clientip', 'ip') ?? '',
    forwardedFor: textIn(line, 'http_x_forwarded_for', 'x_forwarded_for', 'xff'),
    user: textIn(line, 'remote_user', 'user'),
    request_size_bytes: numberIn(line, 'content_length', 'request_length'),
    response_size_bytes: numberIn(line, 'body_bytes_sent', 'bytes_sent', 'bytes'),
    response_time_ms: toMilliseconds(valueIn(line, 'request_time'), 1_000),
    request_headers: [
      ...prefixedHeaders(line, 'http_', (name) => name.replaceAll('_', '-')),
      ...(valueIn(line, 'http_user_agent') === undefined
        ? aliasedHeaders(line, ['user-agent', ['user_agent', 'agent']])
        : []),
      ...(valueIn(line, 'http_referer') === undefined
        ? aliasedHeaders(line, ['referer', ['referer', 'referrer']])
        : []),
    ],
    response_headers: prefixedHeaders(line, 'sent_http_', (name) => name.replaceAll('_', '-')),
    trace_id: traceIn(
      line,
      'http_traceparent',
      'traceparent',
      'otel_trace_id',
      'opentelemetry_trace_id',
      'trace_id',
    ),
  };
}

/** Caddy's `http.log.access`, encoded as JSON, with its times in any of its formats. */
function readCaddy(line: JsonObject): LogValues | { reason: string } {
  const request = objectDecoder.decode(line.request);
  // An error of a request is logged in addition to the request itself.
  const isError = textIn(line, 'logger')?.startsWith('http.log.error') ?? false;
  if (request === undefined || isError) return { reason: 'line: is a message of Caddy, not a request' };
  const request_headers = readHeaderLists(request.headers);
  const tls = objectDecoder.decode(request.tls);
  const host = textIn(request, 'host');
  const client = textIn(request, 'client_ip', 'remote_ip') ?? textIn(request, 'remote_addr') ?? '';
  return {
    timestamp: timeIn(line, 'ts', 'time', 'timestamp'),
    method: valueIn(request, 'method'),
    target: valueIn(request, 'uri'),
    origin: host === null ? undefined : toOrigin(host, tls === undefined ? undefined : 'https'),
    status: valueIn(line, 'status'),
    client,
    forwardedFor: getHeader(request_headers, 'x-forwarded-for'),
    user: textIn(line, 'user_id'),
    request_size_bytes: numberIn(line, 'bytes_read'),
    response_size_bytes: numberIn(line, 'size'),
    response_time_ms: readCaddyDuration(valueIn(line, 'duration')),
    request_headers,
    response_headers: readHeaderLists(line.resp_headers),
    trace_id:
      traceIn(line, 'traceID', 'trace_id') ?? readTraceId(getHeader(request_headers, 'traceparent') ?? ''),
  };
}

function readTraefik(line: JsonObject): LogValues {
  const request_headers = prefixedHeaders(line, 'request_');
  const host = textIn(line, 'RequestAddr', 'RequestHost');
  const scheme = textIn(line, 'RequestScheme') ?? (textIn(line, 'TLSVersion') === null ? undefined : 'https');
  return {
    timestamp: timeIn(line, 'StartUTC', 'StartLocal', 'time'),
    method: valueIn(line, 'RequestMethod'),
    target: valueIn(line, 'RequestPath'),
    origin: host === null ? undefined : toOrigin(host, scheme),
    status: valueIn(line, 'DownstreamStatus', 'OriginStatus'),
    client: textIn(line, 'ClientHost', 'ClientAddr') ?? '',
    forwardedFor: getHeader(request_headers, 'x-forwarded-for'),
    user: textIn(line, 'ClientUsername'),
    request_size_bytes: numberIn(line, 'RequestContentSize'),
    response_size_bytes: numberIn(line, 'DownstreamContentSize', 'OriginContentSize'),
    response_time_ms: toMilliseconds(valueIn(line, 'Duration'), 1e-6),
    request_headers,
    response_headers: prefixedHeaders(line, 'downstream_'),
    trace_id: traceIn(line, 'TraceId') ?? readTraceId(getHeader(request_headers, 'traceparent') ?? ''),
  };
}

/** Envoy, which has no JSON format of its own: the names of Istio and Envoy Gateway, and common other names. */
function readEnvoy(line: JsonObject): LogValues {
  const host = textIn(line, 'authority', ':authority', 'host', 'requested_server_name');
  const scheme =
    textIn(line, 'x_forwarded_proto', 'x-forwarded-proto', 'scheme', ':scheme') ??
    (textIn(line, 'requested_server_name', 'downstream_tls_version') === null ? undefined : 'https');
  const ORIGINAL = ['x_envoy_original_path', 'x-envoy-original-path', 'x-envoy-origin-path', 'original_path'];
  return {
    timestamp: timeIn(line, 'start_time', 'timestamp', '@timestamp', 'time'),
    method: valueIn(line, 'method', ':method', 'request_method'),
    target: valueIn(line, ...ORIGINAL, 'path', ':path', 'request_path', 'uri'),
    origin: host === null ? undefined : toOrigin(host, scheme),
    status: valueIn(line, 'response_code', 'status'),
    client:
      textIn(
        line,
        'downstream_remote_address',
        'downstream_remote_address_without_port',
        'downstream_direct_remote_address',
        'client_ip',
      ) ?? '',
    forwardedFor: textIn(line, 'x_forwarded_for', 'x-forwarded-for'),
    user: textIn(line, 'user', 'username'),
    request_size_bytes: numberIn(line, 'bytes_received'),
    response_size_bytes: numberIn(line, 'bytes_sent'),
    response_time_ms: numberIn(line, 'duration'),
    request_headers: aliasedHeaders(
      line,
      ['user-agent', ['user_agent', 'user-agent']],
      ['referer', ['referer', 'referrer']],
      ['x-request-id', ['request_id', 'x-request-id', 'x_request_id']],
    ),
    trace_id: traceIn(line, 'traceparent', 'trace_id', 'traceId', 'x_b3_traceid', 'x-b3-traceid'),
  };
}

const READERS: Readonly<Record<JsonLogFormat, JsonLogReader>> = {
  nginx: {
    names: {
      timestamp: 'time_iso8601, msec or time_local',
      method: 'request_method or request',
      url: 'request_uri or request',
      status_code: 'status',
    },
    read: readNginx,
  },
  caddy: {
    names: { timestamp: 'ts', method: 'request.method', url: 'request.uri', status_code: 'status' },
    read: readCaddy,
  },
  traefik: {
    names: {
      timestamp: 'StartUTC',
      method: 'RequestMethod',
      url: 'RequestPath',
      status_code: 'DownstreamStatus',
    },
    read: readTraefik,
  },
  envoy: {
    names: { timestamp: 'start_time', method: 'method', url: 'path', status_code: 'response_code' },
    read: readEnvoy,
  },
};

/** The first of these members that has a value. */
function valueIn(line: JsonObject, ...names: readonly string[]): unknown {
  const name = names.find((one) => Object.hasOwn(line, one) && !isBlank(line[one]));
  return name === undefined ? undefined : line[name];
}

function isBlank(value: unknown): boolean {
  return value === null || value === '' || value === '-';
}

/** The first of these members that has a text, or a number as its digits. */
function textIn(line: JsonObject, ...names: readonly string[]): string | null {
  const value = valueIn(line, ...names);
  return typeof value === 'number' ? String(value) : (textDecoder.decode(value) ?? null);
}

function numberIn(line: JsonObject, ...names: readonly string[]): unknown {
  return toNumber(valueIn(line, ...names));
}

function traceIn(line: JsonObject, ...names: readonly string[]): string | null {
  return readTraceId(textIn(line, ...names) ?? '');
}

/** Milliseconds since the Unix epoch; undefined if there is no such member, NaN if it is no time. */
function timeIn(line: JsonObject, ...names: readonly string[]): number | undefined {
  const value = toNumber(valueIn(line, ...names));
  if (value === undefined) return undefined;
  if (typeof value === 'number') return toEpoch(value);
  if (typeof value !== 'string') return NaN;
  if (COMMON_LOG_TIME.test(value)) return readCommonLogTime(value, 0) ?? NaN;
  return parseIngestTimestamp(value.replace(SLASHED_DATE, '$1-$2-$3 ')) ?? NaN;
}

/** Milliseconds of a time since the Unix epoch whose unit is known by its size. */
function toEpoch(time: number): number {
  if (time >= FROM_NS) return time / 1e6;
  if (time >= FROM_US) return time / 1e3;
  // Rounded to the microsecond first: 1700000000.123 seconds are 1700000000122.9999 milliseconds.
  return time >= FROM_MS ? time : Math.round(time * 1e6) / 1e3;
}

/** Seconds, or a text as Go writes it. */
function readCaddyDuration(value: unknown): unknown {
  const seconds = toMilliseconds(value, 1_000);
  if (typeof seconds !== 'string') return seconds;
  const [match, hours = '0', minutes = '0', rest = '0', unit = 's'] = GO_DURATION.exec(seconds) ?? [];
  if (match === undefined) return value;
  return (Number(hours) * 60 + Number(minutes)) * 60_000 + Number(rest) * (UNIT_MS[unit] ?? 0);
}

/** Headers from members with a prefix, such as `http_user_agent`. */
function prefixedHeaders(line: JsonObject, prefix: string, rename = (name: string) => name): Header[] {
  const headers: Header[] = [];
  for (const name of Object.keys(line)) {
    const text = name.startsWith(prefix) && name.length > prefix.length ? textIn(line, name) : null;
    if (text !== null && headers.length < MAX_HEADERS)
      headers.push([textDecoder.decode(rename(name.slice(prefix.length).toLowerCase())) ?? '', text]);
  }
  return headers;
}

/** Headers from members with names of their own; those that are there. */
function aliasedHeaders(line: JsonObject, ...headers: [name: string, members: string[]][]): Header[] {
  return headers.flatMap(([name, members]): Header[] => {
    const text = textIn(line, ...members);
    return text === null ? [] : [[name, text]];
  });
}

/** Headers from an object of lists of values. */
function readHeaderLists(value: unknown): Header[] {
  const headers: Header[] = [];
  for (const [name, values] of Object.entries(objectDecoder.decode(value) ?? {}))
    for (const one of Array.isArray(values) ? values : [values]) {
      const text = textDecoder.decode(one);
      if (text !== undefined && headers.length < MAX_HEADERS)
        headers.push([textDecoder.decode(name.toLowerCase()) ?? '', text]);
    }
  return headers;
}
