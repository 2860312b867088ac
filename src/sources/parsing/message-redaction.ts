import type { Slices, Steps } from '../../shared/async/slices.js';
import type { Redactor } from '../../records/redaction/redactor.js';
import type { SpanRecord } from '../../records/span-record.js';
import type { DimensionNames } from '../../records/names/name-registry.js';
import type { ApiDocument, ErrorRecord, LogMessage, Message } from '../../write/batches/message.js';

/** The messages of a body with their texts redacted. */
export async function redactMessages(
  messages: readonly Message[],
  redactor: Redactor,
  work: Slices,
): Promise<readonly Message[]> {
  const redactNames = <R extends DimensionNames>(record: R) => redactor.redactNames(record);
  const redactInSteps = <R>(records: readonly R[], redact: (record: R) => Steps<R>) =>
    work.run(mapInSteps(records, redact));
  const redactEach = <R>(records: readonly R[], redact: (record: R) => R) =>
    redactInSteps(records, function* (record) {
      yield;
      return redact(record);
    });
  const redacted: Message[] = [];
  for (const message of messages)
    redacted.push({
      ...message,
      apiDocument: message.apiDocument && (await work.run(redactDocument(message.apiDocument, redactor))),
      names: await redactEach(message.names, redactNames),
      counts: await redactEach(message.counts, redactNames),
      spanCounts: await redactEach(message.spanCounts, redactNames),
      points: await redactEach(message.points, redactNames),
      logs: await redactInSteps(message.logs, (request) => redactor.redactRequest(request)),
      spans: await redactInSteps(message.spans, (span) => redactSpan(span, redactor)),
      logMessages: await redactInSteps(message.logMessages, (log) => redactLogMessage(log, redactor)),
      errors: await redactEach(message.errors, (error) => redactError(redactNames(error), redactor)),
    });
  return redacted;
}

function* mapInSteps<R>(records: readonly R[], map: (record: R) => Steps<R>): Steps<R[]> {
  const mapped: R[] = [];
  for (const record of records) {
    mapped.push(yield* map(record));
    yield;
  }
  return mapped;
}

function* redactSpan(span: SpanRecord, redactor: Redactor): Steps<SpanRecord> {
  return {
    ...span,
    name: redactor.redactText(span.name),
    scope_name: redactor.redactText(span.scope_name),
    scope_version: redactor.redactText(span.scope_version),
    attributes: yield* redactor.redactAttributes(span.attributes),
    events: yield* redactor.redactAttributes(span.events),
  };
}

function* redactLogMessage(log: LogMessage, redactor: Redactor): Steps<LogMessage> {
  return {
    ...log,
    message: redactor.redactText(log.message),
    logger: redactor.redactText(log.logger),
    file: redactor.redactText(log.file),
    attributes: yield* redactor.redactAttributes(log.attributes),
  };
}

function* redactDocument({ document, routes }: ApiDocument, redactor: Redactor): Steps<ApiDocument> {
  return {
    document: yield* redactor.redactDocument(document),
    routes: yield* redactor.redactDocument(routes),
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
