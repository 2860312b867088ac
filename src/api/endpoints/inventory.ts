import type { Steps } from '../../shared/async/slices.js';
import { type DescribedRoute, toTemplateKey } from '../../records/described-route.js';
import type { DocumentedOperation, Endpoint, InventoryMembers } from './endpoints.dto.js';

/** An endpoint with its requests, and what its responses said of its end. */
export type InventoryRow = Pick<Endpoint, 'id' | 'method' | 'path'> &
  Pick<InventoryMembers, 'deprecated' | 'sunset' | 'last_request_at' | 'requests_30d' | 'consumers_30d'>;

export interface Inventory {
  endpoints: Endpoint[];
  neverCalled: DocumentedOperation[];
}

/** Further segments of a server's path do not count. */
const MAX_SEGMENTS = 8;
const NOT_DESCRIBED = { operation_id: null, summary: null, tags: [], deprecated: false, sunset: null };

/**
 * Compares the endpoints of an app with what its documents describe, whatever parameters are called there. If
 * several documents describe a route, the first one counts.
 *
 * @param excluded IDs of endpoints whose requests are not shown
 */
export function* buildInventory(
  rows: readonly InventoryRow[],
  documents: readonly (readonly DescribedRoute[])[],
  excluded: ReadonlySet<number>,
): Steps<Inventory> {
  const beginnings = listBeginnings(rows);
  const operations = new Map<string, DocumentedOperation>();
  const summaries = new Map<string, string>();
  /** The keys of each operation, which has several if its servers have several paths. */
  const keys = new Map<DocumentedOperation, string[]>();
  for (const { method, path, summary, operation } of documents.flat()) {
    yield;
    if (!operation) {
      if (summary !== null) summaries.set(toKey(method, path), summary);
      continue;
    }
    const { bases, operation_id, tags, deprecated, sunset } = operation;
    const paths = choosePaths(bases, path, beginnings);
    const [shown = path] = paths;
    const documented = { method, path: shown, operation_id, summary, tags, deprecated, sunset };
    const routeKeys = paths.map((route) => toKey(method, route)).filter((key) => !operations.has(key));
    for (const key of routeKeys) operations.set(key, documented);
    if (routeKeys.length > 0) keys.set(documented, routeKeys);
  }
  const called = new Set<string>();
  const endpoints: Endpoint[] = [];
  for (const row of rows) {
    yield;
    const { id, method, path, deprecated, sunset, last_request_at, requests_30d, consumers_30d } = row;
    const key = toKey(method, path);
    if (last_request_at !== null || excluded.has(id)) called.add(key);
    const operation = operations.get(key);
    const { operation_id, tags, ...described } = operation ?? NOT_DESCRIBED;
    endpoints.push({
      id,
      method,
      path,
      documented: operations.size === 0 ? null : operation !== undefined,
      operation_id,
      summary: described.summary ?? summaries.get(key) ?? null,
      tags,
      deprecated: deprecated || described.deprecated,
      sunset: sunset ?? described.sunset,
      last_request_at,
      requests_30d,
      consumers_30d,
    });
  }
  const neverCalled = [...keys].flatMap(([operation, routeKeys]) =>
    routeKeys.some((key) => called.has(key)) ? [] : operation,
  );
  return { endpoints, neverCalled: neverCalled.sort(compareRoutes) };
}

function toKey(method: string, path: string): string {
  return `${method} ${toTemplateKey(path)}`;
}

/**
 * The paths of an operation with those of its servers below which the app has an endpoint. If it has none
 * below any, a proxy takes the path of the server away.
 */
function choosePaths(bases: readonly string[], path: string, beginnings: ReadonlySet<string>): string[] {
  const met = bases.filter((base) => base === '' || beginnings.has(toTemplateKey(base)));
  const chosen = met.length > 0 ? met : beginnings.size > 0 ? [''] : bases.slice(0, 1);
  return chosen.map((base) => base + path);
}

/** The paths of endpoints, and their beginnings up to a slash. */
function listBeginnings(rows: readonly InventoryRow[]): Set<string> {
  const beginnings = new Set<string>();
  for (const { path } of rows) {
    const key = toTemplateKey(path);
    beginnings.add(key);
    for (let slash = key.indexOf('/', 1), n = 1; slash !== -1 && n <= MAX_SEGMENTS; n++) {
      beginnings.add(key.slice(0, slash));
      slash = key.indexOf('/', slash + 1);
    }
  }
  return beginnings;
}

/** By path and then method, by code point as the store does. */
function compareRoutes(a: DocumentedOperation, b: DocumentedOperation): number {
  return Buffer.from(a.path).compare(Buffer.from(b.path)) || (a.method < b.method ? -1 : 1);
}
