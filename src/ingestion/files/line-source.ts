import { type FileHandle, open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { SIGNATURE_BYTES, explainUnreadable } from './file-signature.js';
import { gunzip, isGzip } from './gunzip.js';
import { LineSplitter, type SourceLine } from './line-splitter.js';

/** Longest line that is read, in bytes; a longer one is reported and skipped. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** The file name that stands for standard input. */
const STANDARD_INPUT = '-';
const BATCH = 1_000;
/**
 * A read costs the thread 0.1 ms, whatever its size. Small enough that what gzip makes of it, up to a thousand times as
 * much, stays small too; four times as much raised the peak of an import by 18 MB.
 */
const READ_BYTES = 64 * 1024;

/** The source could not be read, or not to its end; `message` is one line that says why. */
export class LineSourceError extends Error {
  override readonly name = 'LineSourceError';
}

/** The bytes are no text; `message` says what they are and what to do. */
class NotTextError extends Error {}

/** The lines of a file or of standard input, plain or gzip, in batches and in bounded memory. Read it once. */
export class LineSource implements AsyncIterable<SourceLine[]> {
  private read = 0;

  private constructor(
    private readonly label: string,
    private readonly input: Readable,
    /** Size of the file as it lies on the disk; null when it is not known, as for standard input. */
    readonly totalBytes: number | null,
    private readonly maxLineBytes: number,
  ) {}

  /**
   * Opens a file, or standard input for `-`.
   *
   * @throws LineSourceError when it is not there or cannot be read
   */
  static async open(file: string, maxLineBytes = MAX_LINE_BYTES): Promise<LineSource> {
    if (file === STANDARD_INPUT) return LineSource.from(process.stdin, maxLineBytes);
    try {
      const { handle, size } = await openFile(file);
      const input = handle.createReadStream({ highWaterMark: READ_BYTES });
      return new LineSource(file, input, size, maxLineBytes);
    } catch (error) {
      throw new LineSourceError(`Cannot read ${file}: ${describeError(error)}`);
    }
  }

  /** The lines of any stream of bytes, as standard input is one. */
  static from(input: Readable, maxLineBytes = MAX_LINE_BYTES): LineSource {
    return new LineSource('standard input', input, null, maxLineBytes);
  }

  /** Bytes taken from the source so far: those of the gzip file, not of what it holds. */
  get bytesRead(): number {
    return this.read;
  }

  /** Gives every whole line that can be read; then throws LineSourceError when the source broke off. */
  async *[Symbol.asyncIterator](): AsyncGenerator<SourceLine[]> {
    const splitter = new LineSplitter(this.maxLineBytes);
    try {
      for await (const bytes of this.bytes()) yield* toBatches(splitter.push(bytes));
    } catch (error) {
      if (error instanceof NotTextError)
        throw new LineSourceError(`Cannot read ${this.label}: ${error.message}`);
      throw new LineSourceError(`Cannot read ${this.label} to its end: ${describeError(error)}`);
    } finally {
      this.input.destroy();
    }
    yield* toBatches(splitter.end());
  }

  private async *bytes(): AsyncGenerator<Buffer> {
    const chunks = this.chunks();
    const head = await readHead(chunks);
    const whole = prepend(head, chunks);
    yield* checkText(isGzip(head) ? gunzip(whole) : whole);
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

/** Enough of the beginning to know what it is: two bytes, which a pipe may bring one by one. */
async function readHead(chunks: AsyncGenerator<Buffer>): Promise<Buffer> {
  let head = Buffer.alloc(0);
  while (head.length < 2) {
    const next = await chunks.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  return head;
}

async function* prepend(head: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield head;
  yield* rest;
}

/**
 * The same bytes, once enough of them have come to see that they are text. Where the source breaks off before, what has
 * come is given before the error.
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

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a directory',
  Z_BUF_ERROR: 'the gzip data is cut off',
  Z_DATA_ERROR: 'the gzip data is damaged',
};

function describeError(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return REASONS[code] ?? message;
}
