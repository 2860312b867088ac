import { parseExact } from '../shared/json/exact-json.js';
import { type Capture, TRACE_ID, toAttributesJson } from './capture.js';
import { LenientReader } from './decoding/decoders.js';
import { readSpan } from './decoding/ndjson.capture.js';
import { truncate } from './text.js';
import { checkRetention, getLogsRetention } from './decoding/timestamps.js';

/**
 * A span, as a row of the landing table `logged_spans`. IDs are lower-case hex; no parent is an empty text.
 */
export interface SpanRecord {
  trace_id: string;
  span_id: string;
  parent_span_id: string;
  name: string;
  /** OpenTelemetry's names in upper case. */
  kind: string;
  status: string;
  /** Nanoseconds since the Unix epoch, as decimal digits. */
  start_time_ns: string;
  duration_ns: string;
  /** Empty if absent. */
  scope_name: string;
  scope_version: string;
  /** JSON text of an object. */
  attributes: string;
  /** JSON text of a list. */
  events: string;
}

/** Longest name of a span in Query Traces. */
const MAX_NAME = 1_024;
const NANOSECONDS_IN_MS = 1_000_000n;
/**
 * Precedes the list of spans, the last member of a capture. It cannot match inside a JSON string, and only
 * spans have free names.
 */
const SPANS = ',"spans":';
const NO_SPANS = `${SPANS}[]}`;
/** Estimated characters of the columns without attributes and events. */
const COLUMNS_CHARACTERS = 600;

/**
 * The captured spans for Query Traces; none without a trace. Spans with other IDs than OpenTelemetry's are
 * left out.
 */
export function toSpanRecords(
  { trace_id, spans }: Pick<Capture, 'trace_id' | 'spans'>,
  now: number,
): SpanRecord[] {
  if (trace_id === null) return [];
  return spans
    .filter(({ span_id, start_time_ns }) => {
      const startMs = Number(start_time_ns / NANOSECONDS_IN_MS);
      return isSpanId(span_id) && checkRetention(startMs, getLogsRetention(now), now) === undefined;
    })
    .map((span) => ({
      trace_id,
      span_id: span.span_id.toLowerCase(),
      parent_span_id: isSpanId(span.parent_span_id) ? span.parent_span_id.toLowerCase() : '',
      name: truncate(span.name, MAX_NAME),
      kind: span.kind ?? 'INTERNAL',
      status: span.status ?? 'UNSET',
      start_time_ns: span.start_time_ns.toString(),
      duration_ns: span.duration_ns.toString(),
      scope_name: '',
      scope_version: '',
      attributes: toAttributesJson(span),
      events: '[]',
    }));
}

/** The spans of a stored request; its captured data is redacted JSON text. */
export function readSpanRecords({ captured_json }: { captured_json: string }, now: number): SpanRecord[] {
  if (captured_json === '' || captured_json.endsWith(NO_SPANS)) return [];
  const trace_id = TRACE_ID.exec(captured_json)?.[1];
  if (trace_id === undefined) return [];
  const text = captured_json.slice(captured_json.indexOf(SPANS) + SPANS.length, -1);
  const reader = new LenientReader();
  const spans = reader.readList(parseExact(text), 'spans', (span) => readSpan(span, 0n, reader));
  return toSpanRecords({ trace_id, spans }, now);
}

/** A member that each captured span has. In texts its quotes are escaped. */
const SPAN_ID = '"span_id":';

/** Estimated length of the rows of the captured spans in characters. */
export function weighSpanRecords({ captured_json }: { captured_json: string }): number {
  const from = captured_json.indexOf(SPANS);
  if (from === -1) return 0;
  let weight = 2 * (captured_json.length - from);
  for (let at = captured_json.indexOf(SPAN_ID, from); at !== -1; at = captured_json.indexOf(SPAN_ID, at + 1))
    weight += COLUMNS_CHARACTERS;
  return weight;
}

/** Estimated length of a span's row in characters; its JSON is escaped there. */
export function weighSpan({ attributes, events }: Pick<SpanRecord, 'attributes' | 'events'>): number {
  return 2 * (attributes.length + events.length) + COLUMNS_CHARACTERS;
}

function isSpanId(text: string | null): text is string {
  return text !== null && /^(?!0{16})[0-9a-f]{16}$/i.test(text);
}
