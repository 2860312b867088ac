import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { Account } from '../../platform/http/account.js';
import { FairShares, type Holder, NoRoom } from '../../shared/fair-shares.js';
import { FileResponse } from '../../platform/http/file-response.js';
import { EXPORT_MEDIA_TYPES, type ExportFormat } from '../../shared/file-format.js';
import { type FileJoiner, createJoiner } from './file-joiner.js';
import { RequestContext } from '../../telemetry/request-context.js';
import { Config } from '../../config/config.js';
import { queryTimedOut, rateLimitExceeded, serviceUnavailable } from '../../platform/http/api-error.js';
import type { ExportOutcome } from '../../telemetry/metrics/metrics.js';
import { Telemetry } from '../../telemetry/telemetry.js';
import { createIssue, valueError } from '../../platform/input/issues.js';
import { ValidationException } from '../../platform/input/validation.exception.js';
import { ExportLimitExceeded } from './row-pages.js';

/** Public clients wait 15 s for the headers. */
const HEADERS_WITHIN_MS = 10_000;
/** Number of files that a key may read at once, over all operations. */
const PER_KEY = 2;

/** One part of a file for its reader. */
interface FilePart {
  /** Concatenates the pages to one file, and counts its rows. */
  readonly joiner: FileJoiner;
  /** The operator's limit on rows; undefined if there is none. */
  readonly maxRows: number | undefined;
}

/** Another team needed the place of a file. */
class PlaceTaken extends Error {
  constructor() {
    super('another team asks for its place');
  }
}

/** Responses whose file is read and sent page by page. */
@Injectable()
export class FileStreams {
  private readonly running = new Map<string, number>();
  private readonly places: FairShares;

  constructor(
    private readonly config: Config,
    @Inject(Telemetry) private readonly telemetry: Telemetry,
  ) {
    this.places = new FairShares(config.maxExports, 1);
  }

  /**
   * The response begins with the first page, or after ten seconds; an error before that is an error like any
   * other.
   *
   * @param body of the request, for the error of a limit
   * @param read yields the bytes of the file
   * @throws ApiError 429 if the key reads two files already, 503 if all keys together read too many or
   *   another team needs the place, 504 after the operator's limit in seconds; ValidationException for a
   *   result beyond the limit in rows
   */
  async respond(
    account: Account,
    format: ExportFormat,
    body: unknown,
    read: (part: FilePart) => AsyncGenerator<Buffer, void, undefined>,
  ): Promise<FileResponse> {
    const joiner = createJoiner(format);
    const deadline = new AbortController();
    const { current } = RequestContext;
    // The file's queries end with its request as well.
    if (current?.signal) current.signal = AbortSignal.any([current.signal, deadline.signal]);
    const { maxRows } = this.config.exportLimits;
    const chunks = this.count(account, format, deadline, () => read({ joiner, maxRows }));
    const first = chunks.next();
    // Also when the response never began.
    current?.signal?.addEventListener('abort', () => void chunks.return());
    await Promise.race([
      first,
      pause(HEADERS_WITHIN_MS, undefined, { ref: false, signal: deadline.signal }),
    ]).catch((error: unknown) => {
      if (deadline.signal.aborted)
        throw deadline.signal.reason instanceof PlaceTaken ? serviceUnavailable() : queryTimedOut();
      if (!(error instanceof ExportLimitExceeded)) throw error;
      throw new ValidationException([createIssue('body', [], body, valueError(error.message))]);
    });
    const trailers = () => ({ 'X-Row-Count': String(joiner.rows), 'X-Complete': 'true' });
    const { signal } = deadline;
    const file = { chunks: resume(first, chunks), trailers, signal, hasPlace: true };
    return new FileResponse(EXPORT_MEDIA_TYPES[format], file);
  }

  private async *count<Chunk>(
    account: Account,
    format: ExportFormat,
    deadline: AbortController,
    read: () => AsyncGenerator<Chunk, void, undefined>,
  ): AsyncGenerator<Chunk, void, undefined> {
    const place = { waitedMs: 0, since: undefined as number | undefined };
    const end = this.begin(account, {
      waitedMs: () => place.waitedMs + (place.since === undefined ? 0 : performance.now() - place.since),
      end: () => {
        deadline.abort(new PlaceTaken());
      },
    });
    const { maxSeconds } = this.config.exportLimits;
    const timer =
      maxSeconds === undefined
        ? undefined
        : setTimeout(() => {
            deadline.abort(new ExportLimitExceeded('max_seconds', maxSeconds));
          }, maxSeconds * 1_000).unref();
    // Without another reason, the consumer of the bytes disconnected.
    let outcome: ExportOutcome = 'client_closed';
    try {
      for await (const chunk of read()) {
        // The next chunk is requested once the client has taken this one.
        place.since = performance.now();
        yield chunk;
        place.waitedMs += performance.now() - place.since;
        place.since = undefined;
      }
      outcome = 'completed';
    } catch (error) {
      if (error instanceof ExportLimitExceeded) outcome = error.limit;
      else if (RequestContext.current?.signal?.aborted !== true) outcome = 'failed';
      throw error;
    } finally {
      clearTimeout(timer);
      end();
      const { aborted, reason } = deadline.signal as { aborted: boolean; reason: unknown };
      if (aborted) outcome = reason instanceof PlaceTaken ? 'place_taken' : 'max_seconds';
      this.telemetry.metrics?.countExport(format, outcome);
    }
  }

  /** Takes a place, and returns the function that frees it. */
  private begin(
    { keyIdentifier: key, teamId: team }: Account,
    file: Pick<Holder, 'waitedMs' | 'end'>,
  ): () => void {
    const ofKey = this.running.get(key) ?? 0;
    if (ofKey >= PER_KEY) throw rateLimitExceeded(1);
    let giveBack: () => void;
    try {
      giveBack = this.places.take({ team, amount: 1, ...file });
    } catch (error) {
      throw error instanceof NoRoom ? serviceUnavailable() : error;
    }
    this.running.set(key, ofKey + 1);
    return () => {
      giveBack();
      const remaining = (this.running.get(key) ?? 0) - 1;
      if (remaining > 0) this.running.set(key, remaining);
      else this.running.delete(key);
    };
  }
}

/** The values of a generator whose first value was already requested. */
async function* resume<Value>(
  first: Promise<IteratorResult<Value, void>>,
  rest: AsyncGenerator<Value, void, undefined>,
): AsyncGenerator<Value> {
  const { value, done } = await first;
  if (!done) yield value;
  yield* rest;
}
