import { type Grain, chooseGrain, describePeriods } from '../../src/queries/calendar/buckets.js';
import { type Interval, periodBounds } from '../../src/queries/calendar/periods.js';
import { type OpenStore, openEmptyStore } from '../setup/store.js';

const QUARTER = 900;
const ZONES = Intl.supportedValuesOf('timeZone');
const seconds = (iso: string) => Date.parse(`${iso}T00:00Z`) / 1000;

/** Bounds that differ, of all zones: many have the same. */
function findBounds(interval: Interval, from: string, to: string): number[][] {
  const bounds = ZONES.map((zone) => periodBounds(seconds(from), seconds(to), zone, interval));
  return [...new Map(bounds.map((bound) => [bound.join(), bound])).values()];
}

describe('describePeriods, read by the engine', () => {
  let open: OpenStore;

  beforeAll(async () => {
    open = await openEmptyStore();
  });
  afterAll(() => open.remove());

  /** For each period: its start and end, its first and last quarter-hour, and their number. */
  function sumQuarters(bounds: readonly number[], grains: readonly Grain[]) {
    const [first = 0, last = 0] = [bounds[0], bounds.at(-1)];
    const { key, start, end, params } = describePeriods('bucket', bounds, grains);
    return open.store.rows(
      'test.periods',
      `SELECT toUnixTimestamp(${start}) AS start, toUnixTimestamp(${end}) AS end, min(time) AS first, max(time) AS last,
         count() AS quarters
       FROM (SELECT toUInt32({first:UInt32} + number * ${QUARTER}) AS time, toDateTime(time, 'UTC') AS bucket
             FROM numbers({count:UInt32}))
       GROUP BY ${key} AS period
       ORDER BY period`,
      { ...params, first, count: (last - first) / QUARTER },
    );
  }

  it.each([
    ['days of thirteen months', 'day', '2025-03-01', '2026-04-02'],
    ['months of thirteen months', 'month', '2025-03-01', '2026-04-02'],
    ['months of half a year', 'month', '2025-12-01', '2026-05-02'],
    ['hours of ten weeks with a change', 'hour', '2025-09-10', '2025-11-20'],
    ['days around a change in spring', 'day', '2025-03-29', '2025-03-31'],
    ['days around a change in autumn', 'day', '2025-10-25', '2025-10-27'],
    ['hours of the day on which Lord Howe changes', 'hour', '2025-10-04', '2025-10-05'],
    ['hours of the day on which it changes back', 'hour', '2026-04-04', '2026-04-05'],
  ] as const)('has each quarter-hour in its period, in every zone: %s', async (_, interval, from, to) => {
    for (const bounds of findBounds(interval, from, to))
      expect(await sumQuarters(bounds, ['15m'])).toEqual(
        bounds.slice(1).map((end, index) => {
          const start = bounds[index]!;
          return { start, end, first: start, last: end - QUARTER, quarters: (end - start) / QUARTER };
        }),
      );
  });

  it('has each coarse bucket in its period, which may be the bucket itself', async () => {
    for (const interval of ['hour', 'day'] as const) {
      const bounds = periodBounds(seconds('2025-10-01'), seconds('2025-10-08'), 'UTC', interval);
      const { key, start, end, params } = describePeriods('bucket', bounds, [chooseGrain(bounds)]);
      const rows = await open.store.rows(
        'test.periods',
        `SELECT toUnixTimestamp(${start}) AS start, toUnixTimestamp(${end}) AS end
         FROM (SELECT toDateTime(arrayJoin({starts:Array(UInt32)}), 'UTC') AS bucket)
         GROUP BY ${key} AS period
         ORDER BY period`,
        { ...params, starts: bounds.slice(0, -1) },
      );
      expect(rows).toEqual(bounds.slice(1).map((bound, index) => ({ start: bounds[index], end: bound })));
    }
  });
});
