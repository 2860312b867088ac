import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Account } from '../common/account.js';
import { FileAnswer } from '../common/formats/file-answer.js';
import type { FileFormat } from '../common/formats/file-format.js';
import { type FileJoiner, createJoiner } from '../common/formats/file-joiner.js';
import { RequestContext } from '../common/request-context.js';
import { Config } from '../config/config.js';
import { rateLimitExceeded, serviceUnavailable } from '../http/api-error.js';

/** Public clients wait 15 s for the headers. */
const HEADERS_WITHIN_MS = 10_000;
/** Files that a key may read at once, of all operations together. */
const PER_KEY = 2;

/** Responses whose file is read and sent page by page. */
@Injectable()
export class FileStreams {
  private readonly running = new Map<string, number>();

  constructor(private readonly config: Config) {}

  /**
   * The response begins with the first page, or after ten seconds; an error before that is an error like any other.
   *
   * @param read yields the bytes of the file; the joiner counts its rows
   * @throws ApiError 429 if the key reads two files already, 503 if all keys together read too many
   */
  async respond(
    { keyIdentifier }: Account,
    format: FileFormat,
    read: (joiner: FileJoiner) => AsyncGenerator<Buffer, void, undefined>,
  ): Promise<FileAnswer> {
    const joiner = createJoiner(format);
    const chunks = this.count(keyIdentifier, () => read(joiner));
    const first = chunks.next();
    // Also of a response that was never begun.
    RequestContext.current?.signal?.addEventListener('abort', () => void chunks.return());
    await Promise.race([first, pause(HEADERS_WITHIN_MS, undefined, { ref: false })]);
    const trailers = () => ({ 'X-Row-Count': String(joiner.rows), 'X-Complete': 'true' });
    return new FileAnswer(format, { chunks: resume(first, chunks), trailers });
  }

  private async *count<Chunk>(
    key: string,
    read: () => AsyncGenerator<Chunk, void, undefined>,
  ): AsyncGenerator<Chunk, void, undefined> {
    this.begin(key);
    try {
      yield* read();
    } finally {
      this.end(key);
    }
  }

  private begin(key: string): void {
    const ofKey = this.running.get(key) ?? 0;
    if (ofKey >= PER_KEY) throw rateLimitExceeded(1);
    const all = [...this.running.values()].reduce((sum, count) => sum + count, 0);
    if (all >= this.config.maxExports) throw serviceUnavailable();
    this.running.set(key, ofKey + 1);
  }

  private end(key: string): void {
    const left = (this.running.get(key) ?? 0) - 1;
    if (left > 0) this.running.set(key, left);
    else this.running.delete(key);
  }
}

/** The values of a generator whose first one was asked for already. */
async function* resume<Value>(
  first: Promise<IteratorResult<Value, void>>,
  rest: AsyncGenerator<Value, void, undefined>,
): AsyncGenerator<Value> {
  const { value, done } = await first;
  if (!done) yield value;
  yield* rest;
}
