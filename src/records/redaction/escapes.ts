import { TextJoiner } from './text-tools.js';

const [PERCENT, PLUS] = ['%'.charCodeAt(0), '+'.charCodeAt(0)];
const [BACKSLASH, AMPERSAND] = ['\\'.charCodeAt(0), '&'.charCodeAt(0)];
/** The range of full-width characters, and their distance to ASCII. */
const [FIRST_WIDE, LAST_WIDE, WIDE] = [0xff01, 0xff5e, 0xfee0];
/** The characters that letters after a backslash stand for; other characters stand for themselves. */
const CONTROLS: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
const ENTITIES: Readonly<Record<string, string>> = { quot: '"', apos: "'", lt: '<', gt: '>', amp: '&' };
const URL_ESCAPE = /[%+]/g;
const HTML_ESCAPE = /[&\uFF01-\uFF5E]/g;
const ENTITY = /&(?:(quot|apos|lt|gt|amp)|#(\d{2,3})|#x([\da-f]{2}));/iy;

/**
 * Replaces `+` in a URL, which is a space of a form or a plus of Base64. Patterns with `\s` match it, so it
 * separates names and values; but a value ends only at white space of ASCII.
 */
export const FORM_SPACE = '\u2007';

/** A way of escaping characters in a text. Each escape stands for one UTF-16 unit. */
export interface Escapes {
  /** The first offset at or after `from` where an escape may be; -1 if there is none. */
  readonly find: (text: string, from: number) => number;
  /** Reads the escape at an offset: the unit, and 0x10000 times the length; 0 if there is none. */
  readonly read: (text: string, at: number) => number;
  /** Escapes a text. */
  readonly write: (text: string) => string;
}

/** Escapes of a JSON string, also if it is cut off, and of strings in code. */
export const JSON_ESCAPES: Escapes = {
  find: (text, from) => text.indexOf('\\', from),
  read: readBackslash,
  write: (text) => JSON.stringify(text).slice(1, -1),
};

/** Escapes of a URL in ASCII: names of credentials have no other letters. */
export const URL_ESCAPES: Escapes = {
  find(text, from) {
    URL_ESCAPE.lastIndex = from;
    return URL_ESCAPE.test(text) ? URL_ESCAPE.lastIndex - 1 : -1;
  },
  read(text, at) {
    if (text.charCodeAt(at) === PLUS) return toEscape(FORM_SPACE.charCodeAt(0), 1);
    if (text.charCodeAt(at) !== PERCENT) return 0;
    const byte = readHex(text, at + 1, 2);
    if (byte < 0x80) return byte < 0 ? 0 : toEscape(byte, 3);
    // Three bytes of UTF-8 make one full-width character.
    if (byte !== 0xef || text.charCodeAt(at + 3) !== PERCENT || text.charCodeAt(at + 6) !== PERCENT) return 0;
    const [second, third] = [readHex(text, at + 4, 2), readHex(text, at + 7, 2)];
    const unit = 0xf000 + (second & 0x3f) * 0x40 + (third & 0x3f);
    return second >= 0x80 && third >= 0x80 && isWide(unit) ? toEscape(unit - WIDE, 9) : 0;
  },
  write: encodeURIComponent,
};

/** Escapes of HTML and XML, and full-width letters. */
export const HTML_ESCAPES: Escapes = {
  find(text, from) {
    HTML_ESCAPE.lastIndex = from;
    return HTML_ESCAPE.test(text) ? HTML_ESCAPE.lastIndex - 1 : -1;
  },
  read(text, at) {
    const code = text.charCodeAt(at);
    return isWide(code) ? toEscape(code - WIDE, 1) : code === AMPERSAND ? readEntity(text, at) : 0;
  },
  write: (text) => text.replaceAll('"', '&quot;'),
};

/** The text with its escapes decoded; the same text if it has none. */
export function decodeEscapes(text: string, escapes: Escapes): string {
  const joiner = new TextJoiner();
  let done = 0;
  for (let at = findEscape(text, 0, escapes); at < text.length; at = findEscape(text, done, escapes)) {
    const escape = escapes.read(text, at);
    joiner.add(text.slice(done, at));
    joiner.add(String.fromCharCode(escape & 0xffff));
    done = at + (escape >> 16);
  }
  if (done === 0) return text;
  joiner.add(text.slice(done));
  return joiner.join();
}

/**
 * A function that maps offsets of the decoded text to offsets of the text. Its arguments must not decrease.
 */
export function createLocator(text: string, escapes: Escapes): (offset: number) => number {
  let [at, decoded] = [0, 0];
  let next = findEscape(text, 0, escapes);
  return (offset) => {
    while (decoded + next - at < offset) {
      decoded += next - at + 1;
      at = next + (escapes.read(text, next) >> 16);
      next = findEscape(text, at, escapes);
    }
    return at + offset - decoded;
  };
}

/** The offset of the next escape; the end of the text if there is none. */
function findEscape(text: string, from: number, { find, read }: Escapes): number {
  let at = find(text, from);
  while (at !== -1 && read(text, at) === 0) at = find(text, at + 1);
  return at === -1 ? text.length : at;
}

function readBackslash(text: string, at: number): number {
  if (text.charCodeAt(at) !== BACKSLASH || at + 1 === text.length) return 0;
  const letter = text.charAt(at + 1);
  const digits = letter === 'u' ? 4 : letter === 'x' ? 2 : 0;
  const unit = digits === 0 ? -1 : readHex(text, at + 2, digits);
  return unit < 0 ? toEscape((CONTROLS[letter] ?? letter).charCodeAt(0), 2) : toEscape(unit, 2 + digits);
}

function readEntity(text: string, at: number): number {
  ENTITY.lastIndex = at;
  const match = ENTITY.exec(text);
  if (!match) return 0;
  const [all, name = '', decimal, hexadecimal = ''] = match;
  const named = ENTITIES[name.toLowerCase()]?.charCodeAt(0);
  return toEscape(named ?? Number.parseInt(decimal ?? hexadecimal, decimal ? 10 : 16), all.length);
}

function toEscape(unit: number, length: number): number {
  return length * 0x10000 + unit;
}

function isWide(code: number): boolean {
  return code >= FIRST_WIDE && code <= LAST_WIDE;
}

/** The number of `digits` hexadecimal digits; -1 if there are fewer. */
function readHex(text: string, at: number, digits: number): number {
  let value = 0;
  for (let place = at; place < at + digits; place++) {
    const code = text.charCodeAt(place);
    // Upper and lower case differ in one bit.
    const digit = code <= 57 ? code - 48 : (code | 32) - 87;
    if (!(digit >= 0 && digit < 16) || (code > 57 && digit < 10)) return -1;
    value = value * 16 + digit;
  }
  return value;
}
