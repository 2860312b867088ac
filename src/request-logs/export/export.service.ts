import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { type AppScope, AppsService } from '../../apps/apps.service.js';
import type { Account } from '../../common/account.js';
import { FileAnswer } from '../../common/formats/file-answer.js';
import type { FileFormat } from '../../common/formats/file-format.js';
import { type FileJoiner, createJoiner } from '../../common/formats/file-joiner.js';
import { RequestContext } from '../../common/request-context.js';
import { logsRetainedFrom } from '../../common/time/retention.js';
import { Config } from '../../config/config.js';
import { queryTimedOut, rateLimitExceeded, serviceUnavailable } from '../../http/api-error.js';
import type { ExportOutcome } from '../../observability/metrics/metrics.js';
import { Telemetry } from '../../observability/telemetry.js';
import { ValidationException, createIssue, valueError } from '../../validation/issues.js';
import type { Sample } from './export-body.fields.js';
import { type ExportPart, ExportPages } from './export-pages.js';
import type { ExportQuery } from './export-statement.js';
import { ALWAYS, EXPORT_FIELDS, type ExportRequestLogsInput } from './export.input.js';
import { ExportRepository } from './export.repository.js';

/** Public clients wait 15 s for the headers. */
const HEADERS_WITHIN_MS = 10_000;
/** Exports of one key at once. */
const PER_KEY = 2;

/** An export exceeds a limit of the configuration. */
class ExportLimitExceeded extends Error {
  override readonly name = 'ExportLimitExceeded';

  constructor(
    readonly limit: 'max_rows' | 'max_seconds',
    most: number,
  ) {
    super(
      limit === 'max_rows' ? `the result has more than ${most} rows` : `it takes more than ${most} seconds`,
    );
  }
}

@Injectable()
export class ExportService {
  private readonly running = new Map<string, number>();

  constructor(
    private readonly apps: AppsService,
    private readonly repository: ExportRepository,
    private readonly config: Config,
    @Inject(Telemetry) private readonly telemetry: Telemetry,
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
    const deadline = new AbortController();
    const { current } = RequestContext;
    // Its queries end with it as well.
    if (current?.signal) current.signal = AbortSignal.any([current.signal, deadline.signal]);
    const part = { sample, limit, after };
    const chunks = this.read(account.keyIdentifier, scope, query, part, joiner, deadline);
    const first = chunks.next();
    // Also of an answer that was never begun.
    current?.signal?.addEventListener('abort', () => void chunks.return());
    await Promise.race([
      first,
      pause(HEADERS_WITHIN_MS, undefined, { ref: false, signal: deadline.signal }),
    ]).catch((error: unknown) => {
      if (deadline.signal.aborted) throw queryTimedOut();
      if (!(error instanceof ExportLimitExceeded)) throw error;
      throw new ValidationException([createIssue('body', [], input.body, valueError(error.message))]);
    });
    const trailers = () => ({ 'X-Row-Count': String(joiner.rows), 'X-Complete': 'true' });
    return new FileAnswer(query.format, {
      chunks: resume(first, chunks),
      trailers,
      signal: deadline.signal,
    });
  }

  private async *read(
    key: string,
    scope: AppScope,
    query: ExportQuery,
    { sample, ...part }: ExportPart & { sample?: Sample | undefined },
    joiner: FileJoiner,
    deadline: AbortController,
  ): AsyncGenerator<Buffer, void, undefined> {
    this.begin(key);
    const { maxRows = Infinity, maxSeconds } = this.config.exportLimits;
    const timer =
      maxSeconds === undefined
        ? undefined
        : setTimeout(() => {
            deadline.abort(new ExportLimitExceeded('max_seconds', maxSeconds));
          }, maxSeconds * 1_000).unref();
    // Where nothing else is known, the consumer of the bytes went away.
    let outcome: ExportOutcome = 'client_closed';
    try {
      const pages = new ExportPages(this.repository, scope);
      const hashBelow = sample && (await pages.toHashBound(query, sample));
      const sampled = { ...query, hashBelow };
      const { limit = Infinity, after } = part;
      if (limit > maxRows && ((await pages.countAhead(sampled, after)) ?? 0) > maxRows)
        throw new ExportLimitExceeded('max_rows', maxRows);
      // A row more shows that there are more.
      for await (const chunk of pages.read(sampled, { after, limit: Math.min(limit, maxRows + 1) }, joiner)) {
        if (joiner.rows > maxRows) throw new ExportLimitExceeded('max_rows', maxRows);
        yield chunk;
      }
      outcome = 'completed';
    } catch (error) {
      if (error instanceof ExportLimitExceeded) outcome = error.limit;
      else if (RequestContext.current?.signal?.aborted !== true) outcome = 'failed';
      throw error;
    } finally {
      clearTimeout(timer);
      this.end(key);
      this.telemetry.metrics?.countExport(query.format, deadline.signal.aborted ? 'max_seconds' : outcome);
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
