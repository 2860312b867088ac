import { QueryTimedOut, exceedsLimits } from '../../store/client/clickhouse.errors.js';
import type { FileJoiner } from './file-joiner.js';
import { RequestContext } from '../../telemetry/request-context.js';
import type { Sample } from './body.fields.js';

/** Small, so that the first rows are sent early. */
const FIRST_CANDIDATES = 1_000;
/** Largest number of rows that are read for a page; expensive filters may leave few of them. */
const MAX_CANDIDATES = 400_000;
/** Largest page in bytes: a page is in memory as a whole. */
export const MAX_PAGE_BYTES = 64 * 1024 * 1024;
/** Sizes that the next page aims at: larger pages are hardly faster. */
const PAGE_ROWS = 50_000;
const PAGE_BYTES = 8 * 1024 * 1024;
const PAGE_MS = 500;
const GROWTH = 4;
/** A page that exceeds a limit is tried again this many times smaller. */
const SHRINKAGE = 8;
/** A hash of 64 bits, divided by this, is compared with the share of a sample. */
const HASHES = 2 ** 64;

/** A file that exceeds a limit of the operator (docs/contract.md#export-limits). */
export class ExportLimitExceeded extends Error {
  override readonly name = 'ExportLimitExceeded';
  constructor(
    readonly limit: 'max_rows' | 'max_seconds',
    count: number,
  ) {
    super(
      limit === 'max_rows' ? `the result has more than ${count} rows` : `it takes more than ${count} seconds`,
    );
  }
}

/** The rows after `after`, up to and including `last`; without `last`, all rows after `after`. */
export interface RowRange<Key> {
  readonly after: Key | undefined;
  readonly last: Key | undefined;
}

/** Rows in the order of their keys. Candidates are the rows that match the cheap filters. */
export interface RowSource<Key> {
  /** Whether all filters are cheap, so that each candidate is a row. */
  readonly isCheap: boolean;
  /** The range of the next `count` candidates. */
  findRange(after: Key | undefined, count: number): Promise<RowRange<Key>>;
  /** The rows of a range as one file, at most `limit`. */
  readPage(range: RowRange<Key>, limit: number | undefined): Promise<Buffer>;
  /** The number of rows of a range. */
  count(range: RowRange<Key>): Promise<number>;
}

export interface ReadOptions<Key> {
  readonly limit?: number | undefined;
  readonly after?: Key | undefined;
  /** More rows are an error, unless `limit` is smaller. */
  readonly maxRows?: number | undefined;
  /** Limit of the time of all queries together, in milliseconds. */
  readonly maxQueryMs?: number;
  /** Called with the last key of each page except the last page. */
  readonly onPage?: (last: Key) => void;
}

/**
 * The bytes of one file with the rows after `after`. The last key of a page is found first, with the cheap
 * filters only. So pages have no gaps, each reads a bounded number of rows, and each is complete before any
 * of it is sent.
 *
 * @throws QueryTimedOut if the queries take longer than `maxQueryMs`; ExportLimitExceeded if there are more
 *   than `maxRows` rows, before the first byte if all filters are cheap
 */
export async function* readPages<Key>(
  source: RowSource<Key>,
  joiner: FileJoiner,
  { limit = Infinity, after, maxRows = Infinity, maxQueryMs = Infinity, onPage }: ReadOptions<Key>,
): AsyncGenerator<Buffer, void, undefined> {
  if (limit > maxRows && source.isCheap && (await source.count({ after, last: undefined })) > maxRows)
    throw new ExportLimitExceeded('max_rows', maxRows);
  // One more row shows that the limit is exceeded.
  const end = Math.min(limit, maxRows + 1);
  const maxCandidates = () => (source.isCheap ? Math.max(1, end - joiner.rows) : Infinity);
  let candidates = Math.min(FIRST_CANDIDATES, maxCandidates());
  let queryMs = 0;
  const pages = walk(source, after, candidates, (range) => {
    const missing = end - joiner.rows;
    return source.readPage(range, Number.isFinite(missing) ? missing : undefined);
  });
  for (;;) {
    const { value: page, done } = await pages.next(candidates);
    if (done) break;
    if (page.last !== undefined) onPage?.(page.last);
    const before = joiner.rows;
    const chunks = joiner.add(page.result);
    if (joiner.rows > maxRows) throw new ExportLimitExceeded('max_rows', maxRows);
    for (const chunk of chunks) if (chunk.length > 0) yield chunk;
    if (joiner.rows >= limit) break;
    queryMs += page.ms;
    if (page.last !== undefined && queryMs >= maxQueryMs)
      throw new QueryTimedOut(`queries took ${Math.round(queryMs)} ms together`);
    candidates = Math.min(planNext(page, joiner.rows - before, page.result.length), maxCandidates());
  }
  yield joiner.end();
}

/**
 * The bytes of one file with a sample of the rows.
 * @param createSource the rows whose hashes are below a bound; without a bound, all rows
 */
export async function* readSample<Key>(
  createSource: (hashBelow?: bigint) => RowSource<Key>,
  sample: Sample | undefined,
  joiner: FileJoiner,
  options: ReadOptions<Key>,
): AsyncGenerator<Buffer, void, undefined> {
  const hashBelow = sample && (await findHashBound(createSource(), sample));
  yield* readPages(createSource(hashBelow), joiner, options);
}

/** The bound on the hashes of a sample's rows; undefined if the sample has all rows. */
export async function findHashBound<Key>(
  source: RowSource<Key>,
  sample: Sample,
): Promise<bigint | undefined> {
  const share = 'share' in sample ? sample.share : sample.rows / (await countSourceRows(source));
  return share >= 1 ? undefined : BigInt(Math.floor(share * HASHES));
}

async function countSourceRows<Key>(source: RowSource<Key>): Promise<number> {
  if (source.isCheap) return source.count({ after: undefined, last: undefined });
  const parts = walk(source, undefined, FIRST_CANDIDATES, (range) => source.count(range));
  let sum = 0;
  for (let candidates = FIRST_CANDIDATES; ;) {
    const { value: part, done } = await parts.next(candidates);
    if (done) return sum;
    sum += part.result;
    candidates = planNext(part, 0, 0);
  }
}

/**
 * Queries the rows in their order. The consumer sets the number of candidates of each query. A query that
 * exceeds its limits is tried again with fewer.
 */
async function* walk<Key, Result>(
  source: RowSource<Key>,
  after: Key | undefined,
  candidates: number,
  query: (range: RowRange<Key>) => Promise<Result>,
): AsyncGenerator<Page<Key, Result>, void, number> {
  for (let isLast = false; !isLast;) {
    const startedAt = performance.now();
    const range = await source.findRange(after, candidates);
    let result: Result;
    try {
      result = await query(range);
    } catch (error) {
      RequestContext.current?.signal?.throwIfAborted();
      if (!exceedsLimits(error) || candidates === 1) throw error;
      candidates = Math.ceil(candidates / SHRINKAGE);
      continue;
    }
    const { last } = range;
    isLast = last === undefined;
    after = last;
    candidates = yield { result, last, candidates, ms: performance.now() - startedAt };
  }
}

interface Page<Key, Result> {
  readonly result: Result;
  /** Undefined: the page has all remaining rows. */
  readonly last: Key | undefined;
  readonly candidates: number;
  readonly ms: number;
}

/** The number of candidates of the next page, chosen to stay within the limits on rows, bytes and time. */
function planNext({ candidates, ms }: Page<unknown, unknown>, rows: number, bytes: number): number {
  const factor = Math.min(GROWTH, PAGE_ROWS / rows, PAGE_BYTES / bytes, PAGE_MS / ms);
  return Math.max(1, Math.min(MAX_CANDIDATES, Math.floor(candidates * factor)));
}
