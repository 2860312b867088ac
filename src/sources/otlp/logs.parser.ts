import type { Steps } from '../../shared/async/slices.js';
import { sanitize, truncate } from '../../records/text.js';
import { checkRetention, getLogsRetention } from '../../records/decoding/timestamps.js';
import { MAX_MESSAGE } from '../../records/limits.js';
import type { Message } from '../../write/batches/message.js';
import { Attributes, limitedAttributesJson, valueText } from './attributes.js';
import { isValidId, toHex, toMilliseconds } from './encoding.js';
import type { LogRecord } from './generated/opentelemetry/proto/logs/v1/logs_pb.js';
import type { Parts } from './items.js';
import { addLibraryEvent, isLibraryEvent } from './library-events.js';
import { type BodyContext, readMessages } from './origin.js';
import type { RecordHashes } from './record-hashes.js';

/** Longest texts of a record in characters; longer ones are truncated. */
const MAX_NAME = 256;
const MAX_LEVEL = 16;
const MAX_LINE = 2 ** 31 - 1;
/** Attributes that are members of the entry. */
const HAVE_MEMBERS: ReadonlySet<string> = new Set([
  'apitally.request.server_span_id',
  'code.file.path',
  'code.filepath',
  'code.line.number',
  'code.lineno',
]);
/** Levels by severity number: four numbers each, from 1. */
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'];

/** Parses log records that belong to a trace, and the reports of version 1 of the client libraries. */
export function parseLogs(parts: Parts<LogRecord>, context: BodyContext): Steps<Message[]> {
  let scope = '';
  return readMessages(parts, context, (message, part, hashes) => {
    if (part.kind === 'scope') scope = part.scope?.name ?? '';
    if (part.kind !== 'item') return;
    const record = part.item;
    if (isLibraryEvent(scope, record)) {
      const record_hash = hashes.next(listParts(message, record, scope, valueText(record.body)));
      addLibraryEvent(message, record, { time_ns: findTime(record), record_hash }, context);
    } else addRecord(message, record, scope, hashes, context.now);
  });
}

function findTime({ timeUnixNano, observedTimeUnixNano }: LogRecord): bigint {
  return timeUnixNano === 0n ? observedTimeUnixNano : timeUnixNano;
}

function addRecord(
  message: Message,
  record: LogRecord,
  scope: string,
  hashes: RecordHashes,
  now: number,
): void {
  // A record without a trace belongs to no request.
  if (!isValidId(record.traceId, 16)) return;
  const time = findTime(record);
  const outOfTime = checkRetention(toMilliseconds(time), getLogsRetention(now), now);
  if (outOfTime !== undefined) {
    message.rejected.add(`log_records[].time_unix_nano: ${outOfTime}`);
    return;
  }
  const attributes = new Attributes(record.attributes);
  const find = (...keys: string[]) => attributes.findText(...keys) ?? '';
  const serverSpan = find('apitally.request.server_span_id');
  const line = attributes.findNumber('code.line.number', 'code.lineno') ?? 0;
  // An event may have its name alone.
  const text =
    valueText(record.body) ||
    find('exception.message') ||
    sanitize(record.eventName) ||
    find('event.name') ||
    find('exception.type');
  message.logMessages.push({
    trace_id: toHex(record.traceId),
    span_id: isValidId(record.spanId, 8) ? toHex(record.spanId) : '',
    server_span_id: /^[0-9a-f]{16}$/i.test(serverSpan) ? serverSpan.toLowerCase() : '',
    timestamp_ns: time.toString(),
    level: findLevel(record),
    message: truncate(text, MAX_MESSAGE),
    logger: truncate(sanitize(scope), MAX_NAME),
    file: truncate(find('code.file.path', 'code.filepath'), MAX_NAME),
    line: Number.isInteger(line) && line > 0 && line <= MAX_LINE ? line : 0,
    attributes: limitedAttributesJson(
      record.attributes,
      (change) => {
        message.rejected.warn(`log_records[].attributes: ${change}`);
      },
      (key) => HAVE_MEMBERS.has(key),
    ),
    record_hash: hashes.next(listParts(message, record, scope, text, attributes)),
  });
}

/** All that a record says, and where it comes from. */
function listParts(
  { env, instanceUuid }: Message,
  record: LogRecord,
  scope: string,
  text: string,
  attributes = new Attributes(record.attributes),
): unknown[] {
  const { timeUnixNano, observedTimeUnixNano, severityNumber, severityText, eventName } = record;
  const ids = [toHex(record.traceId), toHex(record.spanId)];
  const level = [severityNumber, severityText, eventName];
  return [
    env,
    instanceUuid,
    scope,
    timeUnixNano,
    observedTimeUnixNano,
    ...ids,
    ...level,
    attributes.toKey(),
    text,
  ];
}

/** The level of the severity number, otherwise the severity text. */
function findLevel({ severityNumber, severityText }: LogRecord): string {
  const number: number = severityNumber;
  const level = LEVELS[Math.floor((number - 1) / 4)];
  return level ?? (truncate(sanitize(severityText), MAX_LEVEL).toLowerCase() || 'info');
}
