import type { SecretForm } from '../../config/redaction.js';
import { MASK } from './mask.js';
import { type SecretNames, isCount } from './secret-names.js';

/** Part of every secret of a form, in any case. */
export const FORM_HINTS: Readonly<Record<SecretForm, readonly string[]>> = {
  bearer: ['bearer', 'basic'],
  jwt: ['eyJ'],
  card: ['\\d(?:(?:[ +-]|%20)?\\d){12}'],
};
/** A user and a password in a URL, whose slashes JSON may escape. */
export const USER_INFO_HINT = ':(?:\\\\{0,8}/){2}[^/?#\\s]{1,512}@';

/*
 * Every pattern takes time linear in the text: what it repeats is bounded, or begins where nothing before it could be
 * part of it.
 */

/** A parameter of a URL or of a form; the second pattern is for texts in which a URL ends at white space. */
const URL_PARAMETER = /((?:^|[?&#;])([^?&#;=]{1,256})=)([^&#]+)/g;
const PARAMETER = /((?:^|[?&#;])([^?&#;=\s"'<>]{1,256})=)((?!')[^&#\s"<>]+)/g;
/**
 * A name and what separates it from its value: `=`, `=>`, `:=`, `%3D`, or a colon, behind a quote as in JSON or without one, or
 * behind a quote and a bracket as in `env["token"] = …`.
 */
const NAME =
  /(?:(?<![\w.[\]%-])|(?<=%[\dA-Fa-f]{2})|(?<=%)(?![\dA-Fa-f]{2}))([\w.[\]-]{1,256})(\\{0,8}["'](?:\]|\)(?=:))?)?([ \t]{0,4}(?:=>?(?!=)|:=?(?![:/=]))[ \t]{0,4}|%(?:25){0,4}3[Dd])/g;
/** Also behind what makes a value of a text: `Some("…")`, `b'…'`. */
const OPENING_QUOTE = /(?:(?:[\w.:]{1,64}\(){1,2}|[bru]{1,2}(?=["']))?(\\{0,8})(["'])/iy;
const LINE = /[^\r\n]*/y;
const HEADER = /(?:authorization|cookie)$/i;
/** Three words of prose behind the name of a header: no scheme with its token has such a form. */
const PROSE =
  /(?!(?:[Bb]asic|[Bb]earer|[Dd]igest|[Tt]oken|[Aa]pi-?[Kk]ey|[Kk]ey)\b)(?:(?:[A-Z]?[a-z]{1,19}|\d{1,9})[,.]?[ \t]+){2}(?:[a-z]{1,19}|\d{1,9})\b/y;
const VALUES = {
  afterEquals: /[^\s&"<>#]*/y,
  afterColon: /[^\s&"'<>#,;)\]}]*/y,
  encoded: /(?:(?!%(?:25){0,4}26)[^\s&"<>#])*/y,
  header: /[^\r\n"]*/y,
  quotedHeader: /[^\r\n"']*/y,
  // A scheme and its token, or cookies, and what a comma or a semicolon adds.
  authorization: /(?:[[({]{0,2}[\w-]{1,64}[ \t]{1,4})?(?:[^\s"&]|(?<=[,;])[ \t])*/y,
  cookie: /(?:[^\s"&]|(?<=[,;])[ \t])*/y,
};
/** An element with text alone. */
const ELEMENT =
  /(<(?:[\w-]{1,64}:)?([\w.-]{1,64})(?:\s[^<>]{0,256})?>(?:<!\[CDATA\[)?)([^<]+?)(?=(?:\]\]>)?<\/(?:[\w-]{1,64}:)?\2\s{0,4}>)/g;
/** A field of a form with several parts. */
const PART = /(\bname="([^"\r\n]{1,128})"[^\r\n]{0,256}\r?\n(?:[^\r\n]{1,256}\r?\n){0,4}\r?\n)([^\r\n]+)/g;
/** A violated constraint of PostgreSQL: `Key (id, token)=(1, …) already exists.`; the words and quotes around it are translated. Names have no asterisks, as masks do. */
const TUPLE = /(\(([^()*\r\n]{1,256})\)=\()([^\r\n]*?)(?=\)(?!\w)|[\r\n]|$)/g;
/** Values that say that there is none. */
const NO_VALUES = new Set(['', MASK, 'null', 'undefined', 'None', 'nil', 'true', 'false']);

/** Characters of a text that is no word or name. */
const MIN_TOKEN = 20;
/** To the last `@`, as parsers of URLs take it: passwords have some. */
const USER_INFO = /(:\/\/)([^\s/?#"<>]{1,512})(?=@)/g;
const BEARER = /\b(bearer(?:\s|\+|%20){1,4})([\w.~+/=-]{8,})/gi;
const BASIC = /\b(basic(?:\s|\+|%20){1,4})([A-Za-z0-9+/]{6,}={0,2})/gi;
const TOKEN_TEXT = /[\w-]*/y;
const TOKEN_PARTS = /(?:\.[\w-]*){1,4}/y;
const CARD =
  /(?<![\w.])(?:\d{13,19}|\d{4}([ +-]|%20)\d{4}\1\d{4}\1\d{1,7}|3\d{3}([ +-]|%20)\d{6}\2\d{4,5})(?!\w|[.+-]\d)/g;
/** Issuers of cards and the lengths of their numbers: a number of another one is an ID. */
const ISSUERS =
  /^(?:4\d{12}(?:\d{3}){0,2}|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3(?:0[0-5]|[689])\d{11,16}|(?:6011|65|64[4-9]|62|35)\d{12,17}|(?:50|5[6-8]|6[37])\d{11,17})$/;

/**
 * Redacts parameters of a URL, also of one with spaces.
 *
 * @param redactValue for the decoded values of other parameters
 */
export function redactUrlParameters(
  url: string,
  parameters: SecretNames,
  redactValue: (text: string) => string,
): string {
  return url.replace(URL_PARAMETER, (all: string, before: string, name: string, value: string) => {
    if (isSecretPair(name, value, parameters)) return before + MASK;
    if (!value.includes('%')) return all;
    const decoded = decodeComponent(value);
    const redacted = redactValue(decoded);
    return redacted === decoded ? all : before + encodeURIComponent(redacted);
  });
}

/** Redacts values that stand beside a name: parameters, members of JSON, headers, elements of XML, parts of forms. */
export function redactNamedValues(text: string, names: SecretNames, parameters: SecretNames): string {
  const replaceBy =
    (which: SecretNames) =>
    (all: string, before: string, name: string, value: string): string =>
      !isNoValue(value) && isSecretPair(name, value, which) ? before + MASK : all;
  const replaceParameter = replaceBy(parameters);
  const redactParameters = (part: string) =>
    part.replace(PARAMETER, (all: string, before: string, name: string, value: string) =>
      // Their values go on behind white space.
      HEADER.test(name) ? all : replaceParameter(all, before, name, value),
    );
  let redacted = redactParameters(text);
  if (redacted.includes('</')) redacted = redacted.replace(ELEMENT, replaceBy(names));
  if (redacted.includes('name="')) redacted = redacted.replace(PART, replaceBy(names));
  if (redacted.includes(')=(')) redacted = redactTuples(redacted, names);
  const assigned = redactAssignments(redacted, names, true);
  // A mask can end within the value of another parameter, where one with a secret name begins.
  return assigned === redacted ? redacted : redactParameters(assigned);
}

function isSecretPair(encodedName: string, value: string, names: SecretNames): boolean {
  const name = decodeComponent(encodedName);
  return names.has(name) && !isCount(name, value);
}

/** A comma may be part of a value, so all of them are masked. */
function redactTuples(text: string, names: SecretNames): string {
  return text.replace(TUPLE, (all: string, before: string, columns: string) =>
    columns.match(/\w+/g)?.some((name) => names.has(name)) ? before + MASK : all,
  );
}

/** Redacts by form. */
export function redactForms(text: string, forms: ReadonlySet<SecretForm>): string {
  let redacted = text.includes('://') ? text.replace(USER_INFO, maskUserInfo) : text;
  if (forms.has('bearer'))
    redacted = redacted
      .replace(BEARER, (all: string, scheme: string, token: string) =>
        isLikelyToken(token) ? scheme + MASK : all,
      )
      .replace(BASIC, (all: string, scheme: string, token: string) =>
        Buffer.from(token, 'base64').includes(':') ? scheme + MASK : all,
      );
  if (forms.has('jwt')) redacted = redactWebTokens(redacted);
  return forms.has('card') ? redacted.replace(CARD, (number) => (isCard(number) ? MASK : number)) : redacted;
}

/** Whether a number, with or without separators, is one of a card: by its issuer, length and check digit (ISO/IEC 7812-1). */
export function isCard(text: string): boolean {
  const digits = text.replaceAll('%20', '').replace(/\D/g, '');
  return ISSUERS.test(digits) && isLuhn(digits);
}

function isLuhn(digits: string): boolean {
  let sum = 0;
  for (let position = 0; position < digits.length; position++) {
    const digit = Number(digits[digits.length - 1 - position]);
    const weighted = position % 2 === 1 ? 2 * digit : digit;
    sum += weighted > 9 ? weighted - 9 : weighted;
  }
  return sum % 10 === 0;
}

/**
 * Redacts values behind an equals sign, which may be encoded, wherever they are.
 *
 * @param hasColons also those behind a colon, which a URL has for other reasons
 */
export function redactAssignments(text: string, names: SecretNames, hasColons = false): string {
  let redacted = '';
  let done = 0;
  NAME.lastIndex = 0;
  for (let match = NAME.exec(text); match !== null; match = NAME.exec(text)) {
    const [all, name = '', quote = '', separator = ''] = match;
    const isEncoded = separator.startsWith('%');
    const isColon = separator.includes(':');
    // `/v1/token:verify` is a path.
    if (isColon && (!hasColons || (quote === '' && text[match.index - 1] === '/'))) continue;
    if (!names.has(name)) continue;
    const start = match.index + all.length;
    const value = HEADER.test(name)
      ? findHeaderValue(text, start, isColon, name, text[match.index - 1] === "'")
      : findValue(text, start, isEncoded, isColon);
    NAME.lastIndex = Math.max(value.next, start);
    const found = text.slice(value.start, value.end);
    if (isNoValue(found) || isCount(name, found)) continue;
    redacted += text.slice(done, value.start) + MASK;
    done = value.end;
  }
  return done === 0 ? text : redacted + text.slice(done);
}

/** Whether a value is none, also with the punctuation of a sentence or a call behind it. */
function isNoValue(value: string): boolean {
  return value.length < 16 && NO_VALUES.has(value.replace(/[,;)\]}]+$/, ''));
}

/** Where a value begins and ends, and where the text goes on; quotes are no part of it. */
function findValue(text: string, start: number, isEncoded: boolean, isColon: boolean) {
  OPENING_QUOTE.lastIndex = start;
  const [opening = '', backslashes = '', quote = ''] = OPENING_QUOTE.exec(text) ?? [];
  if (opening !== '') {
    const first = start + opening.length;
    const end = findSameQuote(text, first, backslashes, quote);
    return { start: first, end, next: end + backslashes.length + quote.length };
  }
  return matchValue(
    text,
    start,
    isEncoded ? VALUES.encoded : isColon ? VALUES.afterColon : VALUES.afterEquals,
  );
}

/** The same for headers whose values have spaces: behind a colon the rest of the line, unless it is prose. */
function findHeaderValue(text: string, start: number, isColon: boolean, name: string, isQuoted: boolean) {
  const value = findValue(text, start, false, isColon);
  PROSE.lastIndex = start;
  if (isColon && PROSE.test(text)) return { start, end: start, next: start };
  if (value.start > start || isNoValue(text.slice(value.start, value.end))) return value;
  if (isColon) return matchValue(text, start, isQuoted ? VALUES.quotedHeader : VALUES.header);
  return matchValue(text, start, /cookie$/i.test(name) ? VALUES.cookie : VALUES.authorization);
}

function matchValue(text: string, start: number, pattern: RegExp) {
  pattern.lastIndex = start;
  const end = start + (pattern.exec(text)?.[0].length ?? 0);
  return { start, end, next: end };
}

/** The offset of the quote that closes one behind so many backslashes, with the backslashes; the end of the line if there is none. */
function findSameQuote(text: string, from: number, backslashes: string, quote: string): number {
  for (let at = text.indexOf(quote, from); at !== -1; at = text.indexOf(quote, at + 1)) {
    let before = 0;
    while (at - 1 - before >= from && text[at - 1 - before] === '\\') before++;
    const isClosing = backslashes === '' ? before % 2 === 0 : before <= backslashes.length;
    if (isClosing) return at - (backslashes === '' ? 0 : before);
  }
  // An apostrophe opens nothing, and a text that is cut off ends within a line, unless it is a key of several lines.
  if (text.startsWith('-----BEGIN', from)) return text.length;
  LINE.lastIndex = from;
  return from + (LINE.exec(text)?.[0].length ?? 0);
}

/** JSON Web Tokens, signed or encrypted: parts in Base64 of which the first is an object. */
function redactWebTokens(text: string): string {
  let redacted = '';
  let done = 0;
  for (let at = text.indexOf('eyJ'); at !== -1; at = text.indexOf('eyJ', at)) {
    TOKEN_TEXT.lastIndex = at;
    TOKEN_TEXT.exec(text);
    const end = TOKEN_TEXT.lastIndex;
    TOKEN_PARTS.lastIndex = end;
    const parts = TOKEN_PARTS.exec(text)?.[0] ?? '';
    if (end - at >= 10 && parts.length > 2) {
      redacted += text.slice(done, at) + MASK;
      done = end + parts.length;
    }
    // A later beginning within the same text would not be followed by other parts.
    at = end + parts.length;
  }
  return done === 0 ? text : redacted + text.slice(done);
}

function maskUserInfo(all: string, before: string, user: string): string {
  return user.includes(':') || user.length >= MIN_TOKEN ? before + MASK : all;
}

/** Prose may follow the word `bearer`. */
function isLikelyToken(text: string): boolean {
  return /\d/.test(text) || text.length >= MIN_TOKEN;
}

/** The text itself if it is not encoded. */
function decodeComponent(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
