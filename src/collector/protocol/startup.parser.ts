import { LenientReader, type Members, asObject, asText, textDecoder } from '../../ingestion/checks.js';
import type { Named } from '../../ingestion/names/name-registry.js';
import { toBraces } from '../../ingestion/path-pattern.js';
import { asMethod } from '../../ingestion/request-checks.js';
import { cut } from '../../ingestion/text.js';
import type { Message, MessageContext } from '../message.js';
import { type EntryDecoder, RejectedEntries, parseList } from './items.js';
import { messageOf } from './json-message.js';
import { memberOf } from './members.js';

const MAX_FRAMEWORK = 64;

/**
 * `startup`: what an application says of itself when it begins. Its endpoints are registered and its framework is
 * learned from `client` (`js:express`). The versions of its packages have no place in the API and are ignored.
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
  const framework = frameworkOf(reader.read(source.client, 'client', textDecoder) ?? '');
  rejected.addMembers(reader.ignored);
  return { names: [namedEnv(env, now), ...endpoints], framework, rejected };
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
