import {
  type JsonObject,
  type LenientReader,
  createIntegerDecoder,
  isAbsent,
  objectDecoder,
  textDecoder,
  textOrNumberDecoder,
} from '../../records/decoding/decoders.js';
import { normalizeRoutePattern } from '../decoding/path-pattern.js';
import { methodDecoder, readConsumer } from '../decoding/request-decoders.js';
import { truncate } from '../../records/text.js';
import { MAX_EVENT_ID, MAX_MESSAGE, MAX_STACKTRACE, MAX_TYPE } from '../../records/limits.js';
import type { ErrorKind, ErrorRecord } from '../../write/batches/message.js';
import { getField } from './hub-fields.js';
import { MAX_ENTRIES } from '../decoding/lists.js';

/** Limits on a path to a value: number of steps, and length of each. */
const MAX_STEPS = 32;
const MAX_STEP = 128;

const countDecoder = createIntegerDecoder(1, Number.MAX_SAFE_INTEGER);

/** Context shared by the errors of a message. */
export type ErrorContext = Pick<ErrorRecord, 'env' | 'timestamp'>;

/**
 * The errors that a `sync` reports as `validation_errors` or `server_errors`. An error without a valid
 * method, path or count is left out; other invalid members of an error are left out alone.
 */
export function readErrors(
  source: JsonObject,
  kind: ErrorKind,
  context: ErrorContext,
  reader: LenientReader,
): ErrorRecord[] {
  const name = `${kind}_errors`;
  const value = getField(source, name);
  if (Array.isArray(value))
    for (let entry = MAX_ENTRIES; entry < value.length; entry++) reader.ignored.push(name);
  const some = Array.isArray(value) ? value.slice(0, MAX_ENTRIES) : value;
  return reader.readList(some, name, (item) => readError(item, kind, context, reader));
}

function readError(
  value: unknown,
  kind: ErrorKind,
  { env, timestamp }: ErrorContext,
  reader: LenientReader,
): ErrorRecord | undefined {
  const source = objectDecoder.decode(value);
  const method = methodDecoder.decode(source?.method);
  const path = isAbsent(source?.path) ? '' : textDecoder.decode(source.path);
  const errors = countDecoder.decode(source && getField(source, 'error_count'));
  if (!source || method === undefined || path === undefined || errors === undefined) return undefined;
  const readText = (member: string, max: number) =>
    truncate(reader.read(getField(source, member), `${kind}_errors[].${member}`, textDecoder) ?? '', max);
  const isAnonymous = typeof source.consumer === 'string' && source.consumer.trim() === '';
  return {
    kind,
    env,
    timestamp,
    consumer: isAnonymous ? null : readConsumer(source.consumer, `${kind}_errors[].consumer`, reader),
    method,
    path: path === '' ? null : normalizeRoutePattern(path),
    type: readText('type', MAX_TYPE),
    message: readText('msg', MAX_MESSAGE),
    location: readLocation(source.loc, `${kind}_errors[].loc`, reader),
    stacktrace: readText('traceback', MAX_STACKTRACE),
    sentry_event_id: readText('sentry_event_id', MAX_EVENT_ID),
    errors,
  };
}

/** The path to a value, as names and indexes; some libraries send it as one string. */
function readLocation(value: unknown, name: string, reader: LenientReader): string[] {
  if (isAbsent(value)) return [];
  const steps: unknown[] = Array.isArray(value) ? value.slice(0, MAX_STEPS) : [value];
  return reader
    .readList(steps, name, (step) => textOrNumberDecoder.decode(step))
    .map((step) => truncate(step, MAX_STEP));
}
