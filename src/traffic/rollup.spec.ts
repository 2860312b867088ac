import fc from 'fast-check';
import { periodBounds, type Interval } from './periods.js';
import { chooseRollup } from './rollup.js';

const seconds = (iso: string) => Date.parse(iso) / 1000;

const YEAR = ['2024-11-20T00:00Z', '2025-12-20T00:00Z'] as const;
const WINTER = ['2025-01-10T00:00Z', '2025-01-20T00:00Z'] as const;
const SUMMER = ['2025-07-10T00:00Z', '2025-07-20T00:00Z'] as const;

describe('chooseRollup', () => {
  it.each([
    ['day', 'UTC', YEAR, 'counts_per_day'],
    ['hour', 'UTC', YEAR, 'counts_per_hour'],
    ['day', 'Africa/Abidjan', YEAR, 'counts_per_day'],
    ['day', 'Europe/London', WINTER, 'counts_per_day'],
    ['day', 'Europe/London', SUMMER, 'counts_per_hour'],
    ['day', 'Europe/London', YEAR, 'counts_per_hour'],
    ['day', 'Europe/Berlin', YEAR, 'counts_per_hour'],
    ['hour', 'Europe/Berlin', YEAR, 'counts_per_hour'],
    ['hour', 'Asia/Kolkata', YEAR, 'counts_per_15m'],
    ['day', 'Asia/Kolkata', YEAR, 'counts_per_15m'],
    ['day', 'Asia/Kathmandu', YEAR, 'counts_per_15m'],
    ['hour', 'Pacific/Chatham', YEAR, 'counts_per_15m'],
    ['hour', 'Australia/Lord_Howe', WINTER, 'counts_per_hour'],
    ['hour', 'Australia/Lord_Howe', SUMMER, 'counts_per_15m'],
    ['hour', 'Australia/Lord_Howe', YEAR, 'counts_per_15m'],
    // The period around `from` begins at half past, although only whole-hour offsets follow.
    ['hour', 'Australia/Lord_Howe', ['2025-10-04T15:45Z', '2025-10-06T00:00Z'], 'counts_per_15m'],
  ] as const)('reads %s periods of %s over %j from %s', (interval, zone, [from, to], expected) => {
    expect(chooseRollup(periodBounds(seconds(from), seconds(to), zone, interval))).toBe(expected);
  });

  it('never lets a bucket straddle two periods', () => {
    const widths = { counts_per_15m: 900, counts_per_hour: 3_600, counts_per_day: 86_400 };
    fc.assert(
      fc.property(
        fc.constantFrom<Interval>('hour', 'day'),
        fc.constantFrom(...Intl.supportedValuesOf('timeZone')),
        fc.integer({ min: seconds('2024-01-01T00:00Z'), max: seconds('2027-12-01T00:00Z') }),
        fc.integer({ min: 1, max: 400 * 86_400 }),
        (interval, zone, from, length) => {
          const bounds = periodBounds(from, from + length, zone, interval);
          const width = widths[chooseRollup(bounds)];
          expect(bounds.filter((bound) => bound % width !== 0)).toEqual([]);
        },
      ),
    );
  });
});
