import fc from 'fast-check';
import type { Window } from '../common/time/window.js';
import { type Look, newestFirst } from './backward-scan.js';

const HOUR = 3_600_000;
const WINDOW = { start: 0, end: 15 * 24 * HOUR };

/** Answers as the store does, and remembers what it was asked. */
function storeOf(times: readonly number[]) {
  const asked: (Window & Pick<Look, 'isFar'>)[] = [];
  const newest = times.toSorted((a, b) => b - a);
  const ask = ({ window: { start, end }, limit, isFar }: Look) => {
    asked.push({ start, end, isFar });
    return Promise.resolve(newest.filter((time) => start <= time && time < end).slice(0, limit));
  };
  return { ask, asked };
}

describe('newestFirst', () => {
  it('finds what one look at the whole window finds, however the records lie and whatever their density is said to be', async () => {
    const time = fc.integer({ min: -10, max: 1_010 });
    const query = fc.record({
      times: fc.array(time, { maxLength: 60 }),
      window: fc.record({
        start: fc.integer({ min: 0, max: 500 }),
        end: fc.integer({ min: 500, max: 1_000 }),
      }),
      limit: fc.integer({ min: 1, max: 40 }),
      density: fc.oneof(fc.constant(0), fc.double({ min: 50, max: 1e6, noNaN: true })),
    });
    await fc.assert(
      fc.asyncProperty(query, async ({ times, window, limit, density }) => {
        const { ask, asked } = storeOf(times);
        const found = await newestFirst(window, limit, density, ask);
        expect(found.flat()).toEqual(await storeOf(times).ask({ window, limit, isFar: false }));
        expect(asked.length).toBeLessThanOrEqual(3);
      }),
      { numRuns: 2_000 },
    );
  });

  it('looks at the end alone where that suffices', async () => {
    const { ask, asked } = storeOf(Array.from({ length: 200 }, (_, index) => WINDOW.end - 1 - index));
    await newestFirst(WINDOW, 101, 1, ask);
    expect(asked).toEqual([{ start: WINDOW.end - 50_000, end: WINDOW.end, isFar: false }]);
  });

  it('looks as far back as what it found promises', async () => {
    const { ask, asked } = storeOf(Array.from({ length: 400 }, (_, index) => WINDOW.end - 1 - index * 1_000));
    expect((await newestFirst(WINDOW, 101, 1, ask)).flat()).toHaveLength(101);
    expect(asked).toEqual([
      { start: WINDOW.end - 50_000, end: WINDOW.end, isFar: false },
      { start: WINDOW.end - 50_000 - 76_500, end: WINDOW.end - 50_000, isFar: true },
    ]);
  });

  it('looks at all the rest at once where the end holds nothing', async () => {
    const { ask, asked } = storeOf([5]);
    expect((await newestFirst(WINDOW, 101, 1, ask)).flat()).toEqual([5]);
    expect(asked).toEqual([
      { start: WINDOW.end - 50_000, end: WINDOW.end, isFar: false },
      { start: 0, end: WINDOW.end - 50_000, isFar: true },
    ]);
  });

  it('asks once where the app has few records', async () => {
    const { ask, asked } = storeOf([]);
    await newestFirst(WINDOW, 101, 0.00001, ask);
    expect(asked).toEqual([{ ...WINDOW, isFar: false }]);
  });
});
