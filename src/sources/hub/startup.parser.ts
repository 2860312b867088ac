import type { Steps } from '../../shared/async/slices.js';
import {
  type JsonObject,
  LenientReader,
  decodeObject,
  decodeText,
  objectDecoder,
  textDecoder,
} from '../../records/decoding/decoders.js';
import { normalizeRoutePattern } from '../decoding/path-pattern.js';
import { decodeMethod } from '../decoding/request-decoders.js';
import { sanitize, truncate } from '../../records/text.js';
import type { DimensionNames } from '../../records/names/name-registry.js';
import type { Message, MessageContext } from '../../write/batches/message.js';
import { RejectedEntries } from '../../write/batches/rejected-entries.js';
import { getField } from './hub-fields.js';
import { createEnvName } from '../intake/create-message.js';
import { parseJsonMessage } from './json-message.js';
import { type EntryDecoder, parseList, requireAccepted } from '../decoding/lists.js';

const MAX_FRAMEWORK = 64;
/** Largest number of packages of an application, and longest name or version of a package. */
const MAX_VERSIONS = 100;
const MAX_VERSION = 128;

/**
 * `startup`: the report of an application at its start. Its endpoints are registered, its framework is
 * derived from `client` (`js:express`), and the versions of its packages are stored.
 *
 * @throws InvalidRecordError if the message is invalid
 */
export function parseStartup(body: Buffer, context: MessageContext): Steps<Message> {
  return parseJsonMessage(body, context, decodeStartup);
}

function* decodeStartup(source: JsonObject, { env, now }: MessageContext): Steps<Partial<Message>> {
  const endpoint: EntryDecoder<DimensionNames> = (value, name) => {
    const { method, path } = decodeObject(value, name);
    return {
      env,
      method: decodeMethod(method, `${name}.method`),
      path: normalizeRoutePattern(decodeText(path, `${name}.path`)),
      consumer: null,
      timestamp: now,
    };
  };
  const rejected = new RejectedEntries();
  const endpoints = yield* parseList(getField(source, 'paths'), 'paths', endpoint, rejected);
  requireAccepted(rejected, endpoints.length);
  const reader = new LenientReader();
  const client = reader.read(source.client, 'client', textDecoder) ?? '';
  const report = {
    timestamp: now,
    cpu_percent: null,
    memory_rss: null,
    client: truncate(client, MAX_VERSION),
    versions: readVersions(source.versions, reader),
  };
  rejected.addMembers(reader.ignored);
  return {
    names: [createEnvName(env, now), ...endpoints],
    framework: parseFramework(client),
    report,
    rejected,
  };
}

/** Versions by package; invalid ones are left out. */
function readVersions(value: unknown, reader: LenientReader): Record<string, string> {
  const versions: [string, string][] = [];
  for (const [name, version] of Object.entries(reader.read(value, 'versions', objectDecoder) ?? {})) {
    const text = reader.read(version, 'versions[]', textDecoder);
    if (text === null) continue;
    if (versions.length < MAX_VERSIONS)
      versions.push([truncate(sanitize(name), MAX_VERSION), truncate(text, MAX_VERSION)]);
    else reader.ignored.push('versions[]');
  }
  return Object.fromEntries(versions);
}

/** The part of `js:express` after the language; null if there is none. */
function parseFramework(client: string): string | null {
  const name = client.slice(client.indexOf(':') + 1).trim();
  return name === '' ? null : truncate(name, MAX_FRAMEWORK);
}
