import { type FileHandle, open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { parseJson } from '../../../shared/json/parse-json.js';
import { MAX_RECORD_BYTES } from '../../../records/limits.js';
import { SIGNATURE_BYTES, explainUnreadable } from './file-signature.js';
import { gunzip, isGzip } from '../../decoding/gunzip.js';
import { LineSplitter, type SourceLine } from '../../decoding/line-splitter.js';
import { removePadding } from './nul-padding.js';
import { READS_ZSTD, isZstd, unzstd } from './zstd.js';

/** The file name that stands for standard input. */
const STANDARD_INPUT = '-';
const BATCH = 1_000;
/** Enough to identify each compression. */
const HEAD_BYTES = 4;
/**
 * Bytes per read. A read takes 0.1 ms of the thread at any size. The size is small because gzip can expand it
 * a thousand times; four times the size raised the peak memory of an import by 18 MB.
 */
const READ_BYTES = 64 * 1024;

/** The source could not be read completely; `message` is one line with the reason. */
export class LineSourceError extends Error {
  override readonly name = 'LineSourceError';
}

/** The source is not text; `message` names its format and the remedy. */
class NotTextError extends Error {}

interface LineSourceOptions {
  /** Called with the bytes of lines that are too long, in pieces. */
  onTooLong?: (piece: Buffer) => void;
  /** Set if the file no longer grows. */
  isFinished?: boolean | undefined;
}

/**
 * The lines of a file or of standard input, plain or compressed with gzip or zstd, in batches and in bounded
 * memory. Read it once.
 *
 * In a plain file, a last line without a line end is left out if it is not a whole object of JSON: it may be
 * half-written, and half of a line of an access log can look complete. Imported, it would be another request
 * than the complete line later. A last line of a stream or of compressed data is complete.
 */
export class LineSource implements AsyncIterable<SourceLine[]> {
  private read = 0;
  private hasStopped = false;
  private isPlain = true;
  private leftOut: string | null = null;
  private hasTrailing = false;

  private constructor(
    private readonly label: string,
    private readonly input: Readable,
    /** Size of the file on disk; null if unknown, as for standard input. */
    readonly totalBytes: number | null,
    private readonly options: LineSourceOptions,
  ) {}

  /**
   * Opens a file, or standard input for `-`.
   *
   * @throws LineSourceError if it does not exist or cannot be read
   */
  static async open(file: string, options: LineSourceOptions = {}): Promise<LineSource> {
    if (file === STANDARD_INPUT) return LineSource.from(process.stdin, options);
    try {
      const { handle, size } = await openFile(file);
      const input = handle.createReadStream({ highWaterMark: READ_BYTES });
      return new LineSource(file, input, size, options);
    } catch (error) {
      throw new LineSourceError(`Cannot read ${file}: ${describeError(error)}`);
    }
  }

  /** The lines of a stream of bytes, for example standard input. */
  static from(input: Readable, options: LineSourceOptions = {}): LineSource {
    return new LineSource('standard input', input, null, options);
  }

  /** Bytes read from the source so far, before decompression. */
  get bytesRead(): number {
    return this.read;
  }

  /** Whether `stop` was called before the end. */
  get isStopped(): boolean {
    return this.hasStopped;
  }

  /** The last line, if it was left out because it may be half-written. */
  get lastLineLeftOut(): string | null {
    return this.leftOut;
  }

  /** Whether bytes after the compressed data were ignored. */
  get hasTrailingBytes(): boolean {
    return this.hasTrailing;
  }

  /** Ends the lines without an error, even while the source delivers none. */
  stop(): void {
    this.hasStopped = true;
    this.input.destroy();
  }

  /** Yields every complete line; then throws LineSourceError if the source is truncated. */
  async *[Symbol.asyncIterator](): AsyncGenerator<SourceLine[]> {
    const splitter = new LineSplitter(MAX_RECORD_BYTES, Infinity, this.options.onTooLong);
    try {
      for await (const bytes of this.bytes()) yield* toBatches(splitter.push(bytes));
    } catch (error) {
      if (this.hasStopped) return;
      if (error instanceof NotTextError)
        throw new LineSourceError(`Cannot read ${this.label}: ${error.message}`);
      throw new LineSourceError(`Cannot read ${this.label} to its end: ${describeError(error)}`);
    } finally {
      this.input.destroy();
    }
    if (this.hasStopped) return;
    const last = [...splitter.end()];
    const unfinished = this.mayGrow ? last.find(mayBeHalf) : undefined;
    if (unfinished === undefined) yield* toBatches(last);
    else this.leftOut = unfinished.text;
  }

  private get mayGrow(): boolean {
    return this.totalBytes !== null && this.isPlain && this.options.isFinished !== true;
  }

  private async *bytes(): AsyncGenerator<Buffer> {
    const chunks = this.chunks();
    const head = await readHead(chunks);
    const whole = prepend(head, chunks);
    const unpacked = unpack(head.bytes, whole, () => {
      this.hasTrailing = true;
    });
    this.isPlain = unpacked === whole;
    yield* removePadding(checkText(unpacked));
  }

  private async *chunks(): AsyncGenerator<Buffer> {
    for await (const chunk of this.input as AsyncIterable<Buffer>) {
      this.read += chunk.length;
      yield chunk;
    }
  }
}

async function openFile(file: string): Promise<{ handle: FileHandle; size: number | null }> {
  const handle = await open(file);
  const stats = await handle.stat();
  if (!stats.isDirectory()) return { handle, size: stats.isFile() ? stats.size : null };
  await handle.close();
  throw Object.assign(new Error('is a directory'), { code: 'EISDIR' });
}

/** The first bytes of a source; with the error if the source broke off before there were enough. */
interface Head {
  bytes: Buffer;
  failure?: Error;
}

/** The first bytes, which identify a compression; a pipe may deliver them one by one. */
async function readHead(chunks: AsyncGenerator<Buffer>): Promise<Head> {
  let bytes = Buffer.alloc(0);
  try {
    while (bytes.length < HEAD_BYTES) {
      const next = await chunks.next();
      if (next.done === true) break;
      bytes = Buffer.concat([bytes, next.value]);
    }
  } catch (error) {
    return { bytes, failure: error as Error };
  }
  return { bytes };
}

function unpack(head: Buffer, whole: AsyncIterable<Buffer>, onTrailing: () => void): AsyncIterable<Buffer> {
  if (isGzip(head)) return gunzip(whole, onTrailing);
  return READS_ZSTD && isZstd(head) ? unzstd(whole, onTrailing) : whole;
}

async function* prepend({ bytes, failure }: Head, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield bytes;
  if (failure) throw failure;
  yield* rest;
}

/**
 * Checks that the first bytes are text, then passes all bytes on. If the source ends early, the received
 * bytes are yielded before the error.
 *
 * @throws NotTextError
 */
async function* checkText(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let head = Buffer.alloc(0);
  let isText = false;
  try {
    for await (const chunk of chunks) {
      if (isText) yield chunk;
      else head = Buffer.concat([head, chunk]);
      if (isText || head.length < SIGNATURE_BYTES) continue;
      assertText(head);
      isText = true;
      yield head;
    }
  } catch (error) {
    if (!isText && explainUnreadable(head) === undefined) yield head;
    throw error;
  }
  if (isText) return;
  assertText(head);
  yield head;
}

function assertText(head: Buffer) {
  const reason = explainUnreadable(head);
  if (reason !== undefined) throw new NotTextError(reason);
}

function* toBatches(lines: Iterable<SourceLine>): Generator<SourceLine[]> {
  let batch: SourceLine[] = [];
  for (const line of lines) {
    batch.push(line);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function mayBeHalf({ text }: SourceLine): boolean {
  if (text?.trimStart().startsWith('{') !== true) return text !== null;
  try {
    parseJson(text);
    return false;
  } catch {
    return true;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a directory',
  Z_BUF_ERROR: 'the gzip data is cut off',
  Z_DATA_ERROR: 'the gzip data is damaged',
};

/** Why a file cannot be read, as one clause. */
export function describeError(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return REASONS[code] ?? message;
}
