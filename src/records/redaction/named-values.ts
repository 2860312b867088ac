import type { Edits } from './edits.js';
import { FORM_SPACE } from './escapes.js';
import type { ScannedJson } from './json-scalars.js';
import { MASK } from './mask.js';
import { type SecretNames, isCount } from './secret-names.js';
import { findAround } from './text-tools.js';

/** Parts of names that elsewhere do not name secrets, in any case. */
export const OPTION_HINTS = ['-u(?![a-z])', '--(?:proxy-)?user(?![a-z-])', 'code(?=[=%])'];

/** Names whose values are secrets. */
export interface TextNames {
  /** Matches a part of every name; global. */
  readonly hint: RegExp;
  readonly names: SecretNames;
  /** Names of parameters in URLs and forms. */
  readonly parameters: SecretNames;
}

interface Name {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

export interface TextPart {
  readonly start: number;
  readonly end: number;
}

/** Where a value begins and ends, without its quotes, and where the search continues. */
interface Value {
  readonly start: number;
  readonly end: number;
  readonly next: number;
}

/** The beginning of an object or a list; `x["a"]` is neither. */
const JSON_PART = new RegExp(String.raw`(?:\{|(?<![\w)\]])\[)\s*["{[]`, 'g');

/*
 * Every pattern takes time linear in the text: it starts at one offset, or where no earlier character could
 * be part of it; and its repetitions are bounded or end at the first other character.
 */

const NAME_CHARACTERS = /[\w.[\]-]*/y;
const IS_NAME_CHARACTER = Array.from({ length: 128 }, (_, code) =>
  /[\w.[\]-]/.test(String.fromCharCode(code)),
);
const MAX_NAME = 256;
/** A quote; JSON inside strings of JSON writes it with backslashes. */
const QUOTE = String.raw`\\{0,8}["']`;
/** Separates a name from its value: `=`, `=>`, `:=`, or a colon outside of `::` and `://`. */
const SEPARATOR = String.raw`[ \t${FORM_SPACE}]{0,4}(?:=>?(?!=)|:=?(?![:/=]))[ \t${FORM_SPACE}]{0,4}`;
/** The name may be in quotes as in JSON, or in quotes and a bracket: `env["token"] = …`. */
const ASSIGNMENT = new RegExp(String.raw`(${QUOTE}(?:\]|\)(?=:))?)?(${SEPARATOR})`, 'y');
/** Separates the two texts of a pair, or an option and its value in a list of arguments. */
const COMMA = new RegExp(String.raw`${QUOTE}\s{0,4},\s{0,4}(?=${QUOTE})`, 'y');
const PAIR_BEGINNING = new RegExp(String.raw`(?<=[[(]${QUOTE})`, 'y');
const PAIR_END = /\s{0,4}[\])]/y;
/** Separates an option and its value in a command line. */
const SPACE = new RegExp(String.raw`[ \t+${FORM_SPACE}]{1,4}(?=[^\s|&;<>-])`, 'y');
/** An option with the name and the password of a user; plain numbers are IDs. */
const USER_OPTION = /^(?:-u|--(?:proxy-)?user)$/i;
const USER = /^[^\s:]{1,128}:(?!\d*$)/;
/**
 * An authorization code (RFC 6749, section 4.1.2) is recognized by its length and by its URL or form, which
 * has a state or a path that receives codes.
 */
const CODE = /^code$/i;
const MIN_CODE = 10;
const RECEIVES_CODE =
  /(?:^|[?&#;])(?:state=|grant_type=authorization_code)|(?:callback|oauth|oidc|sso|log-?in|sign-?in)[\w./-]{0,64}[?#]/i;
const URL_ENDS = new Set(' \t\r\n"\'<>');
/** An ordinary word after the name of an option. */
const SHORT_WORD = /^[a-z]{1,4}$/;
/** An item of a list of names. */
const WORD = /^[a-z_-]{1,32}$/i;

/** Also after a constructor or prefix of a string: `Some("…")`, `b'…'`. */
const OPENING_QUOTE = /(?:(?:[\w.:]{1,64}\(){1,2}|[bru]{1,2}(?=["']))?(\\{0,8})(["'])/iy;
const LINE = /[^\r\n]*/y;
const HEADER = /(?:authorization|cookie)$/i;
/** Three words of prose after the name of a header. No scheme with its token has this form. */
const PROSE =
  /(?!(?:[Bb]asic|[Bb]earer|[Dd]igest|[Tt]oken|[Aa]pi-?[Kk]ey|[Kk]ey)\b)(?:(?:[A-Z]?[a-z]{1,19}|\d{1,9})[,.]?[ \t]+){2}(?:[a-z]{1,19}|\d{1,9})\b/y;
const VALUES = {
  parameterOfUrl: /[^&#]*/y,
  afterEquals: /[^ \t\r\n&"<>#]*/y,
  afterColon: /[^ \t\r\n&"'<>#,;)\]}]*/y,
  afterSpace: /[^ \t\r\n|&;<>"']*/y,
  header: /[^\r\n"]*/y,
  quotedHeader: /[^\r\n"']*/y,
};
/** A scheme before its token. */
const SCHEME = /[[({]{0,2}[\w-]{1,64}[ \t]{1,4}/y;
/** A token or a cookie, up to a comma or a semicolon and the space after it. */
const ITEM = /[^\s"&]*/y;
/** A value that means "none", possibly followed by the punctuation of a sentence or a call. */
const NO_VALUE = /^(?:null|undefined|None|nil|true|false)?[,;)\]}]{0,16}$/;

/** Whether the text is not a value, or is masked already; a mask keeps the text after it. */
export function isNoValue(value: string): boolean {
  return value.startsWith(MASK) || NO_VALUE.test(value);
}

/** Whether a value next to the name of a secret is a secret. */
export function isSecretValue(name: string, value: string): boolean {
  if (isNoValue(value) || isCount(name, value)) return false;
  if (USER_OPTION.test(name)) return USER.test(value);
  return !CODE.test(name) || value.length >= MIN_CODE;
}

/** Whether the text is the name of an option whose value is the name and the password of a user. */
export function isUserOption(name: string): boolean {
  return name.startsWith('-') && USER_OPTION.test(name);
}

/**
 * Finds named values anywhere in a text: parameters, members, headers, options of commands. `scanPart` scans
 * JSON within it.
 */
export class NamedValues {
  private readonly rest: TextPart[] = [];
  private restStart = 0;
  /** Offset where the next JSON may begin. */
  private part = Infinity;
  /** The last URL or form that was checked. */
  private url = { end: 0, receivesCode: false };

  /**
   * @param found receives the values
   * @param isUrl whether the text is a single URL, which may have spaces
   * @param scanPart scans JSON at an offset; `name` is set if the JSON is its value
   */
  constructor(
    private readonly text: string,
    private readonly which: TextNames,
    private readonly isUrl: boolean,
    private readonly scanPart: ((at: number, name: string | undefined) => ScannedJson) | undefined,
    private readonly found: Edits,
  ) {}

  /** @returns the parts of the text that are not JSON */
  find(): readonly TextPart[] {
    let at = 0;
    let name = this.findName(at);
    this.part = this.findPart(at);
    while (name !== undefined || this.part < Infinity) {
      if (name === undefined || this.part < name.end) at = this.readPart() ?? at;
      else at = this.readName(name);
      if (name !== undefined && name.start < at) name = this.findName(at);
      if (this.part < at) this.part = this.findPart(at);
    }
    this.rest.push({ start: this.restStart, end: this.text.length });
    return this.rest;
  }

  /** The next name that has a hint. */
  private findName(from: number): Name | undefined {
    const { text } = this;
    const { hint } = this.which;
    hint.lastIndex = from;
    if (!hint.test(text)) return undefined;
    let start = hint.lastIndex;
    while (start > from && IS_NAME_CHARACTER[text.charCodeAt(start - 1)]) start--;
    NAME_CHARACTERS.lastIndex = hint.lastIndex;
    NAME_CHARACTERS.test(text);
    const end = NAME_CHARACTERS.lastIndex;
    return { text: text.slice(Math.max(start, end - MAX_NAME), end), start, end };
  }

  private findPart(from: number): number {
    if (!this.scanPart) return Infinity;
    JSON_PART.lastIndex = from;
    return JSON_PART.exec(this.text)?.index ?? Infinity;
  }

  /** @returns the end of the JSON; undefined if it is not JSON */
  private readPart(name?: string): number | undefined {
    const { part } = this;
    const scanned = this.scanPart?.(part, name) ?? { failedAt: part };
    if ('failedAt' in scanned) {
      // JSON that failed to parse is not scanned again.
      this.part = this.findPart(Math.max(scanned.failedAt, part + 1));
      return undefined;
    }
    this.found.addAll(scanned.found);
    this.rest.push({ start: this.restStart, end: part });
    this.restStart = scanned.end;
    return scanned.end;
  }

  /** @returns the offset where the search continues */
  private readName(name: Name): number {
    const value = this.findAssigned(name) ?? this.findBehindOption(name) ?? this.findInPair(name);
    if (!value) return name.end;
    const { start, end, next } = value;
    const found = this.text.slice(start, end);
    // Further names may follow a mask.
    if (found.startsWith(MASK)) return start + MASK.length;
    if (isSecretValue(name.text, found)) this.found.add(start, end);
    return Math.max(next, name.end);
  }

  private findAssigned(name: Name): Value | undefined {
    const { text, which, isUrl } = this;
    ASSIGNMENT.lastIndex = name.end;
    const match = ASSIGNMENT.exec(text);
    if (!match) return undefined;
    const [all, quote = '', separator = ''] = match;
    const before = text[name.start - 1] ?? '';
    const isColon = separator.includes(':');
    // `/v1/token:verify` is a path.
    if (isColon && quote === '' && before === '/') return undefined;
    const isParameter = separator === '=' && quote === '' && '?&#;'.includes(before);
    const isSecret =
      (isParameter ? which.parameters : which.names).has(name.text) ||
      isUserOption(name.text) ||
      (isParameter && CODE.test(name.text) && this.receivesCode(name.start));
    if (!isSecret) return undefined;
    const start = name.end + all.length;
    if (isParameter && isUrl) return matchValue(text, start, VALUES.parameterOfUrl);
    if (HEADER.test(name.text)) return findHeaderValue(text, start, isColon, name.text, before === "'");
    const end = start === this.part ? this.readPart(name.text) : undefined;
    return end === undefined
      ? findValue(text, start, isColon ? VALUES.afterColon : VALUES.afterEquals)
      : { start, end: start, next: end };
  }

  /** Whether the URL or form around an offset receives an authorization code. */
  private receivesCode(at: number): boolean {
    if (at >= this.url.end) {
      const { start, end } = findAround(this.text, at, this.url.end, URL_ENDS);
      this.url = { end, receivesCode: RECEIVES_CODE.test(this.text.slice(start, end)) };
    }
    return this.url.receivesCode;
  }

  /** Finds the value of an option: `--token x`, also as items of a list. */
  private findBehindOption(name: Name): Value | undefined {
    const { text, which } = this;
    if (text[name.start] !== '-' || !(which.names.has(name.text) || isUserOption(name.text)))
      return undefined;
    const start = skip(text, name.end, SPACE) ?? skip(text, name.end, COMMA);
    if (start === undefined) return undefined;
    const value = findValue(text, start, VALUES.afterSpace);
    return SHORT_WORD.test(text.slice(value.start, value.end)) ? undefined : value;
  }

  /**
   * Finds the value of a pair, `("token", "x")`: a tuple, or a list of two items in a text that is not JSON.
   */
  private findInPair(name: Name): Value | undefined {
    const { text, which } = this;
    const start = skip(text, name.end, COMMA);
    if (
      start === undefined ||
      !which.names.has(name.text) ||
      skip(text, name.start, PAIR_BEGINNING) === undefined
    )
      return undefined;
    const value = findValue(text, start, VALUES.afterSpace);
    return skip(text, value.next, PAIR_END) === undefined || WORD.test(text.slice(value.start, value.end))
      ? undefined
      : value;
  }
}

/** The offset after the match at an offset. */
function skip(text: string, at: number, pattern: RegExp): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

function findValue(text: string, start: number, unquoted: RegExp): Value {
  return findQuoted(text, start) ?? matchValue(text, start, unquoted);
}

function findQuoted(text: string, start: number): Value | undefined {
  OPENING_QUOTE.lastIndex = start;
  const match = OPENING_QUOTE.exec(text);
  if (!match) return undefined;
  const [opening, backslashes = '', quote = ''] = match;
  const first = start + opening.length;
  const end = findSameQuote(text, first, backslashes, quote);
  return { start: first, end, next: end + backslashes.length + quote.length };
}

/**
 * Finds the value of a header that may contain spaces: after a colon it is the rest of the line, unless that
 * is prose.
 */
function findHeaderValue(
  text: string,
  start: number,
  isColon: boolean,
  name: string,
  isQuoted: boolean,
): Value {
  if (isColon && skip(text, start, PROSE) !== undefined) return { start, end: start, next: start };
  const quoted = findQuoted(text, start);
  if (quoted) return quoted;
  // It must not be longer than the final value, which may be short: otherwise the same text would be read
  // again and again.
  const word = matchValue(text, start, isColon ? VALUES.afterColon : ITEM);
  if (isNoValue(text.slice(start, word.end))) return word;
  if (isColon) return matchValue(text, start, isQuoted ? VALUES.quotedHeader : VALUES.header);
  return findItems(text, start, /cookie$/i.test(name) ? start : (skip(text, start, SCHEME) ?? start));
}

/** Consecutive items from an offset on, separated by a comma or a semicolon and a space. */
function findItems(text: string, start: number, from: number): Value {
  let end = skip(text, from, ITEM) ?? from;
  // A single pattern for all items would need stack space for each character.
  while (/[,;]/.test(text.charAt(end - 1)) && /[ \t]/.test(text.charAt(end)))
    end = skip(text, end + 1, ITEM) ?? end;
  return { start, end, next: end };
}

function matchValue(text: string, start: number, pattern: RegExp): Value {
  const end = skip(text, start, pattern) ?? start;
  return { start, end, next: end };
}

/**
 * The offset of the quote that closes a quote with the same backslashes, including them; the end of the line
 * if there is none.
 */
function findSameQuote(text: string, from: number, backslashes: string, quote: string): number {
  for (let at = text.indexOf(quote, from); at !== -1; at = text.indexOf(quote, at + 1)) {
    let before = 0;
    while (at - 1 - before >= from && text[at - 1 - before] === '\\') before++;
    const isClosing = backslashes === '' ? before % 2 === 0 : before <= backslashes.length;
    if (isClosing) return at - (backslashes === '' ? 0 : before);
  }
  // An apostrophe opens no string. A text that is cut off ends within its line, unless it is a key of several
  // lines.
  return text.startsWith('-----BEGIN', from) ? text.length : (skip(text, from, LINE) ?? from);
}
