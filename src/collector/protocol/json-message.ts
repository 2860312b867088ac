import { parseJson } from '../../common/json/parse-json.js';
import {
  InvalidRecordError,
  type JsonObject,
  LenientReader,
  decodeObject,
  explainFailure,
} from '../../ingestion/formats/decoders.js';
import { decodeUuid, uuidDecoder } from '../../ingestion/formats/request-decoders.js';
import { MAX_VALUES, tooManyValues } from '../limits.js';
import type { Message, MessageContext } from '../message.js';
import { getField } from './hub-fields.js';
import { RejectedEntries } from './lists.js';

/**
 * A message whose body is a JSON object.
 *
 * @throws InvalidRecordError when it can never be accepted
 */
export function parseJsonMessage(
  body: Buffer,
  context: MessageContext,
  read: (source: JsonObject, context: MessageContext) => Partial<Message>,
): Message {
  const source = parseJsonObject(body);
  const uuid = decodeUuid(getField(source, 'message_uuid'), 'message_uuid');
  const message = { ...createMessage(uuid, context.env), ...read(source, context) };
  const reader = new LenientReader();
  const instanceUuid = reader.read(getField(source, 'instance_uuid'), 'instance_uuid', uuidDecoder);
  message.rejected.addMembers(reader.ignored);
  return { ...message, instanceUuid };
}

/** An empty message. */
export function createMessage(uuid: string, env: string): Message {
  return {
    uuid,
    env,
    instanceUuid: null,
    names: [],
    counts: [],
    logs: [],
    spans: [],
    logMessages: [],
    spanCounts: [],
    points: [],
    errors: [],
    report: null,
    framework: null,
    syncedAt: null,
    rejected: new RejectedEntries(),
  };
}

const [COMMA, OPENING_BRACKET, OPENING_BRACE] = [',', '[', '{'].map((text) => text.charCodeAt(0));

function parseJsonObject(body: Buffer): JsonObject {
  const text = body.toString();
  if (hasMoreValues(text, MAX_VALUES)) throw tooManyValues();
  try {
    return decodeObject(parseJson(text), 'body');
  } catch (error) {
    throw new InvalidRecordError(explainFailure(error, 'body'));
  }
}

/** Whether a JSON text may have more values. It does not parse, so it also counts characters within strings. */
export function hasMoreValues(text: string, max: number): boolean {
  if (text.length <= max) return false;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === COMMA || character === OPENING_BRACKET || character === OPENING_BRACE) values += 1;
  }
  return values > max;
}
