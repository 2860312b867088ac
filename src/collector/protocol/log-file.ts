import { gunzip, isGzip } from '../../ingestion/files/gunzip.js';
import { LineSplitter, type SourceLine } from '../../ingestion/files/line-splitter.js';
import { InvalidRecordError } from '../../ingestion/formats/decoders.js';
import type { Message, MessageContext } from '../message.js';
import { createMessage } from './json-message.js';
import { parseLogItem } from './log-item.parser.js';
import { createEnvName } from './startup.parser.js';

/** More than a library sends: it logs at most 100 requests a second and sends a file each minute. */
const MAX_LINES = 20_000;
/** Two bodies, 1,000 log messages and a stack at their limits, and spans. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
/** Small, because gzip can expand it a thousand times before the next check of the limit. */
const SLICE_BYTES = 4 * 1024;

/** The decompressed file exceeds the limit. */
export class LogFileTooLarge extends Error {
  override readonly name = 'LogFileTooLarge';
}

/**
 * Reads a `log` file: NDJSON, as a rule in gzip. Invalid lines are rejected, and so is the rest of a damaged file
 * or of a file with too many lines. A 4xx would make a library retry the file forever and lose its other data.
 *
 * @param maxBytes of the decompressed file
 * @throws InvalidRecordError if no line is JSON; LogFileTooLarge
 */
export async function parseLogFile(
  bytes: Buffer,
  uuid: string,
  context: MessageContext,
  maxBytes: number,
): Promise<Message> {
  const reader = new LogFileReader(uuid, context);
  const { message } = reader;
  const splitter = new LineSplitter(MAX_LINE_BYTES, MAX_LINES);
  let unpackedBytes = 0;
  try {
    for await (const piece of unpacked(bytes)) {
      unpackedBytes += piece.length;
      if (unpackedBytes > maxBytes) throw new LogFileTooLarge();
      reader.add(splitter.push(piece));
      if (splitter.isExceeded) break;
    }
    reader.add(splitter.end());
    if (splitter.isExceeded) message.rejected.add(`lines behind the first ${MAX_LINES}`);
  } catch (error) {
    if (!isDamage(error)) throw error;
    message.rejected.add('the gzip data is damaged');
  }
  const { reason } = message.rejected;
  if (reason !== undefined && !reader.isReadable) throw new InvalidRecordError(`body: ${reason}`);
  return message;
}

class LogFileReader {
  readonly message: Message;
  /** Whether a line was JSON, also if it was not a valid request. */
  isReadable = false;

  constructor(
    uuid: string,
    private readonly context: MessageContext,
  ) {
    this.message = createMessage(uuid, context.env);
  }

  add(lines: Iterable<SourceLine>) {
    for (const { number, text } of lines) {
      if (text === null) this.reject(number, 'too long');
      else this.readLine(number, text);
    }
  }

  private readLine(number: number, text: string) {
    const item = parseLogItem(text, this.context);
    const { names, spans } = this.message;
    this.isReadable ||= 'record' in item || item.isJson;
    if ('reason' in item) {
      this.reject(number, item.reason);
      return;
    }
    this.message.rejected.addMembers(item.ignored);
    if (!item.record.excluded_from_logs) this.message.logs.push(item.record);
    if (item.spans.length === 0) return;
    // The rows of spans need the ID of the environment.
    if (names.length === 0) names.push(createEnvName(this.context.env, this.context.now));
    for (const span of item.spans) spans.push(span);
  }

  private reject(line: number, reason: string) {
    this.message.rejected.add(`line ${line}: ${reason}`);
  }
}

function unpacked(bytes: Buffer): AsyncIterable<Buffer> | Iterable<Buffer> {
  return isGzip(bytes) ? gunzip(slices(bytes)) : [bytes];
}

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES);
}

/** Error codes of zlib for invalid input. */
function isDamage(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && code.startsWith('Z_');
}
