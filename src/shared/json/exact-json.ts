import { randomBytes } from 'node:crypto';
import { LosslessNumber, stringify } from 'lossless-json';
import { findClosingQuote } from './closing-quote.js';
import { parseJson } from './parse-json.js';

/** `JSON.parse` changes the value of no number with fewer digits. */
const LONG_NUMBER = 16;
/** RFC 8259, section 6. */
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
/**
 * Lower than the limit of `stringifyExact`, whose recursion ended between 2,600 and 6,500 levels, depending
 * on how optimised its code was.
 */
const MAX_DEPTH = 2_000;
/** Prefix of the digits in a wrapper. It is random per process, so that input cannot contain a wrapper. */
const WRAPPER = randomBytes(6).toString('base64url');

const QUOTE = '"'.charCodeAt(0);
const MINUS = '-'.charCodeAt(0);
const [ZERO, NINE] = ['0'.charCodeAt(0), '9'.charCodeAt(0)];
const [OPENING_BRACKET, CLOSING_BRACKET] = ['['.charCodeAt(0), ']'.charCodeAt(0)];
const [OPENING_BRACE, CLOSING_BRACE] = ['{'.charCodeAt(0), '}'.charCodeAt(0)];

/**
 * Parses JSON. A number that `JSON.stringify` would write differently, such as `1735689600050000001`, `1.0`
 * or `1e3`, becomes a `LosslessNumber` where its digits matter; every other number is a number.
 *
 * `JSON.parse` parses the text with such numbers wrapped in arrays of strings, which are replaced afterwards.
 * A parser in JavaScript took five times as long.
 *
 * @throws SyntaxError if it is not JSON, RangeError if it is nested too deeply
 */
export function parseExact(text: string): unknown {
  // Digits matter in long numbers, and in all numbers of a span's free-form attributes.
  if (!text.includes('"attributes"') && !hasLongNumber(text)) return parseJson(text);
  const wrapped = wrap(text);
  const value = parseJson(wrapped);
  return wrapped === text ? value : unwrap(value);
}

/**
 * Serializes the result of `parseExact`, with each number unchanged.
 *
 * @throws RangeError when it is nested too deeply
 */
export function stringifyExact(value: unknown): string {
  return stringify(value) ?? 'null';
}

function hasLongNumber(text: string): boolean {
  // A long number has a digit at a multiple of the length.
  for (let at = 0; at < text.length; at += LONG_NUMBER) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let [first, last] = [at, at];
    while (isDigit(text.charCodeAt(first - 1))) first--;
    while (isDigit(text.charCodeAt(last + 1))) last++;
    if (last - first + 1 >= LONG_NUMBER) return true;
  }
  return false;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

/**
 * The text with a wrapper around each number that `JSON.parse` would change. It is JSON if and only if the
 * text is, because arrays are allowed exactly where numbers are. Returns the text itself if there is no such
 * number.
 */
function wrap(text: string): string {
  let wrapped = '';
  let done = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = findClosingQuote(text, at);
    else if (code === OPENING_BRACKET || code === OPENING_BRACE) depth = deeper(depth);
    else if (code === CLOSING_BRACKET || code === CLOSING_BRACE) depth--;
    else if (isDigit(code) || code === MINUS) {
      const number = numberAt(text, at);
      // A minus alone is invalid; `JSON.parse` will report it.
      if (number === undefined) break;
      const end = at + number.length;
      if (String(Number(number)) !== number) {
        wrapped += `${text.slice(done, at)}["${WRAPPER}","${number}"]`;
        done = end;
      }
      at = end - 1;
    }
  }
  return done === 0 ? text : wrapped + text.slice(done);
}

function numberAt(text: string, at: number): string | undefined {
  NUMBER.lastIndex = at;
  return NUMBER.exec(text)?.[0];
}

function deeper(depth: number): number {
  if (depth === MAX_DEPTH) throw new RangeError(`JSON of more than ${MAX_DEPTH} levels`);
  return depth + 1;
}

/** The value, changed in place, with each wrapped number instead of its wrapper. */
function unwrap(value: unknown): unknown {
  if (Array.isArray(value)) return unwrapItems(value);
  const members = value as Record<string, unknown>;
  for (const name of Object.keys(members)) {
    const member = members[name];
    if (isNested(member)) members[name] = unwrap(member);
  }
  return members;
}

function unwrapItems(items: unknown[]): unknown {
  if (items[0] === WRAPPER) return new LosslessNumber(items[1] as string);
  for (const [index, item] of items.entries()) if (isNested(item)) items[index] = unwrap(item);
  return items;
}

function isNested(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
