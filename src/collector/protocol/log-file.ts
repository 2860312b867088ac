import { gunzip, isGzip } from '../../ingestion/files/gunzip.js';
import { LineSplitter, type SourceLine } from '../../ingestion/files/line-splitter.js';
import { InvalidRecordError } from '../../ingestion/formats/decoders.js';
import { createEnvName, createMessage } from '../create-message.js';
import type { Message, MessageContext } from '../message.js';
import { type LogItem, parseLogItem } from './log-item.parser.js';

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
  const message = createMessage(uuid, context.env);
  const splitter = new LineSplitter(MAX_LINE_BYTES, MAX_LINES);
  let unpackedBytes = 0;
  /** Whether a line was JSON, also if it was not a valid request. */
  const state = { isReadable: false };
  const addLines = (lines: Iterable<SourceLine>) => {
    for (const { number, text } of lines) {
      const item = text === null ? { reason: 'too long', isJson: false } : parseLogItem(text, context);
      state.isReadable ||= 'record' in item || item.isJson;
      if ('record' in item) addItem(message, item, context);
      else message.rejected.add(`line ${number}: ${item.reason}`);
    }
  };
  try {
    for await (const piece of unpacked(bytes)) {
      unpackedBytes += piece.length;
      if (unpackedBytes > maxBytes) throw new LogFileTooLarge();
      addLines(splitter.push(piece));
      if (splitter.isExceeded) break;
    }
    addLines(splitter.end());
    if (splitter.isExceeded) message.rejected.add(`lines behind the first ${MAX_LINES}`);
  } catch (error) {
    if (!isDamage(error)) throw error;
    message.rejected.add('the gzip data is damaged');
  }
  const { reason } = message.rejected;
  if (reason !== undefined && !state.isReadable) throw new InvalidRecordError(`body: ${reason}`);
  return message;
}

function addItem(
  { names, logs, spans, rejected }: Message,
  item: Extract<LogItem, { record: unknown }>,
  { env, now }: MessageContext,
) {
  rejected.addMembers(item.ignored);
  if (!item.record.excluded_from_logs) logs.push(item.record);
  // The rows of spans need the ID of the environment.
  if (item.spans.length > 0 && names.length === 0) names.push(createEnvName(env, now));
  for (const span of item.spans) spans.push(span);
}

function unpacked(bytes: Buffer): AsyncIterable<Buffer> | Iterable<Buffer> {
  return isGzip(bytes) ? gunzip(slices(bytes)) : [bytes];
}

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES);
}

/** Error codes of zlib for invalid input. */
function isDamage(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && code.startsWith('Z_');
}
