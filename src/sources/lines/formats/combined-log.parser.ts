import { parseAddress } from '../../../shared/ip-address.js';
import type { Header } from '../../../records/capture.js';
import { type LogValues, isBlank, unescapeText } from './access-log.js';
import { sanitize } from '../../../records/text.js';
import { findClosingQuote } from '../../../shared/json/closing-quote.js';

/** A value in quotes or without; `name="value"` is one value. */
interface Token {
  readonly text: string;
  readonly isQuoted: boolean;
  /** Whether it begins with a quote that is never closed. */
  readonly isOpen?: boolean;
}

/** Number of values after the user agent that are examined. */
const MAX_TOKENS = 64;
/** Largest number of values before the client's address that a logger may have written. */
const MAX_PREFIX = 8;
/**
 * A response time: seconds as nginx and gunicorn write them, also with a name, or milliseconds as Traefik
 * writes them.
 */
const RESPONSE_TIME =
  /^(?:(?:rt|request_time|response_time|duration)="?)?(?:(\d{1,9}\.(?:\d{3}|\d{6}))s?|(\d{1,12})ms)"?$/;
/** Addresses of the client and of proxies, with a name. */
const FORWARDED =
  /^(?:http_)?(?:x[-_])?(?:forwarded[-_]for|xff|real[-_]ip|(?:true[-_])?client[-_]ip|cf[-_]connecting[-_]ip)[=:]"?([^"]*)"?$/i;
/** The referer of a client, or the value that a proxy logs instead. */
const REFERER = /^(?:-?$|\/|[a-z][a-z\d+.-]*:\/\/)/i;
const NOT_ITS_FORM = 'line: must begin with host, identity, user, [time] and "request"';
const WRONG_TIME = 'time: must have the form 17/May/2015:10:05:03 +0000, from 1970 to 2099';
const QUOTE = '"'.charCodeAt(0);

/**
 * The values of a line in the common or the combined format of Apache and nginx, from its part before the
 * time and its part behind the size. A virtual host, a list of addresses and the address of a proxy may
 * precede:
 *
 *     host identity user [17/May/2015:10:05:03 +0000] "GET /x HTTP/1.1" 200 512 "referer" "user agent"
 *     www.example.com:443 "203.0.113.7, 10.0.0.1" 10.0.0.2 identity user [17/May/2015:10:05:03 +0000] "GET /x
 *     HTTP/1.1" 200 512
 *
 * Other columns may precede the referer, and follow the user agent. Of them, a time becomes the response time
 * (`0.004`, `rt=0.004`, `12ms`), and addresses under a name, or in the first quoted column, are those that
 * proxies named. Microseconds of Apache's `%D` cannot be distinguished from other numbers. Null if the line
 * is none of the format.
 */
export function readCombined(values: readonly string[]): LogValues | null {
  // Without its own time, the line has the time of syslog.
  const hasTime = values.length === 6;
  const from = hasTime ? 2 : 1;
  const [before = '', behind = ''] = [values[0], values[from + 3]];
  if (behind !== '' && !behind.startsWith(' ')) return null;
  const request = readClient(before);
  // A user with blanks or brackets may be a damaged time.
  if (request === null || (!hasTime && /[ [\]]/.test(String(request.user)))) return null;
  if (hasTime) request.timestamp = values[1];
  request.request = values[from];
  request.status_code = values[from + 1];
  const size = values[from + 2];
  // A hyphen means that no bytes were sent.
  request.response_size_bytes = size === '-' ? 0 : size;
  readColumns(behind, request);
  return request;
}

/** Why a line is not in the format. @param missing the name of the first value that was not found */
export function explainCombined(line: string, missing: string): string {
  const timeEnd = line.indexOf('] "');
  const opening = timeEnd === -1 ? -1 : line.lastIndexOf(' [', timeEnd);
  if (opening === -1 || readClient(line.slice(0, opening)) === null) return NOT_ITS_FORM;
  if (missing === 'before' || missing === 'time_local') return WRONG_TIME;
  const isClosed = findClosingQuote(line, timeEnd + 2) < line.length;
  return isClosed ? 'line: status and size must follow the request' : 'request: its quote is not closed';
}

function readClient(text: string): LogValues | null {
  const first = listAt(text, 0);
  if (text.startsWith(' ')) return null;
  // Usually identity and user follow the client.
  const isUsual = text.startsWith(' - ', first.end) && !text.startsWith('- ', first.end + 3);
  const unusual = isUsual ? null : (readFromHost(text, first) ?? readBehindPrefix(text, first));
  return unusual ?? readUser(text, first);
}

/** The values after a virtual host, or after addresses that a proxy named. */
function readFromHost(text: string, first: List): LogValues | null {
  const second = listAt(text, first.end + 1);
  const third = listAt(text, second.end + 1);
  const hasPort = /:\d{1,5}$/.test(first.text);
  const isHost =
    !first.isQuoted &&
    (hasPort ? third.text === '-' || isAddress(second) : !isAddress(first) && isAddress(second));
  if (isHost) return readAddresses(text, second, first.text);
  return first.isQuoted || (isAddress(first) && isAddress(second)) ? readAddresses(text, first) : null;
}

/**
 * The client from an offset on: its address, or the addresses that a proxy named and the address of the
 * proxy.
 */
function readAddresses(text: string, list: List, host?: string): LogValues | null {
  const next = listAt(text, list.end + 1);
  return list.isQuoted || (isAddress(list) && isAddress(next))
    ? readUser(text, next, host, list.text)
    : readUser(text, list, host);
}

/** The client after a logger's prefix, which is neither a host nor a user. */
function readBehindPrefix(text: string, first: List): LogValues | null {
  if (isAddress(first)) return null;
  let list = listAt(text, first.end + 1);
  for (let count = 0; count < MAX_PREFIX && list.text !== '' && list.text !== '-'; count++) {
    if (isAddress(list) && text.startsWith(' - ', list.end)) return readUser(text, list);
    list = listAt(text, list.end + 1);
  }
  return null;
}

/** The values with the user, who follows an identity after the client; null if there is none. */
function readUser(text: string, client: List, host?: string, forwarded_for?: string): LogValues | null {
  const identityEnd = text.indexOf(' ', client.end + 1);
  // One of the two hyphens may be missing.
  const user = text.slice((identityEnd === -1 ? client.end : identityEnd) + 1);
  if (identityEnd === -1 ? user !== '-' : identityEnd === client.end + 1) return null;
  if (user === '' || user.startsWith(' ')) return null;
  return {
    timestamp: undefined,
    request: undefined,
    host,
    status_code: undefined,
    client_ip: client.text,
    forwarded_for,
    user: unescapeText(user),
    response_size_bytes: undefined,
    response_time_ms: undefined,
    request_headers: undefined,
  };
}

/** Addresses separated by commas, with or without quotes around them; or one word. */
interface List {
  readonly text: string;
  readonly end: number;
  readonly isQuoted: boolean;
}

function listAt(text: string, at: number): List {
  if (text.charCodeAt(at) === QUOTE) {
    const quote = findClosingQuote(text, at);
    return { text: text.slice(at + 1, quote), end: Math.min(quote + 1, text.length), isQuoted: true };
  }
  let end = at;
  do {
    const blank = text.indexOf(' ', end + 1);
    end = blank === -1 ? text.length : blank;
  } while (text[end - 1] === ',' && end < text.length);
  return { text: text.slice(at, end), end, isQuoted: false };
}

function isAddress({ text, isQuoted }: List): boolean {
  return isQuoted || parseAddress(text.split(',', 1)[0] ?? '') !== null;
}

/** Adds the columns after the size. */
function readColumns(text: string, values: LogValues) {
  const tokens = tokenize(text);
  const refererAt = findReferer(tokens);
  const userAgentAt = refererAt !== -1 && mayBeQuoted(tokens[refererAt + 1]) ? refererAt + 1 : refererAt;
  const headers: Header[] = [];
  if (userAgentAt > refererAt) addHeader(headers, 'user-agent', tokens[userAgentAt]);
  if (refererAt !== -1) addHeader(headers, 'referer', tokens[refererAt]);
  values.request_headers = headers;
  let isFirst = true;
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index];
    if (token?.isOpen !== false || index === refererAt || index === userAgentAt) continue;
    const named = FORWARDED.exec(token.text)?.[1];
    const forwarded = named ?? (token.isQuoted && isFirst ? unescapeText(token.text) : '');
    if (!isBlank(forwarded)) values.forwarded_for ??= forwarded;
    isFirst &&= !token.isQuoted;
    const [, seconds, milliseconds] = RESPONSE_TIME.exec(token.text) ?? [];
    if (seconds !== undefined) values.response_time_ms ??= Number(seconds) * 1_000;
    else if (milliseconds !== undefined) values.response_time_ms ??= Number(milliseconds);
  }
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length && tokens.length < MAX_TOKENS; at++) {
    if (text[at] === ' ') continue;
    const isQuoted = text.charCodeAt(at) === QUOTE;
    const end = isQuoted ? findClosingQuote(text, at) : findWordEnd(text, at);
    tokens.push({
      text: text.slice(isQuoted ? at + 1 : at, end),
      isQuoted,
      isOpen: isQuoted && end === text.length,
    });
    at = end;
  }
  return tokens;
}

/** The end of a word. A part in quotes after `=` may contain blanks. */
function findWordEnd(text: string, at: number): number {
  const blank = text.indexOf(' ', at);
  const end = blank === -1 ? text.length : blank;
  const quote = text.indexOf('="', at);
  return quote === -1 || quote > end ? end : Math.min(findClosingQuote(text, quote + 1) + 1, text.length);
}

/**
 * Index of the referer, which precedes the user agent; -1 if there is none. A server may write a hyphen
 * without quotes for either.
 */
function findReferer(tokens: readonly Token[]): number {
  const first = tokens.findIndex(({ isQuoted }) => isQuoted);
  if (first <= 0) return first;
  const isReferer = tokens[first + 1]?.isQuoted && REFERER.test(tokens[first]?.text ?? '');
  return tokens[first - 1]?.text === '-' && !isReferer ? first - 1 : first;
}

function mayBeQuoted(token: Token | undefined): boolean {
  return token !== undefined && (token.isQuoted || token.text === '-');
}

function addHeader(headers: Header[], name: string, token: Token | undefined) {
  if (token !== undefined && !isBlank(token.text)) headers.push([name, sanitize(unescapeText(token.text))]);
}
