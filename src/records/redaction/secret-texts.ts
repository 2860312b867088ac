import type { SecretForm } from '../../config/redaction.js';
import type { Edits } from './edits.js';
import { isNoValue, isSecretValue } from './named-values.js';
import type { SecretNames } from './secret-names.js';

/** Every secret of a form contains one of its hints, in any case. */
export const FORM_HINTS: Readonly<Record<SecretForm, readonly string[]>> = {
  bearer: ['bearer', 'basic'],
  jwt: ['eyJ'],
  card: ['\\d(?:(?:[ +-]|%20)?\\d){12}'],
};
/**
 * Hints of other texts with secrets: a user and a password in a URL, whose slashes JSON may escape, and texts
 * with their own structure.
 */
export const TEXT_HINTS = [':(?:\\\\{0,8}/){2}[^/?#\\s]{1,512}@', 'identified'];

/*
 * Every pattern takes time linear in the text: its repetitions are bounded, or start where no earlier
 * character could be part of it.
 */

/**
 * The beginning of a field of a form with several parts: its name, further parameters, up to four more
 * headers.
 */
const FIELD = new RegExp(
  String.raw`\bname=(?:"([^"\r\n]{1,128})"|([^"\s;]{1,128}))(?:;[^\r\n]{0,256})?\r?\n(?:[^\r\n]{1,256}\r?\n){0,4}\r?\n`,
  'g',
);
const FIELD_END = /\r?\n--/g;
/**
 * A violated constraint of PostgreSQL: `Key (id, token)=(1, …) already exists.`; the words and quotes around
 * it are translated. Names have no asterisks, as masks do.
 */
const TUPLE = /(\(([^()*\r\n]{1,256})\)=\()([^\r\n]*?)(?=\)(?!\w)|[\r\n]|$)/g;
const SQL_HINT = /identified|password\s{1,4}["']/i;
/** `IDENTIFIED WITH plugin BY` */
const IDENTIFIED = String.raw`identified\s{1,4}(?:with\s{1,4}\w{1,64}\s{1,4})?(?:by|as)(?:\s{1,4}password)?`;
/** The words before `PASSWORD` in a statement about a role. */
const ROLE_OPTION = String.raw`with|by|set|encrypted|(?:no)?(?:login|superuser|createdb|createrole|inherit|replication)`;
const SQL_TEXT = String.raw`'((?:[^'\\]|\\[^]|''){1,1024})|"((?:[^"\\]|\\[^]){1,1024})`;
/** A password in a statement of SQL. */
const SQL_PASSWORD = new RegExp(
  String.raw`\b(?:${IDENTIFIED}|(?:${ROLE_OPTION}|(?:user|role)\s{1,4}\S{1,64})\s{1,4}password)\s{1,4}(?:${SQL_TEXT})`,
  'gi',
);
/** The beginning of a private key (PEM, RFC 7468). */
const PRIVATE_KEY = /-----BEGIN\s[A-Z0-9\s]{0,32}PRIVATE\sKEY(?:\sBLOCK)?-----/g;
const KEY_END = '-----END';
/** A key without an end marker: its headers, then Base64, with line breaks that may be escaped. */
const KEY_TEXT = /(?:\s{0,4}[\w-]{1,32}: [^\r\n\\]{1,128}){0,4}[\w+/=\s\\%]*/y;
/** Shorter texts are words. */
const MIN_KEY = 32;
/** Shorter texts are words or names. */
const MIN_TOKEN = 20;
/** Up to the last `@`, as URL parsers do, because passwords can contain `@`. */
const USER_INFO = /:\/\/([^\s/?#"<>]{1,512})(?=@)/g;
const BEARER_HINT = /bearer|basic/i;
/** Also matches items of `Sec-WebSocket-Protocol`. */
const BEARER = new RegExp(
  String.raw`\bbearer(?:[\s+,]{1,4}|\.authorization\.k8s\.io\.)([\w.~+/=-]{8,})`,
  'gi',
);
const BASIC = new RegExp(String.raw`\bbasic[\s+]{1,4}([A-Za-z0-9+/]{6,}={0,2})`, 'gi');
const TOKEN_TEXT = /[\w-]*/y;
const TOKEN_PARTS = /(?:\.[\w-]*){1,4}/y;
const CARD =
  /(?<![\w.])(?:\d{13,19}|\d{4}([ +-])\d{4}\1\d{4}\1\d{1,7}|3\d{3}([ +-])\d{6}\2\d{4,5})(?!\w|[.+-]\d)/g;
/** Issuers of cards and the lengths of their numbers. A number of another issuer is an ID. */
const ISSUERS =
  /^(?:4\d{12}(?:\d{3}){0,2}|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3(?:0[0-5]|[689])\d{11,16}|(?:6011|65|64[4-9]|62|35)\d{12,17}|(?:50|5[6-8]|6[37])\d{11,17})$/;

/**
 * Finds values in texts with a structure of their own: forms of several parts, constraints and statements of
 * SQL, keys.
 */
export function findInStructures(text: string, names: SecretNames, found: Edits): void {
  if (text.includes('name=')) findInFields(text, names, found);
  if (text.includes(')=('))
    findEnds(text, TUPLE, found, ([, , columns = '', values = '']) =>
      // A value may contain a comma, so all values are masked.
      columns.match(/\w+/g)?.some((name) => names.has(name)) ? values : '',
    );
  if (text.includes('-----BEGIN')) findPrivateKeys(text, found);
  if (SQL_HINT.test(text)) findEnds(text, SQL_PASSWORD, found, ([, single, double = '']) => single ?? double);
}

/** Finds secrets by form. */
export function findForms(text: string, forms: ReadonlySet<SecretForm>, found: Edits): void {
  if (text.includes('://'))
    findEnds(text, USER_INFO, found, ([, user = '']) =>
      user.includes(':') || user.length >= MIN_TOKEN ? user : '',
    );
  if (forms.has('bearer') && BEARER_HINT.test(text)) {
    findEnds(text, BEARER, found, ([, token = '']) => (isLikelyToken(token) ? token : ''));
    findEnds(text, BASIC, found, ([, token = '']) =>
      Buffer.from(token, 'base64').includes(':') ? token : '',
    );
  }
  if (forms.has('jwt')) findWebTokens(text, found);
  if (forms.has('card')) findEnds(text, CARD, found, ([number]) => (isCard(number) ? number : ''));
}

/**
 * Whether a number, with or without separators, is a card number: by its issuer, length and check digit
 * (ISO/IEC 7812-1).
 */
export function isCard(text: string): boolean {
  const digits = text.replace(/\D/g, '');
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
 * Masks the ends of matches.
 *
 * @param findValue returns the secret at the end of a match; empty if there is none
 */
function findEnds(
  text: string,
  pattern: RegExp,
  found: Edits,
  findValue: (match: RegExpExecArray) => string,
): void {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const value = findValue(match);
    const end = pattern.lastIndex;
    if (!isNoValue(value)) found.add(end - value.length, end);
  }
}

/** A value ends before the delimiter of the next part. */
function findInFields(text: string, names: SecretNames, found: Edits): void {
  FIELD.lastIndex = 0;
  for (let field = FIELD.exec(text); field !== null; field = FIELD.exec(text)) {
    const name = field[1] ?? field[2] ?? '';
    const start = FIELD.lastIndex;
    FIELD_END.lastIndex = start;
    const end = FIELD_END.exec(text)?.index ?? text.length;
    FIELD.lastIndex = end;
    if (names.has(name) && isSecretValue(name, text.slice(start, end))) found.add(start, end);
  }
}

function findPrivateKeys(text: string, found: Edits): void {
  let hasEnd = true;
  PRIVATE_KEY.lastIndex = 0;
  while (PRIVATE_KEY.test(text)) {
    const start = PRIVATE_KEY.lastIndex;
    const closed: number = hasEnd ? text.indexOf(KEY_END, start) : -1;
    hasEnd = closed !== -1;
    KEY_TEXT.lastIndex = start;
    KEY_TEXT.test(text);
    const end = hasEnd ? closed : KEY_TEXT.lastIndex;
    if (end - start >= MIN_KEY) found.add(start, end);
    PRIVATE_KEY.lastIndex = end;
  }
}

/** JSON Web Tokens, signed or encrypted: parts in Base64, and the first part is an object. */
function findWebTokens(text: string, found: Edits): void {
  for (let at = text.indexOf('eyJ'); at !== -1; at = text.indexOf('eyJ', at)) {
    TOKEN_TEXT.lastIndex = at;
    TOKEN_TEXT.test(text);
    const first = TOKEN_TEXT.lastIndex;
    TOKEN_PARTS.lastIndex = first;
    const end = TOKEN_PARTS.test(text) ? TOKEN_PARTS.lastIndex : first;
    if (first - at >= 10 && end - first > 2) found.add(at, end);
    // A later start within the same text would lack the other parts.
    at = end;
  }
}

/** Prose may follow the word `bearer`. */
function isLikelyToken(text: string): boolean {
  return /\d/.test(text) || text.length >= MIN_TOKEN;
}
