import { findClosingQuote } from '../shared/json/closing-quote.js';
import { truncate } from './text.js';

/* Limits of all sources: the protocols of the collector, and the import. */

/**
 * Longest texts of errors, exceptions and log records in characters, as the client libraries send them;
 * longer ones are truncated.
 */
export const MAX_TYPE = 256;
export const MAX_MESSAGE = 2_048;
export const MAX_STACKTRACE = 65_536;
export const MAX_EVENT_ID = 64;
/** Of a log record: its logger, and its file. */
export const MAX_LOG_NAME = 256;
export const MAX_SPAN_NAME = 1_024;
export const MAX_ATTRIBUTE_NAME = 1_024;

/**
 * Longest line of requests and largest span, log record or data point in bytes: two bodies, 1,000 log
 * messages and a stack at their limits, and spans.
 */
export const MAX_RECORD_BYTES = 8 * 1024 * 1024;

/**
 * Longest value of an attribute in characters: longer texts are cut, other values have `VALUE_TOO_LARGE` in
 * their place.
 */
export const MAX_VALUE = 65_536;
export const VALUE_TOO_LARGE = '<value too large>';
/**
 * Largest number of resources, scopes and items of an OTLP body; SDKs and collectors send up to some thousand
 * items.
 */
export const MAX_ITEMS = 50_000;
/** Largest number of attributes of a record, headers of a request and events of a span; SDKs keep 128. */
export const MAX_ATTRIBUTES = 1_024;
export const MAX_EVENTS = 1_000;

/**
 * The headers of a request within the limits: values are cut, and together they are at most as long as a
 * body.
 *
 * @param ignored gets the name of each header that is left out
 */
export function limitHeaders(
  headers: readonly (readonly [string, string])[],
  name: string,
  ignored: string[],
): (readonly [string, string])[] {
  const kept: (readonly [string, string])[] = [];
  let remaining = MAX_BODY;
  for (const [key, value] of headers) {
    const text = truncate(value, MAX_VALUE);
    remaining -= key.length + text.length;
    if (remaining >= 0 && kept.length < MAX_ATTRIBUTES) kept.push([key, text]);
    else ignored.push(name);
  }
  return kept;
}

/**
 * In bytes. The client libraries leave out bodies over 50,000 before they mask them, which can make them
 * longer.
 */
export const MAX_BODY = 100_000;
/** Replaces a longer body. */
export const BODY_TOO_LARGE = '<body too large>';

/** A body within the limit; null if it is empty. */
export function limitBody(text: string): string | null {
  if (text === '') return null;
  return Buffer.byteLength(text) > MAX_BODY ? BODY_TOO_LARGE : text;
}

/**
 * Largest number of values in what is decoded in one step, such as a line of requests, a span, a log record
 * or a data point: members and items of JSON; messages of protobuf, nested ones included, and items of lists.
 * A request with 1,000 log messages and as many spans has some 30,000. An empty message of protobuf has 2
 * bytes, and 200 when it is decoded; a count of a bucket has 1, and 70.
 */
export const MAX_RECORD_VALUES = 50_000;

const [COMMA, OPENING_BRACKET, OPENING_BRACE, QUOTE] = [',', '[', '{', '"'].map((text) => text.charCodeAt(0));

/** Whether a JSON text has more values, as far as it is JSON. It is not parsed. */
export function hasMoreValues(text: string, max: number): boolean {
  if (text.length <= max) return false;
  let values = 0;
  for (let at = 0; at < text.length && values <= max; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = findClosingQuote(text, at);
    else if (code === COMMA || code === OPENING_BRACKET || code === OPENING_BRACE) values++;
  }
  return values > max;
}
