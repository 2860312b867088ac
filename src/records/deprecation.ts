import type { Header } from './capture.js';

const HEADERS = ',"response_headers":';
const AFTER_HEADERS = ',"request_body_json":';
const HINT = /\["(?:deprecation|sunset)"/i;
/** RFC 9745: a date of a structured field. */
const STRUCTURED_DATE = /^@(-?\d{1,15})$/;
/** An HTTP date, or a date of ISO 8601, which is sent as well. `Date.parse` reads almost any text. */
const DATE = /^(?:[A-Z][a-z]+, \d|\d{4}-\d\d-\d\d)/;
/** Drafts of RFC 9745 had a boolean, or a date as in RFC 8594. */
const NO = new Set(['', 'false', '?0']);
/** The columns hold seconds in 32 bits; 0 is "not said". */
const MAX_SECONDS = 2 ** 32 - 1;

/** What a response says of the end of its endpoint, in seconds since the epoch; 0: nothing. */
export interface Deprecation {
  deprecated_at: number;
  sunset_at: number;
}

/**
 * What the response headers of a request say in `Deprecation` (RFC 9745) and `Sunset` (RFC 8594); undefined
 * if they say nothing. Names of members cannot match inside a JSON string.
 *
 * @param timestamp of the request, for a deprecation without a date; milliseconds since the epoch
 */
export function findDeprecation(captured_json: string, timestamp: number): Deprecation | undefined {
  const start = captured_json.indexOf(HEADERS);
  const json = captured_json.slice(start + HEADERS.length, captured_json.indexOf(AFTER_HEADERS, start));
  if (start === -1 || !HINT.test(json)) return undefined;
  let [deprecated_at, sunset_at] = [0, 0];
  for (const [name, value] of JSON.parse(json) as Header[]) {
    if (/^deprecation$/i.test(name)) deprecated_at = parseDeprecation(value.trim(), timestamp);
    if (/^sunset$/i.test(name)) sunset_at = toSeconds(parseDate(value.trim()));
  }
  return deprecated_at + sunset_at > 0 ? { deprecated_at, sunset_at } : undefined;
}

function parseDeprecation(value: string, timestamp: number): number {
  if (NO.has(value.toLowerCase())) return 0;
  const [, seconds] = STRUCTURED_DATE.exec(value) ?? [];
  const at = toSeconds(seconds === undefined ? parseDate(value) : Number(seconds) * 1000);
  return at > 0 ? at : toSeconds(timestamp);
}

function parseDate(value: string): number {
  return DATE.test(value) ? Date.parse(value) : NaN;
}

function toSeconds(ms: number): number {
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(Math.floor(ms / 1000), 0), MAX_SECONDS);
}
