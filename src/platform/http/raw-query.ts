import type { NextFunction, Request, Response } from 'express';

/**
 * The query of a request target by decoded name, parsed without the framework; each value is still escaped.
 * The last value of a repeated name wins. Brackets and `__proto__` are ordinary names. A name that cannot be
 * decoded matches no parameter and is left out.
 *
 * @param target the request target as it arrived, `request.originalUrl`
 */
export function parseRawQuery(target: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const pair of extractQuery(target).split('&')) {
    const end = pair.indexOf('=');
    const name = decodeQueryText(end < 0 ? pair : pair.slice(0, end));
    if (name) values.set(name, end < 0 ? '' : pair.slice(end + 1));
  }
  return values;
}

/**
 * The path parameters of a request target by name; each value is still escaped, because Express rejects a
 * malformed value without naming the parameter.
 *
 * @param pattern the path of the matched route, `/v1/apps/:app_id/endpoints`
 */
export function parseRawPath(pattern: string, target: string): Map<string, string> {
  const [path = ''] = originForm(target).split(/[?#]/, 1);
  const segments = path.split('/');
  const values = new Map<string, string>();
  pattern.split('/').forEach((part, index) => {
    if (part.startsWith(':')) values.set(part.slice(1), segments[index] ?? '');
  });
  return values;
}

/** Decodes a raw query value, with `+` as space; undefined if it is malformed: a stray `%`, or not UTF-8. */
export function decodeQueryText(raw: string): string | undefined {
  return decodePathText(raw.includes('+') ? raw.replaceAll('+', ' ') : raw);
}

/** Decodes a raw path segment; undefined if it is malformed: a stray `%`, or not UTF-8. */
export function decodePathText(raw: string): string | undefined {
  if (!raw.includes('%')) return raw;
  try {
    return decodeURIComponent(raw);
  } catch {
    return undefined;
  }
}

/**
 * Middleware that normalizes the request target. It escapes malformed path segments, because Express would
 * respond 400 before the API key and the other parameters are checked, and it removes the host of the
 * absolute form. `originalUrl` stays unchanged.
 */
export function normalizeRequestTarget(request: Request, _response: Response, next: NextFunction) {
  request.url = escapeMalformed(originForm(request.url));
  next();
}

/**
 * Middleware that makes a path with further slashes that of its operation: a sender joins the address of the
 * collector and a path, and either may have a slash too many.
 */
export function mergeSlashes(request: Request, _response: Response, next: NextFunction) {
  const target = originForm(request.url);
  const end = target.search(/[?#]/);
  const path = end < 0 ? target : target.slice(0, end);
  const merged = path.replaceAll(/\/{2,}/g, '/');
  request.url = (merged.length > 1 ? merged.replace(/\/$/, '') : merged) + target.slice(path.length);
  next();
}

/** A proxy may send the absolute form, `http://host/path?query` (RFC 9112, section 3.2.2). */
export function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const rest = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  return rest === target || rest.startsWith('/') ? rest : `/${rest}`;
}

/** The URL; each path segment that cannot be decoded is escaped once more. */
export function escapeMalformed(url: string): string {
  const end = url.search(/[?#]/);
  const path = end < 0 ? url : url.slice(0, end);
  if (decodePathText(path) !== undefined) return url;
  const segments = path
    .split('/')
    .map((segment) => (decodePathText(segment) === undefined ? segment.replaceAll('%', '%25') : segment));
  return segments.join('/') + url.slice(path.length);
}

function extractQuery(target: string): string {
  const [upToFragment = ''] = target.split('#', 1);
  const start = upToFragment.indexOf('?');
  return start < 0 ? '' : upToFragment.slice(start + 1);
}
