import { isIP } from 'node:net';

/** What stands where a character could not be kept. */
const REPLACEMENT = '\uFFFD';

/** Code points of a URL, those of a whole request target included. */
export const MAX_URL = 65_536;

/** Longest text of an address: IPv6 with an IPv4 tail, and some room for a zone. */
const MAX_ADDRESS = 64;

/**
 * The text as every store and every JSON reader can take it: a lone surrogate, which UTF-8 cannot carry, and NUL,
 * which many databases refuse, become U+FFFD.
 */
export function clean(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', REPLACEMENT) : text).toWellFormed();
}

/** The text, or its first `max` Unicode code points. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  return Array.from(text.slice(0, 2 * max))
    .slice(0, max)
    .join('');
}

/** Whether the text has more than `max` Unicode code points. */
export function exceeds(text: string, max: number): boolean {
  return text.length > max && cut(text, max).length < text.length;
}

/** The text when it is an IPv4 or IPv6 address; null when it is anything else, such as a host name or `-`. */
export function addressOf(text: string): string | null {
  return text.length <= MAX_ADDRESS && isIP(text) !== 0 ? text : null;
}

/** The method in upper case, or null when it is not 1 to 16 letters, hyphens or underscores. */
export function methodOf(text: string): string | null {
  return /^[A-Za-z][A-Za-z_-]{0,15}$/.test(text) ? text.toUpperCase() : null;
}
