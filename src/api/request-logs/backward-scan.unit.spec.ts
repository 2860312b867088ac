import fc from 'fast-check';
import type { Window } from '../../shared/time/window.js';
import { type ScanStep, scanBackwards } from './backward-scan.js';

const HOUR = 3_600_000;
const WINDOW = { start: 0, end: 15 * 24 * HOUR };

/** Responds as the store does, and remembers what it was asked. */
function createStore(times: readonly number[]) {
  const steps: (Window & Pick<ScanStep, 'useTermIndex'>)[] = [];
  const newest = times.toSorted((a, b) => b - a);
  const scan = ({ window: { start, end }, limit, useTermIndex }: ScanStep) => {
    steps.push({ start, end, useTermIndex });
    return Promise.resolve(newest.filter((time) => start <= time && time < end).slice(0, limit));
  };
  return { scan, steps };
}

describe('scanBackwards', () => {
  it('returns the result of one query over the window, for any distribution of records and any estimate', async () => {
    const time = fc.integer({ min: -10, max: 1_010 });
    const query = fc.record({
      times: fc.array(time, { maxLength: 60 }),
      window: fc.record({
        start: fc.integer({ min: 0, max: 500 }),
        end: fc.integer({ min: 500, max: 1_000 }),
      }),
      limit: fc.integer({ min: 1, max: 40 }),
      rowsPerMs: fc.oneof(fc.constant(0), fc.double({ min: 50, max: 1e6, noNaN: true })),
    });
    await fc.assert(
      fc.asyncProperty(query, async ({ times, window, limit, rowsPerMs }) => {
        const { scan, steps } = createStore(times);
        const found = await scanBackwards(window, limit, rowsPerMs, scan);
        expect(found.flat()).toEqual(await createStore(times).scan({ window, limit, useTermIndex: false }));
        expect(steps.length).toBeLessThanOrEqual(3);
      }),
      { numRuns: 2_000 },
    );
  });

  it('looks at the end alone where that suffices', async () => {
    const { scan, steps } = createStore(Array.from({ length: 200 }, (_, index) => WINDOW.end - 1 - index));
    await scanBackwards(WINDOW, 101, 1, scan);
    expect(steps).toEqual([{ start: WINDOW.end - 50_000, end: WINDOW.end, useTermIndex: false }]);
  });

  it('looks as far back as what it found promises', async () => {
    const { scan, steps } = createStore(
      Array.from({ length: 400 }, (_, index) => WINDOW.end - 1 - index * 1_000),
    );
    expect((await scanBackwards(WINDOW, 101, 1, scan)).flat()).toHaveLength(101);
    expect(steps).toEqual([
      { start: WINDOW.end - 50_000, end: WINDOW.end, useTermIndex: false },
      { start: WINDOW.end - 50_000 - 76_500, end: WINDOW.end - 50_000, useTermIndex: true },
    ]);
  });

  it('looks at all the rest at once where the end holds nothing', async () => {
    const { scan, steps } = createStore([5]);
    expect((await scanBackwards(WINDOW, 101, 1, scan)).flat()).toEqual([5]);
    expect(steps).toEqual([
      { start: WINDOW.end - 50_000, end: WINDOW.end, useTermIndex: false },
      { start: 0, end: WINDOW.end - 50_000, useTermIndex: true },
    ]);
  });

  it('asks once where the app has few records', async () => {
    const { scan, steps } = createStore([]);
    await scanBackwards(WINDOW, 101, 0.00001, scan);
    expect(steps).toEqual([{ ...WINDOW, useTermIndex: false }]);
  });
});
