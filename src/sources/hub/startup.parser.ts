import type { Steps } from '../../shared/async/slices.js';
import { type JsonObject, LenientReader, textDecoder } from '../../records/decoding/decoders.js';
import { truncate } from '../../records/text.js';
import type { Message, MessageContext } from '../../write/batches/message.js';
import { RejectedEntries } from '../../write/batches/rejected-entries.js';
import { createEnvName, createReport } from '../intake/create-message.js';
import { requireAccepted } from '../decoding/lists.js';
import { MAX_VERSION, readStartup } from '../decoding/startup.js';
import { parseJsonMessage } from './json-message.js';

const MAX_FRAMEWORK = 64;

/**
 * `startup`: the report of an application at its start. Its endpoints are registered, its framework is
 * derived from `client` (`js:express`), and the versions of its packages and its OpenAPI document are stored.
 *
 * @throws InvalidRecordError if the message is invalid
 */
export function parseStartup(body: Buffer, context: MessageContext): Steps<Message> {
  return parseJsonMessage(body, context, decodeStartup);
}

function* decodeStartup(source: JsonObject, { env, now }: MessageContext): Steps<Partial<Message>> {
  const rejected = new RejectedEntries();
  const { endpoints, versions, apiDocument } = yield* readStartup(source, env, now, rejected);
  requireAccepted(rejected, endpoints.length);
  const reader = new LenientReader();
  const client = reader.read(source.client, 'client', textDecoder) ?? '';
  rejected.addMembers(reader.ignored);
  return {
    names: [createEnvName(env, now), ...endpoints],
    framework: parseFramework(client),
    report: {
      ...createReport(now),
      client: truncate(client, MAX_VERSION),
      versions,
      app_version: versions.app ?? '',
    },
    apiDocument,
    rejected,
  };
}

/** The part of `js:express` after the language; null if there is none. */
function parseFramework(client: string): string | null {
  const name = client.slice(client.indexOf(':') + 1).trim();
  return name === '' ? null : truncate(name, MAX_FRAMEWORK);
}
