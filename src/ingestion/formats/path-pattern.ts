import { convertRouteSyntax } from './route-syntax.js';
import { sanitize, truncate } from './text.js';

/** Code points of a path pattern: the limit of the `path` filter (docs/contract.md#limits). */
export const MAX_PATH = 1024;

const PARAMETER = '{id}';
const AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;
const NUMBER = /^\d+$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** From 16 digits on: 64-bit identifiers, object IDs and digests, but not words (`decade`, `facade`). */
const LONG_HEX = /^[0-9a-f]{16,}$/i;

/**
 * The path of a URL, without decoding or normalization. Accepts all texts of logs and clients:
 * origin form (`/a?b`), absolute form (`http://host/a`), `*`, and text that is not a URL.
 */
export function extractPathname(url: string): string {
  const target = url.replace(AUTHORITY, '');
  const end = target.search(/[?#]/);
  const path = end === -1 ? target : target.slice(0, end);
  return path === '*' || path.startsWith('/') ? path : `/${path}`;
}

/**
 * The path pattern of a request without one: the path of its URL, in which segments that are a number, a
 * UUID or at least 16 hex digits become `{id}`; at most 1,024 code points. Never throws.
 */
export function inferPathPattern(url: string): string {
  return truncate(sanitize(extractPathname(url).split('/').map(generalizeSegment).join('/')), MAX_PATH);
}

/**
 * The path pattern of a route as its framework spells it: every parameter in braces, at most 1,024 code points.
 * Never throws.
 */
export function normalizeRoutePattern(path: string): string {
  return truncate(convertRouteSyntax(truncate(sanitize(path), MAX_PATH)), MAX_PATH);
}

function generalizeSegment(segment: string): string {
  return NUMBER.test(segment) || UUID.test(segment) || LONG_HEX.test(segment) ? PARAMETER : segment;
}
