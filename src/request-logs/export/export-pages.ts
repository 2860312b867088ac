import type { AppScope } from '../../apps/apps.service.js';
import { exceedsLimits } from '../../clickhouse/clickhouse.errors.js';
import type { FileJoiner } from '../../common/formats/file-joiner.js';
import { RequestContext } from '../../common/request-context.js';
import type { RowKey, Sample } from './export-body.fields.js';
import { type ExportQuery, type ExportRange, isCheap } from './export-statement.js';
import type { ExportRepository } from './export.repository.js';

/** Small, so that the first rows come soon. */
const FIRST_CANDIDATES = 1_000;
/** Records that are read for one page, of which costly filters may take few. */
const MAX_CANDIDATES = 400_000;
/** What a page is to have: larger ones are hardly faster. */
const PAGE_ROWS = 50_000;
const PAGE_BYTES = 16 * 1024 * 1024;
const PAGE_MS = 500;
const GROWTH = 4;
/** How much smaller a page is that is tried again. */
const SHRINKAGE = 8;
/** Hashes of 64 bits are compared with the share of a sample. */
const HASHES = 2 ** 64;

/** What is wanted of the rows of a query. */
export interface ExportPart {
  readonly limit?: number | undefined;
  readonly after?: RowKey | undefined;
}

/**
 * Reads an export in pages. The key at which a page ends is found first, by the filters that need columns alone; so pages
 * meet without a gap for all filters, each reads a bounded number of records, and each is whole before any of it
 * is given out.
 */
export class ExportPages {
  constructor(
    private readonly repository: ExportRepository,
    private readonly scope: AppScope,
  ) {}

  /** The bytes of one file with all rows. @param onPage is given the last key of each page but the last */
  async *read(
    query: ExportQuery,
    { limit = Infinity, after }: ExportPart,
    joiner: FileJoiner,
    onPage?: (last: RowKey) => void,
  ): AsyncGenerator<Buffer, void, undefined> {
    const isFiltered = query.filters.some((filter) => !isCheap(filter));
    let candidates = isFiltered ? FIRST_CANDIDATES : Math.min(FIRST_CANDIDATES, limit);
    const pages = this.cursor(query, after, candidates, (range) => {
      const missing = limit - joiner.rows;
      return this.repository.page(this.scope, query, range, Number.isFinite(missing) ? missing : undefined);
    });
    for (;;) {
      const { value: page, done } = await pages.next(candidates);
      if (done) break;
      if (page.last) onPage?.(page.last);
      const before = joiner.rows;
      const chunks = joiner.add(page.result);
      for (const chunk of chunks) if (chunk.length > 0) yield chunk;
      if (joiner.rows >= limit) break;
      const rows = joiner.rows - before;
      candidates = Math.min(
        planNext(page, rows, page.result.length),
        isFiltered ? Infinity : limit - joiner.rows,
      );
    }
    yield joiner.end();
  }

  /** How many rows there are behind `after`; undefined where filters do not let one query count them. */
  async countAhead(query: ExportQuery, after: RowKey | undefined): Promise<number | undefined> {
    if (!query.filters.every(isCheap)) return undefined;
    return this.repository.count(this.scope, query, { after, last: undefined, hasOlderRows: false });
  }

  /** The bound on hashes below which a sample's rows have theirs; undefined where the sample is all rows. */
  async toHashBound(query: ExportQuery, sample: Sample): Promise<bigint | undefined> {
    const share = 'share' in sample ? sample.share : sample.rows / (await this.count(query));
    return share >= 1 ? undefined : BigInt(Math.floor(share * HASHES));
  }

  private async count(query: ExportQuery): Promise<number> {
    const all = await this.countAhead(query, undefined);
    if (all !== undefined) return all;
    const parts = this.cursor(query, undefined, FIRST_CANDIDATES, (range) =>
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

  /**
   * Goes through a query's records in their order, so many at a time as the consumer says. What exceeds the limits of a query
   * is tried again with fewer.
   */
  private async *cursor<Result>(
    query: ExportQuery,
    after: RowKey | undefined,
    candidates: number,
    ask: (range: ExportRange) => Promise<Result>,
  ): AsyncGenerator<Page<Result>, void, number> {
    for (let isLast = false; !isLast;) {
      const startedAt = performance.now();
      const { last, hasOlderRows } = await this.repository.findEnd(this.scope, query, after, candidates);
      let result: Result;
      try {
        result = await ask({ after, last, hasOlderRows });
      } catch (error) {
        RequestContext.current?.signal?.throwIfAborted();
        if (!exceedsLimits(error) || candidates === 1) throw error;
        candidates = Math.ceil(candidates / SHRINKAGE);
        continue;
      }
      isLast = last === undefined;
      after = last;
      candidates = yield { result, last, candidates, ms: performance.now() - startedAt };
    }
  }
}

interface Page<Result> {
  readonly result: Result;
  /** Undefined: the rest. */
  readonly last: RowKey | undefined;
  /** Records that were read for it. */
  readonly candidates: number;
  readonly ms: number;
}

/** How many records the next page is to be made of: so many that it has the rows, bytes and time of a page at most. */
function planNext({ candidates, ms }: Page<unknown>, rows: number, bytes: number): number {
  const factor = Math.min(GROWTH, PAGE_ROWS / rows, PAGE_BYTES / bytes, PAGE_MS / ms);
  return Math.max(1, Math.min(MAX_CANDIDATES, Math.floor(candidates * factor)));
}
