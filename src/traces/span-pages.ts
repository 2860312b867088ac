import type { AppScope } from '../apps/apps.service.js';
import { exceedsLimits } from '../clickhouse/clickhouse.errors.js';
import type { FileJoiner } from '../common/formats/file-joiner.js';
import { RequestContext } from '../common/request-context.js';
import type { Sample } from '../request-logs/export/export-body.fields.js';
import type { SpanKey } from './traces.input.js';
import type { TracesRepository } from './traces.repository.js';
import { type SpanRange, type TracesQuery, isCheap } from './traces.statement.js';

/** Small, so that the first rows come soon. */
const FIRST_CANDIDATES = 1_000;
/** Largest number of spans that are read for a page; expensive filters may leave few of them. */
const MAX_CANDIDATES = 400_000;
/** Limits of a page: larger ones are hardly faster. */
const PAGE_ROWS = 50_000;
const PAGE_BYTES = 16 * 1024 * 1024;
const PAGE_MS = 500;
const GROWTH = 4;
/** Hashes of 64 bits are compared with the share of a sample. */
const HASHES = 2 ** 64;

/**
 * Reads spans in pages. The last key of a page is found first, with the cheap filters only. So pages have no gaps, each reads a
 * bounded number of spans, and each is complete before any of it is sent.
 */
export class SpanPages {
  constructor(
    private readonly repository: TracesRepository,
    private readonly scope: AppScope,
  ) {}

  /** The bytes of one file with the rows after `after`, at most `limit`. */
  async *read(
    query: TracesQuery,
    { limit = Infinity, after }: { limit?: number | undefined; after?: SpanKey | undefined },
    joiner: FileJoiner,
  ): AsyncGenerator<Buffer, void, undefined> {
    const isFiltered = !query.filters.every(isCheap);
    const most = () => (isFiltered ? Infinity : Math.max(1, limit - joiner.rows));
    let candidates = Math.min(FIRST_CANDIDATES, most());
    const pages = this.walk(query, after, candidates, (range) => {
      const missing = limit - joiner.rows;
      return this.repository.page(this.scope, query, range, Number.isFinite(missing) ? missing : undefined);
    });
    for (;;) {
      const { value: page, done } = await pages.next(candidates);
      if (done) break;
      const before = joiner.rows;
      for (const chunk of joiner.add(page.result)) if (chunk.length > 0) yield chunk;
      if (joiner.rows >= limit) break;
      candidates = Math.min(planNext(page, joiner.rows - before, page.result.length), most());
    }
    yield joiner.end();
  }

  /** The bound on hashes below which a sample's rows have theirs; undefined where the sample is all rows. */
  async toHashBound(query: TracesQuery, sample: Sample): Promise<bigint | undefined> {
    const share = 'share' in sample ? sample.share : sample.rows / (await this.count(query));
    return share >= 1 ? undefined : BigInt(Math.floor(share * HASHES));
  }

  private async count(query: TracesQuery): Promise<number> {
    const parts = this.walk(query, undefined, FIRST_CANDIDATES, (range) =>
      this.repository.count(this.scope, query, range),
    );
    let sum = 0;
    for (let candidates = FIRST_CANDIDATES; ;) {
      const { value: part, done } = await parts.next(candidates);
      if (done) return sum;
      sum += part.result;
      candidates = planNext(part, 0, 0);
    }
  }

  /** Goes through the spans in their order. What exceeds the limits of a query is tried again with fewer. */
  private async *walk<Result>(
    query: TracesQuery,
    after: SpanKey | undefined,
    candidates: number,
    ask: (range: SpanRange) => Promise<Result>,
  ): AsyncGenerator<Page<Result>, void, number> {
    for (let isLast = false; !isLast;) {
      const startedAt = performance.now();
      const last = await this.repository.findKey(this.scope, query, after, candidates);
      let result: Result;
      try {
        result = await ask({ after, last });
      } catch (error) {
        RequestContext.current?.signal?.throwIfAborted();
        if (!exceedsLimits(error) || candidates === 1) throw error;
        candidates = Math.ceil(candidates / GROWTH);
        continue;
      }
      isLast = last === undefined;
      after = last;
      candidates = yield { result, candidates, ms: performance.now() - startedAt };
    }
  }
}

interface Page<Result> {
  readonly result: Result;
  /** Spans that were read for it. */
  readonly candidates: number;
  readonly ms: number;
}

/** How many spans the next page is to be made of: so many that it has the rows, bytes and time of a page at most. */
function planNext({ candidates, ms }: Page<unknown>, rows: number, bytes: number): number {
  const factor = Math.min(GROWTH, PAGE_ROWS / rows, PAGE_BYTES / bytes, PAGE_MS / ms);
  return Math.max(1, Math.min(MAX_CANDIDATES, Math.floor(candidates * factor)));
}
