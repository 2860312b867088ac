import { isIP } from 'node:net';

/** What stands where a character could not be kept. */
const REPLACEMENT = '\uFFFD';

/** Code points of a URL, those of a whole request target included. */
export const MAX_URL = 65_536;

/** Longest text of an address: IPv6 with an IPv4 tail, and some room for a zone. */
const MAX_ADDRESS = 64;
/** An address in brackets or IPv4, with the port that some proxies append. */
const WITH_PORT = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d+)?$/;
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

/** The text without blanks around it, at most `max` Unicode code points, so that trimming and cutting it again changes nothing. */
export function trimAndCut(text: string, max: number): string {
  return cut(text.trim(), max).trimEnd();
}

/** Whether the text has more than `max` Unicode code points. */
export function exceeds(text: string, max: number): boolean {
  return text.length > max && cut(text, max).length < text.length;
}

/** The text when it is an IPv4 or IPv6 address; null when it is anything else, such as a host name or `-`. */
export function addressOf(text: string): string | null {
  return text.length <= MAX_ADDRESS && isIP(text) !== 0 ? text : null;
}

/** The address in a text such as `203.0.113.7:443` or `[2001:db8::7]:443`; null when there is none. */
export function parseAddress(text: string): string | null {
  const match = WITH_PORT.exec(text);
  return addressOf(match?.[1] ?? match?.[2] ?? text);
}

/** The method in upper case; null when it is none that is accepted. */
export function methodOf(text: string): string | null {
  return METHOD.test(text) ? text.toUpperCase() : null;
}
