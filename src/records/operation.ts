import { truncate } from './text.js';

/** Code points of a path pattern: the limit of the `path` filter (docs/contract.md#limits). */
export const MAX_PATH = 1024;

/** Between the pattern of an endpoint and an operation in it; no pattern of a URL's path has it. */
const SEPARATOR = '#';

/**
 * The path pattern with the operation of the request: `/mcp#tools/call/get_weather`. Unchanged without a
 * route, and if it has an operation.
 */
export function addOperation(path: string | null, operation: string | null): string | null {
  if (path === null || operation === null || path.includes(SEPARATOR)) return path;
  return truncate(`${path}${SEPARATOR}${operation}`, MAX_PATH);
}

export function hasOperation(path: string | null): path is string {
  return path?.includes(SEPARATOR) ?? false;
}

/** The path pattern without its operation. */
export function removeOperation(path: string): string {
  const at = path.indexOf(SEPARATOR);
  return at === -1 ? path : path.slice(0, at);
}
