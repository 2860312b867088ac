import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { type AppScope, AppsService } from '../apps/apps.service.js';
import type { Account } from '../common/account.js';
import { FileAnswer } from '../common/formats/file-answer.js';
import type { FileFormat } from '../common/formats/file-format.js';
import { type FileJoiner, createJoiner } from '../common/formats/file-joiner.js';
import { RequestContext } from '../common/request-context.js';
import { logsRetainedFrom } from '../common/time/retention.js';
import { Config } from '../config/config.js';
import { rateLimitExceeded, serviceUnavailable } from '../http/api-error.js';
import { SpanPages } from './span-pages.js';
import { ALWAYS, type QueryTracesInput } from './traces.input.js';
import { TracesRepository } from './traces.repository.js';
import type { TracesQuery } from './traces.statement.js';

/** Public clients wait 15 s for the headers. */
const HEADERS_WITHIN_MS = 10_000;
/** Answers of one key at once. */
const PER_KEY = 2;
const NANOSECONDS = 1_000_000n;
/** Later than any span is taken. */
const END_MS = Date.UTC(2100, 0, 1);

@Injectable()
export class TracesService {
  private readonly running = new Map<string, number>();

  constructor(
    private readonly apps: AppsService,
    private readonly repository: TracesRepository,
    private readonly config: Config,
  ) {}

  /**
   * The spans of an app as one file, read and sent page by page. It begins once the first page is there, or after ten seconds;
   * what fails before is an error like any other.
   */
  async query(account: Account, input: QueryTracesInput, acceptedFormat: FileFormat): Promise<FileAnswer> {
    const scope = await this.apps.require(account, input.app_id);
    const { window, fields, filters } = input;
    const toNanoseconds = (ms: number) => BigInt(ms) * NANOSECONDS;
    const query: TracesQuery = {
      format: input.format ?? acceptedFormat,
      fields: [...new Set([...ALWAYS, ...fields])],
      filters,
      window: {
        from: toNanoseconds(Math.max(window.start, logsRetainedFrom(Date.now()))),
        to: toNanoseconds(Math.min(window.end, END_MS)),
      },
    };
    const joiner = createJoiner(query.format);
    const chunks = this.read(account.keyIdentifier, scope, query, input, joiner);
    const first = chunks.next();
    // Also of an answer that was never begun.
    RequestContext.current?.signal?.addEventListener('abort', () => void chunks.return());
    await Promise.race([first, pause(HEADERS_WITHIN_MS, undefined, { ref: false })]);
    const trailers = () => ({ 'X-Row-Count': String(joiner.rows), 'X-Complete': 'true' });
    return new FileAnswer(query.format, { chunks: resume(first, chunks), trailers });
  }

  private async *read(
    key: string,
    scope: AppScope,
    query: TracesQuery,
    { sample, limit, after }: Pick<QueryTracesInput, 'sample' | 'limit' | 'after'>,
    joiner: FileJoiner,
  ): AsyncGenerator<Buffer, void, undefined> {
    this.begin(key);
    try {
      const pages = new SpanPages(this.repository, scope);
      const hashBelow = sample && (await pages.toHashBound(query, sample));
      yield* pages.read({ ...query, hashBelow }, { limit, after }, joiner);
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
