import { parseJson } from '../../common/json/parse-json.js';
import {
  InvalidRecordError,
  type JsonObject,
  LenientReader,
  createIntegerDecoder,
  decodeObject,
  explainFailure,
  objectDecoder,
  textDecoder,
  textOrNumberDecoder,
} from '../../ingestion/formats/decoders.js';
import { normalizeRoutePattern } from '../../ingestion/formats/path-pattern.js';
import { decodeMethod, methodDecoder, readConsumer } from '../../ingestion/formats/request-decoders.js';
import { sanitize, truncate } from '../../ingestion/formats/text.js';
import type { ErrorKind, Message } from '../message.js';
import { parseList } from '../protocol/lists.js';
import { createEnvName } from '../protocol/startup.parser.js';
import { valueText } from './attributes.js';
import type { LogRecord } from './generated/opentelemetry/proto/logs/v1/logs_pb.js';

const SCOPE = 'apitally';
const MAX_TEXT = 128;
const MAX_VERSIONS = 100;
/** Longest texts of an error, as in the hub protocol; longer ones are truncated. */
const MAX_TYPE = 256;
const MAX_MESSAGE = 2_048;
const MAX_STACKTRACE = 65_536;
const MAX_EVENT_ID = 64;

const countDecoder = createIntegerDecoder(1, Number.MAX_SAFE_INTEGER);

/** Reports of version 1 of the client libraries, which are log records of its scope, by event name. */
const EVENTS: Readonly<Record<string, (message: Message, source: JsonObject, now: number) => void>> = {
  'apitally.app.startup': addStartup,
  'apitally.consumer.update': addConsumer,
  'apitally.request.validation_error': (message, source, now) => {
    addErrors(message, 'validation', source, now);
  },
  'apitally.request.server_error': (message, source, now) => {
    addErrors(message, 'server', source, now);
  },
};

/** Whether a record is a report of the client library rather than a log record of the application. */
export function isLibraryEvent(scope: string | undefined, { eventName }: LogRecord): boolean {
  return scope === SCOPE && Object.hasOwn(EVENTS, eventName);
}

/** Adds a report to the message; an invalid one is rejected. */
export function addLibraryEvent(message: Message, record: LogRecord, now: number): void {
  try {
    EVENTS[record.eventName]?.(message, decodeObject(parseJson(valueText(record.body)), 'body'), now);
  } catch (error) {
    message.rejected.add(`log_records[].${explainFailure(error, 'body')}`);
  }
}

/** Adds the endpoints of an application, its framework and the versions of its packages. */
function addStartup(message: Message, source: JsonObject, now: number): void {
  const { env, report } = message;
  const reader = new LenientReader();
  const framework = reader.read(source.framework, 'framework', textDecoder) ?? '';
  if (framework !== '') message.framework = truncate(framework, MAX_TEXT);
  const endpoints = parseList(
    source.paths,
    'paths',
    (value, name) => {
      const { method, path } = decodeObject(value, name);
      const text = textDecoder.decode(path);
      if (text === undefined) throw new InvalidRecordError(`${name}.path: must be a string`);
      return {
        ...createEnvName(env, now),
        method: decodeMethod(method, `${name}.method`),
        path: normalizeRoutePattern(text),
      };
    },
    message.rejected,
  );
  message.names.push(...endpoints);
  const versions = Object.entries(reader.read(source.versions, 'versions', objectDecoder) ?? {})
    .filter((entry): entry is [string, string] => typeof entry[1] === 'string')
    .slice(0, MAX_VERSIONS)
    .map(([name, version]) => [truncate(sanitize(name), MAX_TEXT), truncate(sanitize(version), MAX_TEXT)]);
  if (report) {
    report.client = truncate(`otlp:${framework}`, MAX_TEXT);
    report.versions = Object.fromEntries(versions) as Record<string, string>;
  }
  message.rejected.addMembers(reader.ignored);
}

function addConsumer(message: Message, source: JsonObject, now: number): void {
  const reader = new LenientReader();
  const consumer = readConsumer(source, 'consumer', reader);
  if (consumer === null) throw new InvalidRecordError('consumer.identifier: must not be empty');
  message.names.push({ ...createEnvName(message.env, now), consumer });
  message.rejected.addMembers(reader.ignored);
}

/** An error with the consumers that met it, each with how often. */
function addErrors(message: Message, kind: ErrorKind, source: JsonObject, now: number): void {
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
  const counts = parseList(
    source.counts,
    'counts',
    (value, name) => {
      const { consumer, count } = decodeObject(value, name);
      const errors = countDecoder.decode(count);
      if (errors === undefined) throw new InvalidRecordError(`${name}.count: ${countDecoder.ruleFor(count)}`);
      return { consumer: readConsumer(consumer, 'counts[].consumer', reader), errors };
    },
    message.rejected,
  );
  message.errors.push(...counts.map((count) => ({ ...error, ...count })));
  message.rejected.addMembers(reader.ignored);
}
