import type { Steps } from '../../shared/async/slices.js';
import { parseJson } from '../../shared/json/parse-json.js';
import {
  InvalidRecordError,
  type JsonObject,
  LenientReader,
  decodeObject,
  explainFailure,
} from '../../records/decoding/decoders.js';
import { decodeUuid, uuidDecoder } from '../decoding/request-decoders.js';
import { isJsonList, listJsonParts } from '../decoding/json-parts.js';
import { MAX_ENTRIES } from '../decoding/lists.js';
import { MAX_RECORD_VALUES, hasMoreValues } from '../../records/limits.js';
import { createMessage } from '../intake/create-message.js';
import type { Message, MessageContext } from '../../write/batches/message.js';
import { getField } from './hub-fields.js';

/** Largest number of members of a message, and of entries of a list that are counted; fewer are read. */
const MAX_MEMBERS = 1_000;
const MAX_COUNTED = 500_000;
/** A body of this size is parsed in one step, in a third of the time. */
const SMALL_BYTES = 64 * 1024;
/** The member that is kept as JSON text: an OpenAPI document has limits of its own. */
const DOCUMENT = 'openapi';

/**
 * A message whose body is a JSON object. The entries of its lists are parsed one by one: a large body is
 * never parsed in one step.
 *
 * @throws InvalidRecordError when it can never be accepted
 */
export function* parseJsonMessage(
  body: Buffer,
  context: MessageContext,
  read: (source: JsonObject, context: MessageContext) => Steps<Partial<Message>>,
): Steps<Message> {
  const source = parseSmall(body) ?? (yield* parseBody(body));
  const uuid = decodeUuid(getField(source, 'message_uuid'), 'message_uuid');
  const message = { ...createMessage(uuid, context.env), ...(yield* read(source, context)) };
  const reader = new LenientReader();
  const instanceUuid = reader.read(getField(source, 'instance_uuid'), 'instance_uuid', uuidDecoder);
  message.rejected.addMembers(reader.ignored);
  return { ...message, instanceUuid };
}

/** Undefined for a body that is large, is no object, or has a document or too many values. */
function parseSmall(body: Buffer): JsonObject | undefined {
  if (body.length > SMALL_BYTES) return undefined;
  const text = body.toString();
  if (hasMoreValues(text, MAX_MEMBERS)) return undefined;
  try {
    const source = decodeObject(parseJson(text), 'body');
    return DOCUMENT in source ? undefined : source;
  } catch {
    return undefined;
  }
}

function* parseBody(body: Buffer): Steps<JsonObject> {
  if (isJsonList(body)) throw new InvalidRecordError('body: must be an object');
  const members = new Map<string, unknown>();
  try {
    for (const part of listJsonParts(body)) {
      if (part) {
        const json = body.subarray(part.start, part.end);
        members.set(
          part.name,
          part.name === DOCUMENT
            ? json.toString().trim()
            : isJsonList(json)
              ? yield* parseEntries(json)
              : parseValue(json),
        );
        if (members.size > MAX_MEMBERS)
          throw new InvalidRecordError(`body: must have at most ${MAX_MEMBERS} members`);
      }
      yield;
    }
    // What has no members may be no object.
    return members.size > 0 ? Object.fromEntries(members) : decodeObject(parseValue(body), 'body');
  } catch (error) {
    throw new InvalidRecordError(explainFailure(error, 'body'));
  }
}

/** Entries that are not read are only counted. */
function* parseEntries(list: Buffer): Steps<unknown[]> {
  const entries: unknown[] = [];
  let count = 0;
  for (const part of listJsonParts(list)) {
    if (part && ++count <= MAX_ENTRIES) entries.push(parseValue(list.subarray(part.start, part.end)));
    if (count > MAX_COUNTED)
      throw new InvalidRecordError(`body: must have at most ${MAX_COUNTED} entries in a list`);
    yield;
  }
  entries.length = count;
  return entries;
}

function parseValue(json: Buffer): unknown {
  const text = json.toString();
  if (hasMoreValues(text, MAX_RECORD_VALUES))
    throw new InvalidRecordError(
      `body: must have at most ${MAX_RECORD_VALUES} values in a member or an entry`,
    );
  return parseJson(text);
}
