import { parseJson } from '../../../shared/json/parse-json.js';
import { unescapeText } from './access-log.js';
import { InvalidRecordError, type JsonObject, objectDecoder } from '../../../records/decoding/decoders.js';
import { MAX_RECORD_VALUES, hasMoreValues } from '../../../records/limits.js';
import { findClosingQuote } from '../../../shared/json/closing-quote.js';

/** Runs of bytes in nginx's default escapes, which JSON does not allow. */
const HEX_BYTES = /(?:\\x[0-9A-Fa-f]{2}){1,4096}/g;
/**
 * Between two strings of JSON: a variable of nginx without quotes whose value is empty or has several parts.
 */
const UNQUOTED =
  /^(\s{0,8}:\s{0,8})([-\d.][-\d.,: ]{0,1024}?|)\s{0,8}(,?\s{0,8}[}\]]{1,64}\s{0,8}|,\s{0,8})$/;
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
const TRAILING_COMMA = /,(?=\s{0,8}[}\]])/;
const NAME_AND_VALUE = /([\w.@-]{1,128})=(?!=)/y;
/** More than any log has. */
const MAX_PAIRS = 256;
/** Fewer may occur in any text. */
const MIN_PAIRS = 3;

export const TOO_MANY_VALUES = `line: must have at most ${MAX_RECORD_VALUES} values`;

/** Whether a text begins like an object of JSON. */
export function isJsonObject(text: string): boolean {
  return text.startsWith('{') || text.trimStart().startsWith('{');
}

/**
 * The object of a line of JSON; undefined if the line is not an object. Two kinds of invalid JSON that
 * nginx's `log_format` produces are accepted: bytes escaped without `escape=json`, and variables without
 * quotes whose value is empty or has several parts.
 *
 * @throws SyntaxError if it is not JSON; RangeError if it is nested too deeply; InvalidRecordError if it has
 *   too many values
 */
export function parseObject(text: string): JsonObject | undefined {
  // Before parsing, because a syntax error with its stack trace is slow.
  if (!isJsonObject(text)) return undefined;
  if (hasMoreValues(text, MAX_RECORD_VALUES)) throw new InvalidRecordError(TOO_MANY_VALUES);
  try {
    return objectDecoder.decode(parseJson(text));
  } catch (error) {
    const repaired = repair(text);
    if (repaired === text) throw error;
    return objectDecoder.decode(parseJson(repaired));
  }
}

function repair(text: string): string {
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const opening = text.indexOf('"', at);
    pieces.push(repairBetween(text.slice(at, opening === -1 ? text.length : opening)));
    if (opening === -1) break;
    at = findClosingQuote(text, opening) + 1;
    pieces.push(text.slice(opening, at).replace(HEX_BYTES, toJsonText));
  }
  return pieces.join('');
}

function repairBetween(text: string): string {
  const [, colon, value, end] = UNQUOTED.exec(text) ?? [];
  const tail = (end ?? text).replace(TRAILING_COMMA, '');
  if (colon === undefined || value === undefined) return tail;
  if (value === '' || value === '-') return `${colon}null${tail}`;
  return colon + (JSON_NUMBER.test(value) ? value : JSON.stringify(value)) + tail;
}

function toJsonText(escapes: string): string {
  return JSON.stringify(Buffer.from(escapes.replaceAll('\\x', ''), 'hex').toString()).slice(1, -1);
}

/** The values of a line of logfmt, `at=info method=GET path="/a"`; undefined if the line is not logfmt. */
export function parseLogfmt(text: string): JsonObject | undefined {
  const pairs: [name: string, value: string][] = [];
  for (let at = 0; at < text.length && pairs.length < MAX_PAIRS;) {
    NAME_AND_VALUE.lastIndex = at;
    const name = NAME_AND_VALUE.exec(text)?.[1];
    if (name === undefined) return undefined;
    const from = at + name.length + 1;
    const isQuoted = text[from] === '"';
    const blank = text.indexOf(' ', isQuoted ? findClosingQuote(text, from) : from);
    const end = blank === -1 ? text.length : blank;
    pairs.push([name, isQuoted ? unescapeText(text.slice(from + 1, end - 1)) : text.slice(from, end)]);
    at = end;
    while (text[at] === ' ') at++;
  }
  return pairs.length < MIN_PAIRS ? undefined : Object.fromEntries(pairs);
}
