import { hash } from 'node:crypto';
import type { RedactionOptions } from '../../config/redaction.js';
import { Redactor } from '../../records/redaction/redactor.js';
import { readSpanRecords } from '../../records/span-record.js';
import type { Steps } from '../../shared/async/slices.js';
import type { Message, MessageContext } from '../../write/batches/message.js';
import { BodySpans, type WaitingStatements } from '../../write/batches/inner-spans.js';
import { parseLogFile } from '../hub/log-file.js';
import { parseStartup } from '../hub/startup.parser.js';
import { parseSync } from '../hub/sync.parser.js';
import type { BodyWork } from '../intake/body-work.js';
import { type LongLine, type ParsedLine, parseLongLine } from '../lines/files/long-line.js';
import { UnpackLimit } from '../intake/unpack-limit.js';
import type { Encoding } from '../otlp/encoding.js';
import { type Signal, readItems } from '../otlp/items.js';
import { parseLogs } from '../otlp/logs.parser.js';
import { parseMetrics } from '../otlp/metrics.parser.js';
import type { BodyContext } from '../otlp/origin.js';
import { parseTraces } from '../otlp/traces.parser.js';
import { redactMessages } from './message-redaction.js';

/** What a body is, and what its parser has to know: plain data, which another thread can receive. */
export type ParseTask =
  | (MessageContext & { readonly kind: 'startup' | 'sync' })
  | (MessageContext & { readonly kind: 'log'; readonly uuid: string })
  | ExportTask;
type ExportTask = Omit<BodyContext, 'digest' | 'expansion'> & {
  readonly kind: Signal;
  readonly encoding: Encoding;
};

export interface ParsedBody {
  /** Redacted. */
  readonly messages: readonly Message[];
  /** What spans say of requests of other bodies. */
  readonly waiting: WaitingStatements;
}

/** Plain data, which another thread can receive. */
export interface ParserOptions {
  readonly redaction: RedactionOptions | null;
  readonly maxLogFileBytes: number;
  readonly maxOtlpBytes: number;
  readonly maxUnpackRatio: number;
}

/** Parses and redacts the bodies of every protocol. */
export class BodyParser {
  private readonly redactor: Redactor;
  readonly logFileLimit: UnpackLimit;

  constructor(private readonly options: ParserOptions) {
    this.redactor = new Redactor(options.redaction);
    this.logFileLimit = new UnpackLimit(options.maxLogFileBytes, options.maxUnpackRatio);
  }

  /**
   * @param maxExpansion bytes that packed texts may add
   * @throws InvalidRecordError if the body is invalid, ApiError 413 if it is too large or takes too long
   * @throws ExpandedBodyError if packed texts add more than they may
   */
  async parse(
    task: ParseTask,
    body: Buffer,
    work: BodyWork,
    maxExpansion = this.options.maxOtlpBytes,
  ): Promise<ParsedBody> {
    const spans = new BodySpans(this.redactor);
    const messages =
      task.kind === 'log'
        ? [await parseLogFile(body, task.uuid, task, this.logFileLimit, work)]
        : await work.run(this.parseInSteps(task, body, spans, maxExpansion));
    return { messages: await redactMessages(messages, this.redactor, work), waiting: spans.waiting };
  }

  /** Parses and redacts a single line of requests. @throws ApiError 413 if it takes too long */
  async parseLine(line: LongLine, bytes: Buffer, work: BodyWork): Promise<ParsedLine> {
    const parsed = parseLongLine(bytes, line);
    // Parsing is one step.
    await work.giveWay();
    const { result } = parsed;
    if (result === null || 'reason' in result) return parsed;
    const record = await work.run(this.redactor.redactRequest(result.record));
    const redactedSpans = readSpanRecords(record, Date.now());
    return { ...parsed, result: { ...result, record: { ...record, redactedSpans } } };
  }

  private *parseInSteps(
    task: Exclude<ParseTask, { kind: 'log' }>,
    body: Buffer,
    spans: BodySpans,
    maxExpansion: number,
  ): Steps<Message[]> {
    switch (task.kind) {
      case 'startup':
        return [yield* parseStartup(body, task)];
      case 'sync':
        return [yield* parseSync(body, task)];
      case 'traces':
        return yield* parseTraces(
          readItems('traces', body, task.encoding),
          this.toContext(task, body, maxExpansion),
          spans,
        );
      case 'metrics':
        return yield* parseMetrics(readItems('metrics', body, task.encoding), this.toContext(task, body));
      case 'logs':
        return yield* parseLogs(readItems('logs', body, task.encoding), this.toContext(task, body));
    }
  }

  private toContext(task: ExportTask, body: Buffer, maxExpansion = Infinity): BodyContext {
    const digest = `${task.kind}\n${hash('sha256', body)}`;
    const { maxOtlpBytes: remaining } = this.options;
    return { ...task, digest, expansion: { remaining, minimum: remaining - maxExpansion } };
  }
}
