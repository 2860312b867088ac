import { METHODS as METHOD_NAMES } from 'node:http';
import type { Steps } from '../../shared/async/slices.js';
import {
  InvalidRecordError,
  type JsonObject,
  LenientReader,
  createDecoder,
  createIntegerDecoder,
  createNumberDecoder,
  createRoundedDecoder,
  decodeObject,
  decodeText,
  isAbsent,
  objectDecoder,
  textOrNumberDecoder,
  toStrictDecoder,
} from '../../records/decoding/decoders.js';
import { normalizeRoutePattern } from '../decoding/path-pattern.js';
import {
  createSizeSumDecoder,
  decodeMethod,
  readConsumer,
  statusCodeDecoder,
} from '../decoding/request-decoders.js';
import { checkRetention, getTrafficRetention } from '../../records/decoding/timestamps.js';
import type { ConsumerRecord, CountRecord } from '../../records/request-record.js';
import type { Message, MessageContext } from '../../write/batches/message.js';
import { RejectedEntries } from '../../write/batches/rejected-entries.js';
import { readErrors } from './errors.js';
import { readHistograms } from './histogram.js';
import { decodeEpochMs, getField } from './hub-fields.js';
import { parseJsonMessage } from './json-message.js';
import { type EntryDecoder, parseList, requireAccepted } from '../decoding/lists.js';
import { createEnvName, createReport } from '../intake/create-message.js';

const decodeCount = toStrictDecoder(createIntegerDecoder(0, Number.MAX_SAFE_INTEGER));
/** Percent of one core: a process on all cores of a large machine uses thousands. */
const cpuPercentDecoder = createNumberDecoder(0, 1e6);
const memoryDecoder = createRoundedDecoder(0, Number.MAX_SAFE_INTEGER);
const listDecoder = createDecoder('must be an array', (value) => (Array.isArray(value) ? value : undefined));
/** In the case of the libraries. */
const METHODS = new Set(METHOD_NAMES);

/**
 * `sync`: counts of requests since the last sync, errors, resource usage of the process, and the names and
 * groups of consumers.
 *
 * The counts belong to the message's `timestamp`, also in a late message. A count without a valid method,
 * path or number of requests is rejected, and the others are accepted; all other invalid members are left
 * out.
 *
 * @throws InvalidRecordError if the message is invalid
 */
export function parseSync(body: Buffer, context: MessageContext): Steps<Message> {
  return parseJsonMessage(body, context, decodeSync);
}

function* decodeSync(source: JsonObject, { env, now }: MessageContext): Steps<Partial<Message>> {
  const timestamp = decodeEpochMs(source.timestamp, 'timestamp');
  const expired = checkRetention(timestamp, getTrafficRetention(now), now);
  if (expired !== undefined) throw new InvalidRecordError(expired);
  const rejected = new RejectedEntries();
  const reader = new LenientReader();
  const named = reader.read(source.consumers, 'consumers', listDecoder);
  const counts = yield* parseList(source.requests, 'requests', countDecoder(timestamp, env), rejected);
  const consumers = yield* parseList(named, 'consumers', decodeConsumer, rejected);
  const errors = (['validation', 'server'] as const).flatMap((kind) =>
    readErrors(source, kind, { env, timestamp }, reader),
  );
  const resources = readResources(source.resources, reader);
  rejected.addMembers(reader.ignored);
  requireAccepted(rejected, counts.length + consumers.length + errors.length);
  return {
    names: [
      createEnvName(env, timestamp),
      ...consumers.map((consumer) => ({ ...createEnvName(env, timestamp), consumer })),
    ],
    counts: counts.filter(({ requests }) => requests > 0),
    errors,
    report: { ...createReport(timestamp), ...resources },
    syncedAt: now,
    rejected,
  };
}

function decodeConsumer(value: unknown, name: string, reader: LenientReader): ConsumerRecord {
  const consumer = readConsumer(value, 'consumers[]', reader);
  if (consumer === null) throw new InvalidRecordError(`${name}.identifier: must not be empty`);
  return consumer;
}

function countDecoder(timestamp: number, env: string): EntryDecoder<CountRecord> {
  return (value, name, reader) => {
    const source = decodeObject(value, name);
    const requests = decodeCount(getField(source, 'request_count'), `${name}.request_count`);
    const readSum = (member: string) =>
      reader.read(getField(source, member), `requests[].${member}`, createSizeSumDecoder(requests)) ?? 0;
    return {
      timestamp,
      env,
      ...decodeCountKey(source, name, reader),
      status_code:
        reader.read(getField(source, 'status_code'), 'requests[].status_code', statusCodeDecoder) ?? 0,
      requests,
      bytes_received: readSum('request_size_sum'),
      bytes_sent: readSum('response_size_sum'),
      bins: readHistograms((member) => getField(source, member), reader),
    };
  };
}

/** Processor time and memory of the process. */
function readResources(value: unknown, reader: LenientReader) {
  const source = reader.read(value, 'resources', objectDecoder) ?? {};
  return {
    cpu_percent: reader.read(getField(source, 'cpu_percent'), 'resources.cpu_percent', cpuPercentDecoder),
    memory_rss: reader.read(getField(source, 'memory_rss'), 'resources.memory_rss', memoryDecoder),
  };
}

type CountKey = Pick<CountRecord, 'consumer' | 'method' | 'path' | 'registersPath'>;

/**
 * Consumer, method and path of a count.
 *
 * The JavaScript library joins them and the status by `|` and splits the text again when it sends it. A `|`
 * in the consumer or in the path shifts the following members; the status is then not a number and arrives as
 * null. The consumer `auth0|5f7c` of `POST /a` arrives as consumer `auth0`, method `5f7c` and path `POST`.
 * One `|` in the consumer can be repaired except for the path, which is lost; with more, only the number of
 * requests is certain.
 */
function decodeCountKey(source: JsonObject, name: string, reader: LenientReader): CountKey {
  const readText = (member: string) =>
    isAbsent(source[member]) ? '' : decodeText(source[member], `${name}.${member}`);
  const [method, path] = [readText('method'), readText('path')];
  const hasStatus = source.status_code !== null;
  const isRoute = path === '' || path.startsWith('/');
  if (!hasStatus && METHODS.has(path)) {
    const consumer = `${textOrNumberDecoder.decode(source.consumer) ?? ''}|${method}`;
    return { consumer: readCountConsumer(consumer, reader), method: path, path: null };
  }
  if (!METHODS.has(method.toUpperCase()) && !(hasStatus && isRoute))
    return { consumer: null, method: '', path: null };
  return {
    consumer: readCountConsumer(source.consumer, reader),
    method: decodeMethod(method, `${name}.method`),
    path: path === '' ? null : normalizeRoutePattern(path),
    // The rest of a path with a `|` must not become an endpoint.
    ...(!hasStatus && { registersPath: false }),
  };
}

/** The libraries send an empty string for a request without a consumer. */
function readCountConsumer(value: unknown, reader: LenientReader): ConsumerRecord | null {
  const isBlank = typeof value === 'string' && value.trim() === '';
  return isBlank ? null : readConsumer(value, 'requests[].consumer', reader);
}
