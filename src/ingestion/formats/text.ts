/** What stands where a character could not be kept. */
const REPLACEMENT = '\uFFFD';

/** Code points of a URL, those of a whole request target included. */
export const MAX_URL = 65_536;

/**
 * Methods that are accepted: RFC 9110 allows any token; every registered one consists of letters and hyphens, of 17 at
 * most. Digits and underscores occur in methods of one's own.
 */
const METHOD = /^[A-Za-z][A-Za-z0-9_-]{0,31}$/;
/** The rule that a method breaks, as an error message says it. */
export const METHOD_RULE = 'must be a letter and up to 31 letters, digits, hyphens or underscores';

/**
 * The text as every store and every JSON reader can take it: a lone surrogate, which UTF-8 cannot carry, and NUL,
 * which many databases refuse, become U+FFFD.
 */
export function sanitize(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', REPLACEMENT) : text).toWellFormed();
}

/** The text, or its first `max` Unicode code points. */
export function truncate(text: string, max: number): string {
  if (text.length <= max) return text;
  return Array.from(text.slice(0, 2 * max))
    .slice(0, max)
    .join('');
}

/** The text without blanks around it, at most `max` Unicode code points, so that trimming and cutting it again changes nothing. */
export function trimAndTruncate(text: string, max: number): string {
  return truncate(text.trim(), max).trimEnd();
}

/** Whether the text has more than `max` Unicode code points. */
export function isLongerThan(text: string, max: number): boolean {
  return text.length > max && truncate(text, max).length < text.length;
}

/** The method in upper case; null when it is none that is accepted. */
export function normalizeMethod(text: string): string | null {
  return METHOD.test(text) ? text.toUpperCase() : null;
}
