import { METHODS as METHOD_NAMES } from 'node:http';
import {
  type Check,
  LenientReader,
  type Members,
  Rejection,
  asObject,
  asText,
  createNumberDecoder,
  createRoundedDecoder,
  integerFrom,
  isAbsent,
  objectDecoder,
  optional,
} from '../../ingestion/checks.js';
import { trafficRetention, whyNotInTime } from '../../ingestion/instant.js';
import { toBraces } from '../../ingestion/path-pattern.js';
import {
  asConsumer,
  asIdentifier,
  asMethod,
  asSize,
  statusCodeDecoder,
} from '../../ingestion/request-checks.js';
import type { ConsumerRecord, CountRecord } from '../../ingestion/request-record.js';
import type { Message, MessageContext } from '../message.js';
import { readErrors } from './errors.js';
import { REQUEST_SIZES, RESPONSE_SIZES, RESPONSE_TIMES, readHistogram } from './histogram.js';
import { RejectedEntries, parseList } from './items.js';
import { messageOf } from './json-message.js';
import { asEpochMs, memberOf } from './members.js';
import { namedEnv } from './startup.parser.js';

const asCount = integerFrom(0, Number.MAX_SAFE_INTEGER);
/** Of one core: a process on all cores of a large machine uses thousands. */
const cpuPercentDecoder = createNumberDecoder(0, 1e6);
const memoryDecoder = createRoundedDecoder(0, Number.MAX_SAFE_INTEGER);
const HISTOGRAMS = [
  ['response_times', RESPONSE_TIMES],
  ['request_sizes', REQUEST_SIZES],
  ['response_sizes', RESPONSE_SIZES],
] as const;
/** As the libraries write them. */
const METHODS = new Set(METHOD_NAMES);

/**
 * `sync`: what an application counted since its last one, the errors among it, what the process uses, and the names and
 * groups of consumers it met.
 *
 * The counts belong to the message's `timestamp`, which a late one brings along. A count that cannot be decoded is rejected
 * and does not cost the others; what else cannot be read is left out, is counted among the rejected entries and costs
 * nothing beside it.
 *
 * @throws Rejection when it can never be accepted
 */
export function parseSync(body: Buffer, context: MessageContext): Message {
  return messageOf(body, context, decodeSync);
}

function decodeSync(source: Members, { env, now }: MessageContext): Partial<Message> {
  const timestamp = asEpochMs(source.timestamp, 'timestamp');
  const outOfTime = whyNotInTime(timestamp, trafficRetention(now), now);
  if (outOfTime !== undefined) throw new Rejection(outOfTime);
  const rejected = new RejectedEntries();
  const counts = parseList(source.requests, 'requests', countDecoder(timestamp, env, rejected), rejected);
  const consumers = parseList(source.consumers, 'consumers', asConsumer, rejected);
  const context = { env, timestamp };
  const errors = (['validation', 'server'] as const).flatMap((kind) =>
    readErrors(memberOf(source, `${kind}_errors`), kind, context, rejected),
  );
  return {
    names: [
      namedEnv(env, timestamp),
      ...consumers.map((consumer) => ({ ...namedEnv(env, timestamp), consumer })),
    ],
    counts: counts.filter(({ requests }) => requests > 0),
    errors,
    report: { timestamp, ...readResources(source.resources, rejected), client: '', versions: {} },
    syncedAt: now,
    rejected,
  };
}

function countDecoder(timestamp: number, env: string, rejected: RejectedEntries): Check<CountRecord> {
  return (value, name) => {
    const source = asObject(value, name);
    const number = (member: string) => optional(memberOf(source, member), `${name}.${member}`, asSize) ?? 0;
    const count = {
      timestamp,
      env,
      ...decodeCountKey(source, name),
      status_code: readStatusCode(memberOf(source, 'status_code'), `${name}.status_code`, rejected),
      requests: asCount(memberOf(source, 'request_count'), `${name}.request_count`),
      bytes_received: number('request_size_sum'),
      bytes_sent: number('response_size_sum'),
      bins: [],
    };
    for (const [member, histogram] of HISTOGRAMS)
      readHistogram(memberOf(source, member), `${name}.${member}`, histogram, count.bins, rejected);
    return count;
  };
}

/** 0 for one that is not known. */
function readStatusCode(value: unknown, name: string, rejected: RejectedEntries): number {
  if (isAbsent(value)) return 0;
  const status = statusCodeDecoder.decode(value);
  if (status === undefined) rejected.add(`${name}: ${statusCodeDecoder.ruleFor(value)}`);
  return status ?? 0;
}

/** Processor time and memory of the process, as far as they can be read. */
function readResources(value: unknown, rejected: RejectedEntries) {
  const source = isAbsent(value) ? {} : objectDecoder.decode(value);
  if (!source) rejected.add(`resources: ${objectDecoder.ruleFor(value)}`);
  const reader = new LenientReader();
  const cpu_percent = reader.read(memberOf(source ?? {}, 'cpu_percent'), 'cpu_percent', cpuPercentDecoder);
  const memory_rss = reader.read(memberOf(source ?? {}, 'memory_rss'), 'memory_rss', memoryDecoder);
  for (const member of reader.ignored)
    rejected.add(`resources.${member}: must be a number that is not negative`);
  return { cpu_percent, memory_rss };
}

type CountKey = Pick<CountRecord, 'consumer' | 'method' | 'path' | 'registersPath'>;

/**
 * Consumer, method and path of a count.
 *
 * The JavaScript library joins them and the status by `|` and splits the text again when it sends it. A `|` in the consumer
 * or in the path shifts what is behind it, and the status, which is no number then, arrives as null. The consumer
 * `auth0|5f7c` of `POST /a` arrives as consumer `auth0`, method `5f7c` and path `POST`. One `|` in the consumer can be
 * undone but for the path, which is lost; of more, only that requests were made can be told.
 */
function decodeCountKey(source: Members, name: string): CountKey {
  const text = (member: string) => optional(source[member], `${name}.${member}`, asText) ?? '';
  const [consumer, method, path] = [text('consumer'), text('method'), text('path')];
  const hasStatus = source.status_code !== null;
  const isRoute = path === '' || path.startsWith('/');
  if (!hasStatus && METHODS.has(path))
    return { consumer: consumerFrom(`${consumer}|${method}`, name), method: path, path: null };
  if (!METHODS.has(method.toUpperCase()) && !(hasStatus && isRoute))
    return { consumer: null, method: '', path: null };
  return {
    consumer: consumerFrom(consumer, name),
    method: asMethod(method, `${name}.method`),
    path: path === '' ? null : toBraces(path),
    // What is left of a path with a `|` in it must not become an endpoint.
    ...(!hasStatus && { registersPath: false }),
  };
}

function consumerFrom(text: string, name: string): ConsumerRecord | null {
  return text.trim() === '' ? null : { identifier: asIdentifier(text, `${name}.consumer`) };
}
