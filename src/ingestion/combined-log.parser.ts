import { Rejection, integerFrom } from './checks.js';
import { countryOf } from './client-country.js';
import { instantOf } from './instant.js';
import { isNoise } from './noise.js';
import type { LineResult, ParsedRequest } from './parsed-request.js';
import { pathPatternOf } from './path-pattern.js';
import { MAX_URL, addressOf, clean, exceeds, methodOf } from './text.js';

/** Host, identity and user; of these only the host is used. */
const WHO = /^(\S+) \S+ \S/;
const TIME = /^(\d{2})\/([A-Z][a-z]{2})\/(\d{4}):(\d{2}:\d{2}:\d{2}) ([+-]\d{4})$/;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const PROTOCOL = /^HTTP\/\d(?:\.\d)?$/;
const STATUS_AND_SIZE = / (\d{1,5}) (\d{1,20}|-)(?= |$)/y;
const QUOTED = / "/y;
/** Runs of escaped bytes, or any other escape; a run is bounded because V8 keeps a state for each turn. */
const ESCAPES = /(?:\\x[0-9A-Fa-f]{2}){1,4096}|\\(.)/gs;
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', v: '\v' };
/** A byte of the target may be written in four characters; twice that leaves room for method and protocol. */
const MAX_REQUEST = 8 * MAX_URL;

const asStatusCode = integerFrom(100, 599);
const asSize = integerFrom(0, Number.MAX_SAFE_INTEGER);

/** A quoted text as it stands, escapes and all, and where the line goes on behind it. */
interface Quoted {
  readonly text: string;
  readonly end: number;
}

/**
 * Reads one line of an Apache or nginx access log in the common or the combined format:
 *
 *     host identity user [17/May/2015:10:05:03 +0000] "GET /x HTTP/1.1" 200 512 "referer" "user agent"
 *
 * A host that is a name gives no client address. The URL is the request target: the log does not know the host.
 * The user agent serves the health-check rule alone, so a last field whose quote stays open, and whatever follows
 * it, break nothing. Not known from such a log: response time (0), request size, consumer, anything captured.
 * Takes time in proportion to the line. Never throws.
 *
 * @param shiftMs whole milliseconds by which the time of the request is moved
 */
export function parseCombinedLine(line: string, shiftMs = 0): LineResult {
  try {
    return { record: requestOf(line, shiftMs) };
  } catch (error) {
    if (error instanceof Rejection) return { reason: error.message };
    throw error;
  }
}

function requestOf(line: string, shiftMs: number): ParsedRequest {
  const opening = line.indexOf(' [');
  const closing = line.indexOf('] "', opening);
  const host = opening === -1 || closing === -1 ? undefined : WHO.exec(line.slice(0, opening))?.[1];
  if (host === undefined)
    throw new Rejection('line: must begin with host, identity, user, [time] and "request"');
  const timestamp = timeOf(line.slice(opening + 2, closing)) + shiftMs;
  const request = quotedAt(line, closing + 2);
  if (request === null) throw new Rejection('request: its quote is not closed');
  const { method, url } = targetOf(request.text);
  const { status_code, response_size_bytes, end } = resultAt(line, request.end);
  const path = pathPatternOf(url);
  const client_ip = addressOf(host);
  return {
    request_uuid: null,
    timestamp,
    env: null,
    consumer: null,
    method,
    path,
    url,
    status_code,
    request_size_bytes: null,
    response_size_bytes,
    response_time_ms: 0,
    client_ip,
    client_country_iso_code: countryOf(client_ip),
    is_noise: isNoise(path, url, userAgentAt(line, end)),
    capture: '',
  };
}

function timeOf(text: string): number {
  const [, day, name, year, time, offset] = TIME.exec(text) ?? [];
  const month = String(MONTHS.indexOf(name ?? '') + 1).padStart(2, '0');
  const epochMs = instantOf(`${year}-${month}-${day}T${time}${offset}`);
  if (epochMs === null)
    throw new Rejection('time: must read like 17/May/2015:10:05:03 +0000, from 1970 to 2099');
  return epochMs;
}

function targetOf(text: string): { method: string; url: string } {
  if (text === '' || text === '-') throw new Rejection('request: there is none');
  if (text.length > MAX_REQUEST) throw new Rejection(`url: must have 1 to ${MAX_URL} characters`);
  const request = unescaped(text);
  const methodEnd = request.indexOf(' ');
  const method = methodOf(request.slice(0, Math.max(methodEnd, 0)));
  const url = targetFrom(request.slice(methodEnd + 1));
  if (method === null || url === '') throw new Rejection('request: must read METHOD target HTTP/version');
  if (exceeds(url, MAX_URL)) throw new Rejection(`url: must have 1 to ${MAX_URL} characters`);
  return { method, url };
}

/** The target before the protocol, which HTTP/0.9 does not have; empty when it is neither. */
function targetFrom(text: string): string {
  const end = text.lastIndexOf(' ');
  if (end !== -1 && PROTOCOL.test(text.slice(end + 1))) return clean(text.slice(0, end));
  return end === -1 && text.startsWith('/') ? clean(text) : '';
}

function resultAt(line: string, at: number) {
  STATUS_AND_SIZE.lastIndex = at;
  const [all, status, size] = STATUS_AND_SIZE.exec(line) ?? [];
  if (all === undefined) throw new Rejection('line: status and size must follow the request');
  return {
    status_code: asStatusCode(Number(status), 'status_code'),
    // A hyphen is how the format writes that no bytes were sent.
    response_size_bytes: asSize(size === '-' ? 0 : Number(size), 'response_size_bytes'),
    end: at + all.length,
  };
}

function userAgentAt(line: string, at: number): string | null {
  const referer = fieldAt(line, at);
  const userAgent = referer && fieldAt(line, referer.end);
  return userAgent === null || userAgent.text === '-' ? null : userAgent.text;
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
function unescaped(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(ESCAPES, (escape, character?: string) =>
    character === undefined
      ? Buffer.from(escape.replaceAll('\\x', ''), 'hex').toString()
      : (ESCAPED[character] ?? character),
  );
}
