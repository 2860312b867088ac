import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { type AppScope, AppsService } from '../../apps/apps.service.js';
import type { Account } from '../../auth/account.js';
import { FileAnswer } from '../../common/formats/file-answer.js';
import type { FileFormat } from '../../common/formats/file-format.js';
import { type FileJoiner, createJoiner } from '../../common/formats/file-joiner.js';
import { rateLimitExceeded, serviceUnavailable } from '../../common/http/api-error.js';
import { logsRetainedFrom } from '../../common/time/retention.js';
import { Config } from '../../config/config.js';
import type { RowKey, Sample } from './export-body.fields.js';
import type { ExportQuery } from './export-statement.js';
import { type ExportRequestLogsInput, ALWAYS, EXPORT_FIELDS } from './export.input.js';
import { ExportPages } from './export-pages.js';
import { ExportRepository } from './export.repository.js';

/** Public clients wait 15 s for the headers. */
const HEADERS_WITHIN_MS = 10_000;
/** Exports of one key at once. */
const PER_KEY = 2;

@Injectable()
export class ExportService {
  private readonly running = new Map<string, number>();

  constructor(
    private readonly apps: AppsService,
    private readonly repository: ExportRepository,
    private readonly config: Config,
  ) {}

  /**
   * The request logs of an app as one file, read and sent page by page. It begins once the first page is there, or after ten
   * seconds; what fails before is an error like any other.
   */
  async export(
    account: Account,
    input: ExportRequestLogsInput,
    acceptedFormat: FileFormat,
  ): Promise<FileAnswer> {
    const scope = await this.apps.require(account, input.app_id);
    const { window, fields, filters, sample, limit, after } = input;
    const query: ExportQuery = {
      format: input.format ?? acceptedFormat,
      fields: EXPORT_FIELDS.filter((field) => ALWAYS.includes(field) || fields.includes(field)),
      filters,
      window: { start: Math.max(window.start, logsRetainedFrom(window.now)), end: window.end },
      excludedEndpointIds: scope.excludedEndpointIds,
    };
    const joiner = createJoiner(query.format);
    const chunks = this.read(account.keyIdentifier, scope, query, { sample, limit, after }, joiner);
    const first = chunks.next();
    // Also of an answer that was never begun.
    scope.patience?.addEventListener('abort', () => void chunks.return());
    await Promise.race([first, pause(HEADERS_WITHIN_MS, undefined, { ref: false })]);
    const trailers = () => ({ 'X-Row-Count': String(joiner.rows), 'X-Complete': 'true' });
    return new FileAnswer(query.format, { chunks: resume(first, chunks), trailers });
  }

  private async *read(
    key: string,
    scope: AppScope,
    query: ExportQuery,
    {
      sample,
      limit,
      after,
    }: { sample?: Sample | undefined; limit?: number | undefined; after?: RowKey | undefined },
    joiner: FileJoiner,
  ): AsyncGenerator<Buffer, void, undefined> {
    this.begin(key);
    try {
      const pages = new ExportPages(this.repository, scope);
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
