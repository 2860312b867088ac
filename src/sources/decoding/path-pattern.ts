import { convertRouteSyntax } from './route-syntax.js';
import { MAX_PATH } from '../../records/operation.js';
import { sanitize, truncate } from '../../records/text.js';

const AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;
/**
 * Segments that are a number, a UUID or long hex: with at least 16 digits they are 64-bit identifiers, object
 * IDs or digests, but not words (`decade`, `facade`).
 */
const PARAMETERS = /\/(?:\d+|[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?=\/|$)/gi;
/**
 * The extension of a static file (docs/contract.md#assets-and-health-checks): of scripts, styles, images,
 * fonts, media and archives.
 */
const STATIC_FILE = new RegExp(
  [
    String.raw`\.(m?js|cjs|jsx|wasm|map|css|less|scss|png|apng|jpe?g|gif|svgz?|webp|avif|jxl|ico|cur|bmp|tiff?|heic`,
    String.raw`woff2?|ttf|otf|eot|mp[34]|m4[av]|webm|og[agv]|opus|wav|flac|aac|mov|avi|mkv|wmv|flv|mpe?g|m3u8|mpd|ts|m4s`,
    String.raw`zip|gz|tgz|bz2|xz|zst|7z|rar|tar)(?:;[^/]*)?$`,
  ].join('|'),
  'i',
);

/**
 * The path of a URL, without decoding or normalization. Accepts all texts of logs and clients:
 * origin form (`/a?b`), absolute form (`http://host/a`), `*`, and text that is not a URL.
 */
export function extractPathname(url: string): string {
  const target = url.startsWith('/') ? url : url.replace(AUTHORITY, '');
  const end = target.search(/[?#]/);
  const path = end === -1 ? target : target.slice(0, end);
  return path === '*' || path.startsWith('/') ? path : `/${path}`;
}

/**
 * A target with its slash, whatever a client sent: what begins a cell of a spreadsheet must not be up to a
 * stranger.
 */
export function addSlash(target: string): string {
  return target.startsWith('/') || target === '*' || AUTHORITY.test(target) ? target : `/${target}`;
}

/**
 * The path pattern of a request without a route: the path of its URL, in which segments that are a number, a
 * UUID or at least 16 hex digits become `{id}`; at most 1,024 code points. All static files with the same
 * extension share one pattern, `/*.js`, because bundlers give each version of a file another name. Never
 * throws.
 */
export function inferPathPattern(url: string): string {
  const path = extractPathname(url);
  const extension = STATIC_FILE.exec(path)?.[1];
  if (extension !== undefined) return `/*.${extension.toLowerCase()}`;
  return truncate(sanitize(path.replace(PARAMETERS, '/{id}')), MAX_PATH);
}

/** Whether an inferred pattern is the pattern of static files. */
export function isStaticFilePattern(path: string): boolean {
  return path.startsWith('/*.') && STATIC_FILE.test(path);
}

/**
 * The path pattern of a route in the spelling of its framework: every parameter in braces, at most 1,024 code
 * points. Never throws.
 */
export function normalizeRoutePattern(path: string): string {
  return truncate(convertRouteSyntax(truncate(sanitize(path), MAX_PATH)), MAX_PATH);
}
