import { gunzip, isGzip } from '../decoding/gunzip.js';
import { LineSplitter, type SourceLine } from '../decoding/line-splitter.js';
import { InvalidRecordError } from '../../records/decoding/decoders.js';
import { MAX_RECORD_BYTES } from '../../records/limits.js';
import type { BodyWork } from '../intake/body-work.js';
import { createEnvName, createMessage } from '../intake/create-message.js';
import type { Message, MessageContext } from '../../write/batches/message.js';
import { type LogItem, parseLogItem } from './log-item.parser.js';
import type { UnpackLimit } from '../intake/unpack-limit.js';

/** Larger than any file of a library: it logs at most 100 requests a second and sends a file each minute. */
const MAX_LINES = 20_000;

/**
 * Reads a `log` file: NDJSON, usually in gzip. Invalid lines are rejected, and so is the rest of a damaged
 * file or of a file with too many lines. A 4xx would make a library retry the file forever and lose its other
 * data.
 *
 * @throws InvalidRecordError if no line is JSON; ApiError 413 if it unpacks to too much, or takes too long
 */
export async function parseLogFile(
  bytes: Buffer,
  uuid: string,
  context: MessageContext,
  limit: UnpackLimit,
  work: BodyWork,
): Promise<Message> {
  const message = createMessage(uuid, context.env);
  const splitter = new LineSplitter(MAX_RECORD_BYTES, MAX_LINES);
  let unpackedBytes = 0;
  /** Whether any line was JSON, including invalid requests. */
  const state = { isReadable: false };
  const addLines = async (lines: Iterable<SourceLine>) => {
    for (const { number, text } of lines) {
      const item = text === null ? { reason: 'too long', isJson: false } : parseLogItem(text, context);
      state.isReadable ||= 'record' in item || item.isJson;
      if ('record' in item) addItem(message, item, context);
      else message.rejected.add(`line ${number}: ${item.reason}`);
      if (work.isOver) await work.giveWay();
    }
  };
  try {
    for await (const piece of isGzip(bytes) ? gunzip([bytes]) : [bytes]) {
      unpackedBytes += piece.length;
      if (unpackedBytes > limit.find(bytes.length)) throw limit.explain(bytes.length);
      await addLines(splitter.push(piece));
      if (splitter.isExceeded) break;
    }
    await addLines(splitter.end());
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

/** Error codes of zlib for invalid input. */
function isDamage(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && code.startsWith('Z_');
}
