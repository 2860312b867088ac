import type { Steps } from '../../shared/async/slices.js';

const [QUOTE, BACKSLASH, COMMA, COLON] = ['"', '\\', ',', ':'].map((character) => character.charCodeAt(0));
const [OPENING_BRACKET, CLOSING_BRACKET] = ['[', ']'].map((character) => character.charCodeAt(0));
const [OPENING_BRACE, CLOSING_BRACE] = ['{', '}'].map((character) => character.charCodeAt(0));
/** White space between tokens (RFC 8259, section 2). */
const SPACE = ' '.charCodeAt(0);
/** Bytes that are read in one step. */
const STEP = 64 * 1024;
/** Longest name of a member that has a meaning, with its escapes; a longer one is empty. */
const MAX_NAME = 256;

/** The value of a member of an object, or an item of a list, which has no name. */
export interface JsonPart {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/**
 * The members of an object or the items of a list, in their order; none of any other value. They are found
 * and not parsed: a large text is never parsed in one step. Yields `undefined` after each step.
 *
 * @throws SyntaxError if what is between them is no JSON
 */
export function* listJsonParts(json: Buffer): Generator<JsonPart | undefined, void> {
  let at = skipBlanks(json, 0);
  const isObject = json[at] === OPENING_BRACE;
  if (!isObject && json[at] !== OPENING_BRACKET) return;
  const closing = isObject ? CLOSING_BRACE : CLOSING_BRACKET;
  at = skipBlanks(json, at + 1);
  let isOpen = json[at] !== closing;
  if (!isOpen) at++;
  while (isOpen) {
    let name = '';
    if (isObject) {
      const colon = yield* findEnd(json, at);
      if (json[colon] !== COLON) throw new SyntaxError();
      name = readName(json.subarray(at, colon));
      at = colon + 1;
    }
    const end = yield* findEnd(json, at);
    if (skipBlanks(json, at) === end) throw new SyntaxError();
    yield { name, start: at, end };
    isOpen = json[end] === COMMA;
    if (!isOpen && json[end] !== closing) throw new SyntaxError();
    at = end + 1;
  }
  if (skipBlanks(json, at) < json.length) throw new SyntaxError();
}

export function isJsonList(json: Buffer): boolean {
  return json[skipBlanks(json, 0)] === OPENING_BRACKET;
}

/** The offset of what follows a name or a value: a colon, a comma or a closing bracket. */
function* findEnd(json: Buffer, start: number): Steps<number> {
  let depth = 0;
  let isQuoted = false;
  let stepEnd = start + STEP;
  for (let at = start; at < json.length; at++) {
    if (at >= stepEnd) {
      stepEnd = at + STEP;
      yield;
    }
    const code = json[at];
    if (isQuoted) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) isQuoted = false;
    } else if (code === QUOTE) isQuoted = true;
    else if (code === OPENING_BRACE || code === OPENING_BRACKET) depth++;
    else if (depth > 0) {
      if (code === CLOSING_BRACE || code === CLOSING_BRACKET) depth--;
    } else if (code === COMMA || code === COLON || code === CLOSING_BRACE || code === CLOSING_BRACKET)
      return at;
  }
  throw new SyntaxError();
}

function skipBlanks(json: Buffer, start: number): number {
  let at = start;
  while ((json[at] ?? Infinity) <= SPACE) at++;
  return at;
}

function readName(json: Buffer): string {
  if (json.length > MAX_NAME) return '';
  const name: unknown = JSON.parse(json.toString());
  if (typeof name !== 'string') throw new SyntaxError();
  return name;
}
