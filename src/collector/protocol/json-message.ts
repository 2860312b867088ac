import { parseJson } from '../../common/parse-json.js';
import { type Members, Rejection, asObject, reasonOf } from '../../ingestion/checks.js';
import { asUuid } from '../../ingestion/request-checks.js';
import type { Message, MessageContext } from '../message.js';
import { memberOf } from './members.js';

/**
 * A message whose body is a JSON object.
 *
 * @throws Rejection when it can never be accepted
 */
export function messageOf(
  text: string,
  context: MessageContext,
  read: (source: Members, context: MessageContext) => Partial<Message>,
): Message {
  const source = objectOf(text);
  const uuid = asUuid(memberOf(source, 'message_uuid'), 'message_uuid');
  return { ...emptyMessage(uuid, context.env), ...read(source, context) };
}

/** A message that says nothing yet. */
export function emptyMessage(uuid: string, env: string): Message {
  return { uuid, env, names: [], counts: [], logs: [], framework: null, syncedAt: null, leftover: null };
}

function objectOf(text: string): Members {
  try {
    return asObject(parseJson(text), 'body');
  } catch (error) {
    throw new Rejection(reasonOf(error, 'body'));
  }
}
