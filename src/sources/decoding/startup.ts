import type { Steps } from '../../shared/async/slices.js';
import {
  type JsonObject,
  LenientReader,
  decodeObject,
  decodeText,
  explainFailure,
  objectDecoder,
  textDecoder,
} from '../../records/decoding/decoders.js';
import type { DescribedRoute } from '../../records/described-route.js';
import type { DimensionNames } from '../../records/names/name-registry.js';
import { sanitize, truncate } from '../../records/text.js';
import type { ApiDocument } from '../../write/batches/message.js';
import type { RejectedEntries } from '../../write/batches/rejected-entries.js';
import { createEnvName } from '../intake/create-message.js';
import { MAX_SUMMARY, decodeDocument, listOperations } from './api-document.js';
import { type EntryDecoder, parseList } from './lists.js';
import { normalizeRoutePattern } from './path-pattern.js';
import { decodeMethod } from './request-decoders.js';

/** Largest number of packages of an application, and longest name or version of a package. */
const MAX_VERSIONS = 100;
export const MAX_VERSION = 128;

/** What an application says of itself at its start, whatever the protocol. */
interface Startup {
  endpoints: DimensionNames[];
  /** Of its packages, by name. */
  versions: Record<string, string>;
  apiDocument: ApiDocument | null;
}

/**
 * Reads the members that start-up messages of all client libraries have: `paths`, `versions` and `openapi`.
 *
 * @throws InvalidRecordError if `paths` is not a list
 */
export function* readStartup(
  source: JsonObject,
  env: string,
  now: number,
  rejected: RejectedEntries,
): Steps<Startup> {
  const summaries: DescribedRoute[] = [];
  const decodeEndpoint: EntryDecoder<DimensionNames> = (value, name, reader) => {
    const route = decodeObject(value, name);
    const method = decodeMethod(route.method, `${name}.method`);
    const path = normalizeRoutePattern(decodeText(route.path, `${name}.path`));
    const summary = reader.read(route.summary, 'paths[].summary', textDecoder) ?? '';
    if (summary !== '') summaries.push({ method, path, summary: truncate(summary, MAX_SUMMARY) });
    return { ...createEnvName(env, now), method, path };
  };
  const endpoints = yield* parseList(source.paths, 'paths', decodeEndpoint, rejected);
  const { text, operations } = yield* readDocument(source.openapi, rejected);
  const routes = [...operations, ...summaries];
  const hasDocument = text !== '' || routes.length > 0;
  return {
    endpoints,
    versions: readVersions(source.versions, rejected),
    apiDocument: hasDocument ? { document: text, routes: JSON.stringify(routes) } : null,
  };
}

/** Versions by package; invalid ones are left out. */
function readVersions(value: unknown, rejected: RejectedEntries): Record<string, string> {
  const reader = new LenientReader();
  const versions: [string, string][] = [];
  for (const [name, version] of Object.entries(reader.read(value, 'versions', objectDecoder) ?? {})) {
    const text = reader.read(version, 'versions[]', textDecoder);
    if (text === null) continue;
    if (versions.length < MAX_VERSIONS)
      versions.push([truncate(sanitize(name), MAX_VERSION), truncate(text, MAX_VERSION)]);
    else reader.ignored.push('versions[]');
  }
  rejected.addMembers(reader.ignored);
  return Object.fromEntries(versions);
}

/** A document that is too large or no JSON object is left out, and the message is accepted without it. */
function* readDocument(
  value: unknown,
  rejected: RejectedEntries,
): Steps<{ text: string; operations: DescribedRoute[] }> {
  try {
    const decoded = decodeDocument(value);
    if (decoded) return { text: decoded.text, operations: yield* listOperations(decoded.document) };
  } catch (error) {
    rejected.warn(explainFailure(error, 'openapi'));
  }
  return { text: '', operations: [] };
}
