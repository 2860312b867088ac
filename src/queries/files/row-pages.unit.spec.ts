import { QueryTimedOut } from '../../store/client/clickhouse.errors.js';
import { createJoiner } from './file-joiner.js';
import { type ReadOptions, type RowRange, type RowSource, findHashBound, readPages } from './row-pages.js';

/** The numbers from 1 to `size` as rows; filters that are not cheap leave the even ones. */
function numbers(size: number, isCheap = true): RowSource<number> & { pages: number } {
  const list = ({ after = 0, last = size }: Partial<RowRange<number>>) =>
    Array.from({ length: last - after }, (_, index) => after + index + 1).filter(
      (number) => isCheap || number % 2 === 0,
    );
  return {
    pages: 0,
    isCheap,
    findRange: (after, count) => {
      const last = (after ?? 0) + count;
      return Promise.resolve({ after, last: last < size ? last : undefined });
    },
    readPage(range, limit = Infinity) {
      this.pages += 1;
      return Promise.resolve(
        Buffer.from(
          list(range)
            .slice(0, limit)
            .map((number) => `{"n":${number}}\n`)
            .join(''),
        ),
      );
    },
    count: (range) => Promise.resolve(list(range).length),
  };
}

async function read(source: RowSource<number>, options: ReadOptions<number> = {}) {
  const chunks: Buffer[] = [];
  for await (const chunk of readPages(source, createJoiner('ndjson'), options)) chunks.push(chunk);
  const lines = Buffer.concat(chunks).toString().split('\n').slice(0, -1);
  return lines.map((line) => (JSON.parse(line) as { n: number }).n);
}

describe('readPages', () => {
  it.each([true, false])(
    'returns every row once, in order, over several pages; cheap: %s',
    async (isCheap) => {
      const source = numbers(20_000, isCheap);
      const rows = await read(source);
      expect(rows).toEqual(
        Array.from({ length: isCheap ? 20_000 : 10_000 }, (_, i) => (isCheap ? i + 1 : 2 * i + 2)),
      );
      expect(source.pages).toBeGreaterThan(1);
    },
  );

  it('returns at most `limit` rows after `after`', async () => {
    expect(await read(numbers(5_000), { after: 4_000, limit: 3 })).toEqual([4_001, 4_002, 4_003]);
    expect(await read(numbers(5_000, false), { after: 10, limit: 2 })).toEqual([12, 14]);
  });

  it('rejects when the queries took longer than the limit and rows are missing', async () => {
    await expect(read(numbers(20_000), { maxQueryMs: 0 })).rejects.toThrow(QueryTimedOut);
    expect(await read(numbers(10), { maxQueryMs: 0 })).toHaveLength(10);
  });
});

describe('findHashBound', () => {
  it.each([true, false])('counts all rows for a sample by number; cheap: %s', async (isCheap) => {
    const quarter = await findHashBound(numbers(4_000, isCheap), { rows: isCheap ? 1_000 : 500 });
    expect(quarter).toBe(2n ** 62n);
  });

  it('has no bound for a sample of at least all rows', async () => {
    expect(await findHashBound(numbers(10), { rows: 10 })).toBeUndefined();
  });
});
