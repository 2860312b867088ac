import type { Steps } from '../../shared/async/slices.js';
import { stringifyExact } from '../../shared/json/exact-json.js';
import { parseJson } from '../../shared/json/parse-json.js';
import {
  InvalidRecordError,
  type JsonObject,
  decodeObject,
  isAbsent,
  objectDecoder,
} from '../../records/decoding/decoders.js';
import type { DescribedRoute } from '../../records/described-route.js';
import { hasMoreValues } from '../../records/limits.js';
import { normalizeMethod, sanitize, truncate } from '../../records/text.js';
import { extractPathname, normalizeRoutePattern } from './path-pattern.js';

/** Longest document in bytes, and largest number of its values: it is parsed in one step. */
export const MAX_DOCUMENT = 4 * 1024 * 1024;
const MAX_DOCUMENT_VALUES = 400_000;
/** Largest number of its operations, and of their characters as JSON. */
const MAX_OPERATIONS = 10_000;
const MAX_OPERATIONS_CHARACTERS = 2 * 1024 * 1024;
/** Longest summary, ID of an operation and tag; longer ones are cut. */
export const MAX_SUMMARY = 256;
const MAX_TAGS = 20;
const MAX_SERVERS = 10;
/** Path items that refer to one another; more are a circle. */
const MAX_REFERENCES = 10;

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query'];
const VARIABLE = /\{([^{}]*)\}/g;
const DATE = /^\d{4}-\d\d-\d\d(?:T|$)/;

/** @param value an object, its JSON text, or a JSON string with that text */
export function decodeDocument(value: unknown): { text: string; document: JsonObject } | null {
  const json = typeof value === 'string' ? value : isAbsent(value) ? '' : stringifyExact(value);
  const text = sanitize(json.startsWith('"') ? String(JSON.parse(json)) : json);
  if (text === '' || text === 'null') return null;
  if (Buffer.byteLength(text) > MAX_DOCUMENT)
    throw new InvalidRecordError(`openapi: must have at most ${MAX_DOCUMENT} bytes`);
  if (hasMoreValues(text, MAX_DOCUMENT_VALUES))
    throw new InvalidRecordError(`openapi: must have at most ${MAX_DOCUMENT_VALUES} values`);
  return { text, document: decodeObject(parseJson(text), 'openapi') };
}

/**
 * The operations of an OpenAPI document (2.0, 3.0, 3.1 or 3.2), in its order. What has a wrong type is left
 * out, and so are path items in other files.
 *
 * @param withoutOperations gets the paths that have none
 * @throws InvalidRecordError if there are too many
 */
export function* listOperations(
  document: JsonObject,
  withoutOperations: string[] = [],
): Steps<DescribedRoute[]> {
  const routes: DescribedRoute[] = [];
  const bases = listBases(
    // Swagger 2.0
    typeof document.basePath === 'string' ? [{ url: document.basePath }] : document.servers,
    [''],
  );
  let characters = 0;
  for (const [template, value] of Object.entries(toObject(document.paths))) {
    yield;
    const before = routes.length;
    const item = resolveItem(document, value);
    const operations = [
      ...METHODS.map((method) => [method, item[method]] as const),
      ...Object.entries(toObject(item.additionalOperations)),
    ];
    const path = normalizeRoutePattern(template);
    const basesOfItem = listBases(item.servers, bases);
    for (const [name, found] of operations) {
      const method = normalizeMethod(name);
      const operation = objectDecoder.decode(found);
      if (method === null || !operation || !template.startsWith('/')) continue;
      const route = describe(operation, method, path, basesOfItem);
      routes.push(route);
      characters += JSON.stringify(route).length;
      if (routes.length > MAX_OPERATIONS || characters > MAX_OPERATIONS_CHARACTERS)
        throw new InvalidRecordError(
          `openapi: must have at most ${MAX_OPERATIONS} operations with ${MAX_OPERATIONS_CHARACTERS} characters`,
        );
    }
    if (routes.length === before) withoutOperations.push(template);
  }
  return routes;
}

function describe(operation: JsonObject, method: string, path: string, bases: string[]): DescribedRoute {
  const { 'x-sunset': sunset, tags } = operation;
  return {
    method,
    path,
    summary: toText(operation.summary),
    operation: {
      bases: listBases(operation.servers, bases),
      operation_id: toText(operation.operationId),
      tags: (Array.isArray(tags) ? tags : []).slice(0, MAX_TAGS).flatMap((tag) => toText(tag) ?? []),
      deprecated: operation.deprecated === true,
      sunset: typeof sunset === 'string' ? toTime(sunset) : null,
    },
  };
}

/** The path item behind its references; what stands beside a reference counts as well. */
function resolveItem(document: JsonObject, value: unknown): JsonObject {
  let item = toObject(value);
  for (let count = 0; typeof item.$ref === 'string'; count++) {
    if (count === MAX_REFERENCES) return {};
    const { $ref, ...beside } = item;
    item = { ...toObject(findByPointer(document, $ref)), ...beside };
  }
  return item;
}

/** What a JSON pointer of this document names, such as `#/components/pathItems/User`. */
function findByPointer(document: JsonObject, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined;
  let found: unknown = document;
  for (const step of reference.slice(2).split('/')) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    const parent = toObject(found);
    found = Object.hasOwn(parent, name) ? parent[name] : undefined;
  }
  return found;
}

/** The paths of servers with the defaults of their variables; those above if there are none. */
function listBases(servers: unknown, above: string[]): string[] {
  const bases = (Array.isArray(servers) ? servers.slice(0, MAX_SERVERS) : []).flatMap((server) => {
    const { url, variables } = toObject(server);
    if (typeof url !== 'string') return [];
    const filled = url.replaceAll(VARIABLE, (variable, name: string) => {
      const { default: value } = toObject(toObject(variables)[name]);
      return typeof value === 'string' ? value : variable;
    });
    return normalizeRoutePattern(extractPathname(filled)).replace(/\/+$/, '');
  });
  return bases.length > 0 ? [...new Set(bases)] : above;
}

function toObject(value: unknown): JsonObject {
  return objectDecoder.decode(value) ?? {};
}

function toText(value: unknown): string | null {
  return typeof value === 'string' ? truncate(sanitize(value), MAX_SUMMARY) : null;
}

function toTime(text: string): string | null {
  const time = DATE.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
