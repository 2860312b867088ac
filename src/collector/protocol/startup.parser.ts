import {
  LenientReader,
  type Members,
  asObject,
  asText,
  objectDecoder,
  textDecoder,
} from '../../ingestion/formats/decoders.js';
import { toBraces } from '../../ingestion/formats/path-pattern.js';
import { asMethod } from '../../ingestion/formats/request-decoders.js';
import { clean, cut } from '../../ingestion/formats/text.js';
import type { Named } from '../../ingestion/names/name-registry.js';
import type { Message, MessageContext } from '../message.js';
import { memberOf } from './hub-fields.js';
import { messageOf } from './json-message.js';
import { type EntryDecoder, RejectedEntries, parseList } from './lists.js';

const MAX_FRAMEWORK = 64;
/** Packages of one application, and the longest name or version of one. */
const MAX_VERSIONS = 100;
const MAX_VERSION = 128;

/**
 * `startup`: what an application says of itself when it begins. Its endpoints are registered, its framework is learned from
 * `client` (`js:express`), and the versions of its packages are kept.
 *
 * @throws Rejection when it can never be accepted
 */
export function parseStartup(body: Buffer, context: MessageContext): Message {
  return messageOf(body, context, startupOf);
}

function startupOf(source: Members, { env, now }: MessageContext): Partial<Message> {
  const endpoint: EntryDecoder<Named> = (value, name) => {
    const { method, path } = asObject(value, name);
    return {
      env,
      method: asMethod(method, `${name}.method`),
      path: toBraces(asText(path, `${name}.path`)),
      consumer: null,
      timestamp: now,
    };
  };
  const rejected = new RejectedEntries();
  const endpoints = parseList(memberOf(source, 'paths'), 'paths', endpoint, rejected);
  rejected.requireAccepted(endpoints.length);
  const reader = new LenientReader();
  const client = reader.read(source.client, 'client', textDecoder) ?? '';
  const report = {
    timestamp: now,
    cpu_percent: null,
    memory_rss: null,
    client: cut(client, MAX_VERSION),
    versions: readVersions(source.versions, reader),
  };
  rejected.addMembers(reader.ignored);
  return { names: [namedEnv(env, now), ...endpoints], framework: frameworkOf(client), report, rejected };
}

/** Versions by package, as far as they can be read. */
function readVersions(value: unknown, reader: LenientReader): Record<string, string> {
  const versions: [string, string][] = [];
  for (const [name, version] of Object.entries(reader.read(value, 'versions', objectDecoder) ?? {})) {
    const text = reader.read(version, 'versions[]', textDecoder);
    if (text === null) continue;
    if (versions.length < MAX_VERSIONS)
      versions.push([cut(clean(name), MAX_VERSION), cut(text, MAX_VERSION)]);
    else reader.ignored.push('versions[]');
  }
  return Object.fromEntries(versions);
}

/** Of `js:express` the part behind the language; null when there is none. */
function frameworkOf(client: string): string | null {
  const name = client.slice(client.indexOf(':') + 1).trim();
  return name === '' ? null : cut(name, MAX_FRAMEWORK);
}

/** An environment alone. */
export function namedEnv(env: string, timestamp: number): Named {
  return { env, method: '', path: null, consumer: null, timestamp };
}
