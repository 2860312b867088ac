import {
  type Check,
  type Members,
  Rejection,
  asObject,
  asText,
  integerFrom,
  optional,
} from '../../ingestion/checks.js';
import { trafficRetention, whyNotInTime } from '../../ingestion/instant.js';
import { toBraces } from '../../ingestion/path-pattern.js';
import { asConsumer, asIdentifier, asMethod, asSize } from '../../ingestion/request-checks.js';
import type { CountRecord } from '../../ingestion/request-record.js';
import type { Message, MessageContext } from '../message.js';
import { sift, together } from './items.js';
import { messageOf } from './json-message.js';
import { asEpochMs, memberOf } from './members.js';
import { namedEnv } from './startup.parser.js';

const asCount = integerFrom(0, Number.MAX_SAFE_INTEGER);

/**
 * `sync`: what an application counted since its last one, and the names and groups of consumers it met.
 *
 * The counts belong to the message's `timestamp`, which a late one brings along. Status codes, response times and the
 * sizes' distribution, `validation_errors`, `server_errors` and `resources` have no place in the API: they are ignored
 * and so may be anything. A count that cannot be taken is left over and does not cost the others.
 *
 * @throws Rejection when it can never be accepted
 */
export function parseSync(text: string, context: MessageContext): Message {
  return messageOf(text, context, syncOf);
}

function syncOf(source: Members, { env, now }: MessageContext): Partial<Message> {
  const timestamp = asEpochMs(source.timestamp, 'timestamp');
  const outOfTime = whyNotInTime(timestamp, trafficRetention(now), now);
  if (outOfTime !== undefined) throw new Rejection(outOfTime);
  const counts = sift(source.requests, 'requests', countAt(timestamp, env));
  const consumers = sift(source.consumers, 'consumers', asConsumer);
  return {
    names: [
      namedEnv(env, timestamp),
      ...consumers.taken.map((consumer) => ({ ...namedEnv(env, timestamp), consumer })),
    ],
    counts: counts.taken.filter(({ requests }) => requests > 0),
    syncedAt: now,
    leftover: together(counts.leftover, consumers.leftover),
  };
}

function countAt(timestamp: number, env: string): Check<CountRecord> {
  return (value, name) => {
    const source = asObject(value, name);
    const path = optional(source.path, `${name}.path`, asText) ?? '';
    const consumer = optional(source.consumer, `${name}.consumer`, asText) ?? '';
    const number = (member: string) => optional(memberOf(source, member), `${name}.${member}`, asSize) ?? 0;
    return {
      timestamp,
      env,
      consumer: consumer.trim() === '' ? null : { identifier: asIdentifier(consumer, `${name}.consumer`) },
      method: asMethod(source.method, `${name}.method`),
      path: path === '' ? null : toBraces(path),
      requests: asCount(memberOf(source, 'request_count'), `${name}.request_count`),
      bytes_received: number('request_size_sum'),
      bytes_sent: number('response_size_sum'),
    };
  };
}
