import {
  type Check,
  Rejection,
  asObject,
  asText,
  integerFrom,
  optional,
  textOrNumberDecoder,
  toCheck,
} from '../../ingestion/checks.js';
import { toBraces } from '../../ingestion/path-pattern.js';
import { asIdentifier, asMethod } from '../../ingestion/request-checks.js';
import { cut } from '../../ingestion/text.js';
import type { ErrorKind, ErrorRecord } from '../message.js';
import { type RejectedEntries, parseList } from './items.js';
import { memberOf } from './members.js';

/** Where texts are cut, in characters: at least as long as the client libraries send them. */
const MAX_TYPE = 256;
const MAX_MESSAGE = 2_048;
const MAX_STACKTRACE = 65_536;
const MAX_EVENT_ID = 64;
/** A path to a value: how many steps, and how long each. */
const MAX_STEPS = 32;
const MAX_STEP = 128;

const asErrorCount = integerFrom(1, Number.MAX_SAFE_INTEGER);
const asTextOrNumber = toCheck(textOrNumberDecoder);

/** What the errors of a message have in common. */
export type ErrorContext = Pick<ErrorRecord, 'env' | 'timestamp'>;

/**
 * The errors that a `sync` reports as `validation_errors` or `server_errors`. Never throws: what cannot be read is left out
 * and added to `rejected`, so that it does not cost the message's counts.
 */
export function readErrors(
  value: unknown,
  kind: ErrorKind,
  context: ErrorContext,
  rejected: RejectedEntries,
): ErrorRecord[] {
  const before = rejected.count;
  try {
    return parseList(value, `${kind}_errors`, errorDecoder(kind, context), rejected);
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    if (rejected.count === before) rejected.add(error.message);
    return [];
  }
}

function errorDecoder(kind: ErrorKind, { env, timestamp }: ErrorContext): Check<ErrorRecord> {
  return (value, name) => {
    const source = asObject(value, name);
    const text = (member: string, max: number) =>
      cut(optional(memberOf(source, member), `${name}.${member}`, asText) ?? '', max);
    const consumer = optional(source.consumer, `${name}.consumer`, asText)?.trim() ?? '';
    const path = optional(source.path, `${name}.path`, asText) ?? '';
    return {
      kind,
      env,
      timestamp,
      consumer: consumer === '' ? null : { identifier: asIdentifier(consumer, `${name}.consumer`) },
      method: asMethod(source.method, `${name}.method`),
      path: path === '' ? null : toBraces(path),
      type: text('type', MAX_TYPE),
      message: text('msg', MAX_MESSAGE),
      location: optional(source.loc, `${name}.loc`, asLocation) ?? [],
      stacktrace: text('traceback', MAX_STACKTRACE),
      sentry_event_id: text('sentry_event_id', MAX_EVENT_ID),
      errors: asErrorCount(memberOf(source, 'error_count'), `${name}.error_count`),
    };
  };
}

/** The steps of a path, names and indexes; some libraries send it as one text. */
const asLocation: Check<string[]> = (value, name) => {
  const steps: unknown[] = Array.isArray(value) ? value.slice(0, MAX_STEPS) : [value];
  return steps.map((step, index) => cut(asTextOrNumber(step, `${name}[${index}]`), MAX_STEP));
};
