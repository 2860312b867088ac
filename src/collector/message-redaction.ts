import { setImmediate as giveWay } from 'node:timers/promises';
import { weighRequest } from '../ingestion/row-encoder.js';
import type { Redactor } from '../ingestion/redaction/redactor.js';
import {
  type ErrorRecord,
  type LogMessage,
  type Message,
  type SpanRecord,
  weighError,
  weighLogMessage,
  weighSpan,
} from './message.js';

/** Characters that are redacted before other work has its turn: a body can have tens of millions. */
const CHARACTERS_AT_ONCE = 512 * 1024;

/** The messages of a body with their texts redacted; names of environments and consumers are no secrets. */
export async function redactMessages(
  messages: readonly Message[],
  redactor: Redactor,
): Promise<readonly Message[]> {
  const redactPath = <R extends { path: string | null }>(record: R): R => {
    const path = redactor.redactPath(record.path);
    return path === record.path ? record : { ...record, path };
  };
  // Of all messages: a body can have thousands of small ones.
  let characters = 0;
  const redactEach = async <R>(
    records: readonly R[],
    weigh: (record: R) => number,
    redact: (record: R) => R,
  ) => {
    const redacted: R[] = [];
    for (const record of records) {
      characters += weigh(record);
      if (characters > CHARACTERS_AT_ONCE) {
        characters = 0;
        await giveWay();
      }
      redacted.push(redact(record));
    }
    return redacted;
  };
  const redacted: Message[] = [];
  for (const message of messages)
    redacted.push({
      ...message,
      names: message.names.map(redactPath),
      counts: message.counts.map(redactPath),
      spanCounts: message.spanCounts.map(redactPath),
      points: message.points.map(redactPath),
      logs: await redactEach(message.logs, weighRequest, (request) => redactor.redactRequest(request)),
      spans: await redactEach(message.spans, weighSpan, (span) => redactSpan(span, redactor)),
      logMessages: await redactEach(message.logMessages, weighLogMessage, (log) =>
        redactLogMessage(log, redactor),
      ),
      errors: await redactEach(message.errors, weighError, (error) =>
        redactError(redactPath(error), redactor),
      ),
    });
  return redacted;
}

function redactSpan(span: SpanRecord, redactor: Redactor): SpanRecord {
  return {
    ...span,
    name: redactor.redactText(span.name),
    attributes: redactor.redactAttributes(span.attributes),
    events: redactor.redactAttributes(span.events),
  };
}

function redactLogMessage(log: LogMessage, redactor: Redactor): LogMessage {
  return {
    ...log,
    message: redactor.redactText(log.message),
    logger: redactor.redactText(log.logger),
    file: redactor.redactText(log.file),
  };
}

function redactError(error: ErrorRecord, redactor: Redactor): ErrorRecord {
  return {
    ...error,
    type: redactor.redactText(error.type),
    message: redactor.redactText(error.message),
    location: error.location.map((step) => redactor.redactText(step)),
    stacktrace: redactor.redactText(error.stacktrace),
  };
}
