import { parseJson } from '../../shared/json/parse-json.js';
import {
  InvalidRecordError,
  type JsonObject,
  LenientReader,
  decodeObject,
  explainFailure,
} from '../../records/decoding/decoders.js';
import { decodeUuid, uuidDecoder } from '../decoding/request-decoders.js';
import { MAX_VALUES, hasMoreValues, tooManyValues } from '../../records/limits.js';
import { createMessage } from '../intake/create-message.js';
import type { Message, MessageContext } from '../../write/batches/message.js';
import { getField } from './hub-fields.js';

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

function parseJsonObject(body: Buffer): JsonObject {
  const text = body.toString();
  if (hasMoreValues(text, MAX_VALUES)) throw tooManyValues();
  try {
    return decodeObject(parseJson(text), 'body');
  } catch (error) {
    throw new InvalidRecordError(explainFailure(error, 'body'));
  }
}
