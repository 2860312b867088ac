import { LosslessNumber, isLosslessNumber, stringify } from 'lossless-json';
import { stringifyExact } from '../shared/json/exact-json.js';

export type Header = readonly [name: string, value: string];

export interface CapturedException {
  type: string;
  message: string;
  stacktrace: string;
  tracker_event_id: string | null;
}

export interface CapturedLog {
  /** UTC with microseconds and `Z`: see `formatMicroseconds`. */
  timestamp: string;
  message: string;
  level: string;
  logger: string | null;
  file: string | null;
  line: number | null;
}

export interface CapturedSpan {
  span_id: string;
  parent_span_id: string | null;
  name: string;
  kind: string | null;
  start_time_ns: bigint;
  end_time_ns: bigint;
  duration_ns: bigint;
  status: string | null;
  /** An object that `parseExact` made. */
  attributes: object;
}

/** The fields that Request Details adds to a request log record (docs/contract.md#request-details). */
export interface Capture {
  request_headers: readonly Header[];
  response_headers: readonly Header[];
  /** Any text; see `toBodyJson`. */
  request_body_json: string | null;
  response_body_json: string | null;
  /** 32 lower-case hex digits. */
  trace_id: string | null;
  exception: CapturedException | null;
  logs: readonly CapturedLog[];
  spans: readonly CapturedSpan[];
}

export const EMPTY_CAPTURE: Capture = {
  request_headers: [],
  response_headers: [],
  request_body_json: null,
  response_body_json: null,
  trace_id: null,
  exception: null,
  logs: [],
  spans: [],
};

/** The JSON text of a request without captured data. */
export const EMPTY_CAPTURE_JSON = toJson(EMPTY_CAPTURE);

/** The JSON text after the request headers, if nothing else was captured. */
const NO_MORE = EMPTY_CAPTURE_JSON.slice('{"request_headers":[]'.length);

/**
 * The ID of the trace in a capture's text. It cannot match inside a JSON string, where quotation marks are
 * escaped.
 */
export const TRACE_ID = /,"trace_id":"([0-9a-f]{32})","exception":/;
/**
 * Kinds and statuses of spans in the order of OTLP's numbers, as the contract spells them
 * (docs/contract.md#span-values).
 */
export const SPAN_KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'];
export const SPAN_STATUSES = ['UNSET', 'OK', 'ERROR'];
/**
 * Separates the events of a span in their JSON text. JSON escapes a tab in a string, so no string contains
 * it.
 */
export const EVENT_SEPARATOR = ',\t';
const NORMAL_KINDS = new Set(SPAN_KINDS.slice(1));
const NORMAL_STATUSES = new Set(SPAN_STATUSES);
/** The escapes of NUL and of lone surrogates in JSON; any other escape is skipped as a whole. */
const UNWANTED_ESCAPE = /\\(?:u(0000|d[89a-f][0-9a-f]{2})|.)/g;
/** Pairs of surrogates as JSON writes them, and those without their other half. */
const SURROGATES = /\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u([dD][89a-fA-F])..|.)/g;

/**
 * The `captured_json` of a request record: one JSON object in the contract's shape, members in the
 * specification's order, every member present, integers exact; the API sends it unchanged. NUL and lone
 * surrogates become U+FFFD. Empty if nothing was captured.
 *
 * @throws RangeError when attributes are nested too deeply
 */
export function toCaptureJson(capture: Capture): string {
  if (capture === EMPTY_CAPTURE) return '';
  const text = toJson(capture);
  return text === EMPTY_CAPTURE_JSON ? '' : text;
}

/**
 * The exception in the `captured_json` of a request, and the ID of its trace; undefined without one. Names of
 * members cannot match inside a JSON string.
 */
export function findCapturedException(
  captured_json: string,
): { exception: CapturedException; trace_id: string | null } | undefined {
  if (!captured_json.includes(',"exception":{')) return undefined;
  const start = captured_json.indexOf(',"trace_id":') + 1;
  const members = captured_json.slice(start, captured_json.indexOf(',"logs":[', start));
  return JSON.parse(`{${members}}`) as { exception: CapturedException; trace_id: string | null };
}

/**
 * The `captured_json` with an exception, if it has none. Names of members cannot match inside a JSON string.
 */
export function captureException(captured_json: string, exception: CapturedException): string {
  const text = replaceUnwantedEscapes(toExceptionJson(exception));
  return (captured_json || EMPTY_CAPTURE_JSON).replace(
    ',"exception":null,"logs":[',
    () => `,"exception":${text},"logs":[`,
  );
}

/**
 * The `captured_json` of a request that has request headers alone. Each header is the JSON text of a pair
 * without NUL and lone surrogates.
 */
export function toRequestHeadersJson(pairs: readonly string[]): string {
  // One flat text: a concatenation is kept as a tree until it is read, which costs the garbage collector
  // more.
  return ['{"request_headers":[', pairs.join(','), ']', NO_MORE].join('');
}

/**
 * The attributes of a span as the JSON text of an object, without NUL and lone surrogates, with numbers that
 * the engine can read.
 */
export function toAttributesJson({ attributes }: CapturedSpan): string {
  return replaceUnwantedEscapes(stringify(attributes, (_, value) => toReadableNumber(value)) ?? '{}');
}

/**
 * The engine rejects JSON with an integer beyond 64 bits or a number beyond doubles. Such an integer gets an
 * exponent and keeps its digits; such a number becomes a text.
 */
function toReadableNumber(value: unknown): unknown {
  if (typeof value !== 'number' && !isLosslessNumber(value)) return value;
  const digits = String(value);
  if (!Number.isFinite(Number(digits))) return digits;
  const [, sign = '', first = '', rest] = /^(-?)(\d)(\d{18,})$/.exec(digits) ?? [];
  if (rest === undefined) return value;
  const integer = BigInt(digits);
  return integer === BigInt.asIntN(64, integer) || integer === BigInt.asUintN(64, integer)
    ? value
    : new LosslessNumber(`${sign}${first}.${rest}e${rest.length}`);
}

/**
 * The JSON text of a body: public clients store it in a column of that type (docs/contract.md#bodies). JSON
 * stays as it is, any other text becomes a JSON string.
 */
export function toBodyJson<T extends string | null>(body: T): string | T {
  return body === null || isJson(body) ? body : replaceUnwantedEscapes(JSON.stringify(body));
}

/** Parsers of public clients reject lone surrogates, which `JSON.parse` accepts. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
  } catch {
    return false;
  }
  return !text.includes('\\u') || !hasLoneSurrogate(text);
}

function hasLoneSurrogate(json: string): boolean {
  for (const [, lone] of json.matchAll(SURROGATES)) if (lone !== undefined) return true;
  return false;
}

/** The first header with that name (in lower case), or null. */
export function getHeader(headers: readonly Header[], name: string): string | null {
  return headers.find(([given]) => given.toLowerCase() === name)?.[1] ?? null;
}

/**
 * A span's kind as the contract spells it (docs/contract.md#span-values), case-insensitive; null if invalid.
 */
export function normalizeSpanKind(kind: string | null): string | null {
  return findName(NORMAL_KINDS, kind);
}

/**
 * A span's status as the contract spells it (docs/contract.md#span-values), case-insensitive; null if
 * invalid.
 */
export function normalizeSpanStatus(status: string | null): string | null {
  return findName(NORMAL_STATUSES, status);
}

/** The ID of a span; OpenTelemetry's in lower case, as in Query Traces. */
export function normalizeSpanId(id: string): string {
  return /^[0-9a-f]{16}$/i.test(id) ? id.toLowerCase() : id;
}

/** The ID of a span's parent; an empty one and zeros mean a root (OTLP). */
export function normalizeParentSpanId(id: string | null): string | null {
  return id === null || /^0*$/.test(id) ? null : normalizeSpanId(id);
}

/** Normalizes a trace ID; all zeros mean none (W3C Trace Context). */
export function normalizeTraceId(id: string): string | null {
  return /^0*$/.test(id) ? null : id;
}

/** UTC with microseconds, `2025-05-14T10:00:00.123456Z`, from microseconds since the Unix epoch. */
export function formatMicroseconds(epochMicros: number): string {
  const epochMs = Math.floor(epochMicros / 1000);
  const rest = String(epochMicros - epochMs * 1000).padStart(3, '0');
  return `${new Date(epochMs).toISOString().slice(0, -1)}${rest}Z`;
}

function toJson(capture: Capture): string {
  const members = [
    `"request_headers":${JSON.stringify(capture.request_headers)}`,
    `"response_headers":${JSON.stringify(capture.response_headers)}`,
    `"request_body_json":${JSON.stringify(toBodyJson(capture.request_body_json))}`,
    `"response_body_json":${JSON.stringify(toBodyJson(capture.response_body_json))}`,
    `"trace_id":${JSON.stringify(capture.trace_id)}`,
    `"exception":${capture.exception ? toExceptionJson(capture.exception) : 'null'}`,
    `"logs":[${capture.logs.map(toLogJson).join(',')}]`,
    `"spans":[${capture.spans.map(toSpanJson).join(',')}]`,
  ];
  return replaceUnwantedEscapes(`{${members.join(',')}}`);
}

// Written member by member: the text is the response, so unknown members and the order of members must not
// matter.
export function toExceptionJson({ type, message, stacktrace, tracker_event_id }: CapturedException): string {
  // Public clients use the older name of the event ID.
  return JSON.stringify({ type, message, stacktrace, tracker_event_id, sentry_event_id: tracker_event_id });
}

function toLogJson({ timestamp, message, level, logger, file, line }: CapturedLog): string {
  return JSON.stringify({ timestamp, message, level, logger, file, line });
}

function toSpanJson(span: CapturedSpan): string {
  const { span_id, parent_span_id, name, start_time_ns, end_time_ns, duration_ns } = span;
  // OpenTelemetry's defaults, because public clients do not accept null here.
  const { kind, status } = { kind: span.kind ?? 'INTERNAL', status: span.status ?? 'UNSET' };
  const head = JSON.stringify({ span_id, parent_span_id, name, kind }).slice(0, -1);
  const times = `"start_time_ns":${start_time_ns},"end_time_ns":${end_time_ns},"duration_ns":${duration_ns}`;
  return `${head},${times},"status":${JSON.stringify(status)},"attributes":${stringifyExact(span.attributes)}}`;
}

function replaceUnwantedEscapes(json: string): string {
  if (!json.includes('\\u')) return json;
  return json.replace(UNWANTED_ESCAPE, (escape, unwanted?: string) => (unwanted ? '\uFFFD' : escape));
}

function findName(names: ReadonlySet<string>, text: string | null): string | null {
  const name = text?.toUpperCase() ?? '';
  return names.has(name) ? name : null;
}
