/** Replaces a character that cannot be stored. */
const REPLACEMENT = '\uFFFD';

/** Code points of a URL, including a whole request target. */
export const MAX_URL = 65_536;

/** The method of requests whose method an OpenTelemetry SDK does not know, by the semantic conventions. */
export const OTHER_METHOD = '_OTHER';
/**
 * Accepted methods: RFC 9110 allows any token; every registered one consists of at most 17 letters and
 * hyphens. Digits and underscores occur in custom methods.
 */
const METHOD = /^(?:[A-Za-z][A-Za-z0-9_-]{0,31}|_OTHER)$/;
/** The rule for methods, as text of an error message. */
export const METHOD_RULE = 'must be a letter and up to 31 letters, digits, hyphens or underscores';

/** Replaces lone surrogates, which UTF-8 cannot encode, and NUL, which many databases reject, by U+FFFD. */
export function sanitize(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', REPLACEMENT) : text).toWellFormed();
}

/** The text, or its first `max` Unicode code points. */
export function truncate(text: string, max: number): string {
  if (text.length <= max) return text;
  let end = 0;
  for (let points = 0; points < max && end < text.length; points++)
    end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  // A copy: a slice would keep the whole text in memory.
  return end === text.length ? text : Buffer.from(text.slice(0, end), 'utf16le').toString('utf16le');
}

/** The trimmed text, at most `max` Unicode code points; idempotent. */
export function trimAndTruncate(text: string, max: number): string {
  return truncate(text.trim(), max).trimEnd();
}

/** Whether the text has more than `max` Unicode code points. */
export function isLongerThan(text: string, max: number): boolean {
  return text.length > max && truncate(text, max).length < text.length;
}

/** The method in upper case; null if it is not accepted. */
export function normalizeMethod(text: string): string | null {
  return METHOD.test(text) ? text.toUpperCase() : null;
}
