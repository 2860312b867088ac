import { finish } from '../../shared/async/slices.js';
import { parseJson } from '../../shared/json/parse-json.js';
import {
  InvalidRecordError,
  type JsonObject,
  LenientReader,
  createIntegerDecoder,
  decodeObject,
  explainFailure,
  textDecoder,
  textOrNumberDecoder,
  toStrictDecoder,
} from '../../records/decoding/decoders.js';
import { normalizeRoutePattern } from '../decoding/path-pattern.js';
import { methodDecoder, readConsumer } from '../decoding/request-decoders.js';
import { truncate } from '../../records/text.js';
import {
  MAX_EVENT_ID,
  MAX_MESSAGE,
  MAX_RECORD_VALUES,
  MAX_STACKTRACE,
  MAX_TYPE,
  hasMoreValues,
} from '../../records/limits.js';
import type { ErrorKind, Message, RecordKey } from '../../write/batches/message.js';
import { parseList } from '../decoding/lists.js';
import { readStartup } from '../decoding/startup.js';
import { createEnvName } from '../intake/create-message.js';
import { valueText } from './attributes.js';
import type { LogRecord } from './generated/opentelemetry/proto/logs/v1/logs_pb.js';
import type { BodyContext } from './origin.js';

const SCOPE = 'apitally';
const MAX_TEXT = 128;
/** Estimated length of an error's record without its texts. */
const ERROR_CHARACTERS = 300;

const decodeCount = toStrictDecoder(createIntegerDecoder(1, Number.MAX_SAFE_INTEGER));

/** Reports of version 1 of the client libraries, which are log records of its scope, by event name. */
const EVENTS: Readonly<
  Record<string, (message: Message, source: JsonObject, context: BodyContext, key: RecordKey) => void>
> = {
  'apitally.app.startup': addStartup,
  'apitally.consumer.update': addConsumer,
  'apitally.request.validation_error': (message, source, context, key) => {
    addErrors(message, 'validation', source, context, key);
  },
  'apitally.request.server_error': (message, source, context, key) => {
    addErrors(message, 'server', source, context, key);
  },
};

/** Whether a record is a report of the client library rather than a log record of the application. */
export function isLibraryEvent(scope: string | undefined, { eventName }: LogRecord): boolean {
  return scope === SCOPE && Object.hasOwn(EVENTS, eventName);
}

/** Adds a report to the message; an invalid one is rejected. */
export function addLibraryEvent(
  message: Message,
  record: LogRecord,
  key: RecordKey,
  context: BodyContext,
): void {
  const before = message.rejected.count;
  try {
    const json = valueText(record.body);
    if (hasMoreValues(json, MAX_RECORD_VALUES))
      throw new InvalidRecordError(`body: must have at most ${MAX_RECORD_VALUES} values`);
    EVENTS[record.eventName]?.(message, decodeObject(parseJson(json), 'body'), context, key);
  } catch (error) {
    message.rejected.add(`log_records[].${explainFailure(error, 'body')}`);
  }
  // The sender counts log records, even if several entries of a record are invalid.
  message.rejected.count = Math.min(message.rejected.count, before + 1);
}

/** Adds the endpoints of an application, its framework, the versions of its packages and its document. */
function addStartup(message: Message, source: JsonObject, { now }: BodyContext): void {
  const { env, report, rejected } = message;
  const reader = new LenientReader();
  const framework = reader.read(source.framework, 'framework', textDecoder) ?? '';
  rejected.addMembers(reader.ignored);
  if (framework !== '') message.framework = truncate(framework, MAX_TEXT);
  const { endpoints, versions, apiDocument } = finish(readStartup(source, env, now, rejected));
  message.names.push(...endpoints);
  message.apiDocument = apiDocument ?? message.apiDocument;
  if (report) {
    report.client = truncate(`otlp:${framework}`, MAX_TEXT);
    report.versions = versions;
    report.app_version ||= versions.app ?? '';
  }
}

function addConsumer(message: Message, source: JsonObject, { now }: BodyContext): void {
  const reader = new LenientReader();
  const consumer = readConsumer(source, 'consumer', reader);
  if (consumer === null) throw new InvalidRecordError('consumer.identifier: must not be empty');
  message.names.push({ ...createEnvName(message.env, now), consumer });
  message.rejected.addMembers(reader.ignored);
}

/** Adds an error. Each consumer that met it gets its own record with a count and all texts of the error. */
function addErrors(
  message: Message,
  kind: ErrorKind,
  source: JsonObject,
  { now, expansion }: BodyContext,
  record: RecordKey,
): void {
  const reader = new LenientReader();
  const readText = (value: unknown, max: number) =>
    truncate(reader.read(value, `${kind}_error`, textDecoder) ?? '', max);
  const method = methodDecoder.decode(source.method);
  const route = readText(source.route ?? source.path, MAX_MESSAGE);
  if (method === undefined) throw new InvalidRecordError(`${kind}_error.method: must be an HTTP method`);
  const location = [source.source, source.field]
    .map((step) => textOrNumberDecoder.decode(step) ?? '')
    .filter((step) => step !== '')
    .map((step) => truncate(step, MAX_TEXT));
  const error = {
    kind,
    record,
    env: message.env,
    timestamp: now,
    method,
    path: route === '' ? null : normalizeRoutePattern(route),
    type: readText(source.type, MAX_TYPE),
    message: readText(source.message ?? source.msg, MAX_MESSAGE),
    location,
    stacktrace: readText(source.stacktrace, MAX_STACKTRACE),
    sentry_event_id: readText(source.sentry_event_id, MAX_EVENT_ID),
  };
  const characters = error.message.length + error.stacktrace.length + ERROR_CHARACTERS;
  const counts = finish(
    parseList(
      source.counts,
      'counts',
      (value, name) => {
        if (characters > expansion.remaining)
          throw new InvalidRecordError(
            `${name}: the texts of the error are too long for this number of consumers`,
          );
        expansion.remaining -= characters;
        const { consumer, count } = decodeObject(value, name);
        const errors = decodeCount(count, `${name}.count`);
        return { consumer: readConsumer(consumer, 'counts[].consumer', reader), errors };
      },
      message.rejected,
    ),
  );
  message.errors.push(...counts.map((count) => ({ ...error, ...count })));
  message.rejected.addMembers(reader.ignored);
}
