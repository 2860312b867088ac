import fc from 'fast-check';
import { periodBounds, type Interval } from './periods.js';
import { BUCKET_SECONDS, chooseGrain, describePeriods } from './buckets.js';

const seconds = (iso: string) => Date.parse(iso) / 1000;

const YEAR = ['2024-11-20T00:00Z', '2025-12-20T00:00Z'] as const;
const WINTER = ['2025-01-10T00:00Z', '2025-01-20T00:00Z'] as const;
const SUMMER = ['2025-07-10T00:00Z', '2025-07-20T00:00Z'] as const;

describe('chooseGrain', () => {
  it.each([
    ['day', 'UTC', YEAR, 'day'],
    ['hour', 'UTC', YEAR, 'hour'],
    ['day', 'Africa/Abidjan', YEAR, 'day'],
    ['day', 'Europe/London', WINTER, 'day'],
    ['day', 'Europe/London', SUMMER, 'hour'],
    ['day', 'Europe/London', YEAR, 'hour'],
    ['day', 'Europe/Berlin', YEAR, 'hour'],
    ['hour', 'Europe/Berlin', YEAR, 'hour'],
    ['hour', 'Asia/Kolkata', YEAR, '15m'],
    ['day', 'Asia/Kolkata', YEAR, '15m'],
    ['day', 'Asia/Kathmandu', YEAR, '15m'],
    ['hour', 'Pacific/Chatham', YEAR, '15m'],
    ['hour', 'Australia/Lord_Howe', WINTER, 'hour'],
    ['hour', 'Australia/Lord_Howe', SUMMER, '15m'],
    ['hour', 'Australia/Lord_Howe', YEAR, '15m'],
    // The period around `from` begins at half past, although only whole-hour offsets follow.
    ['hour', 'Australia/Lord_Howe', ['2025-10-04T15:45Z', '2025-10-06T00:00Z'], '15m'],
  ] as const)('reads %s periods of %s over %j from %s', (interval, zone, [from, to], expected) => {
    expect(chooseGrain(periodBounds(seconds(from), seconds(to), zone, interval))).toBe(expected);
  });

  it('never lets a bucket straddle two periods', () => {
    fc.assert(
      fc.property(
        fc.constantFrom<Interval>('hour', 'day'),
        fc.constantFrom(...Intl.supportedValuesOf('timeZone')),
        fc.integer({ min: seconds('2024-01-01T00:00Z'), max: seconds('2027-12-01T00:00Z') }),
        fc.integer({ min: 1, max: 400 * 86_400 }),
        (interval, zone, from, length) => {
          const bounds = periodBounds(from, from + length, zone, interval);
          const width = BUCKET_SECONDS[chooseGrain(bounds)];
          expect(bounds.filter((bound) => bound % width !== 0)).toEqual([]);
        },
      ),
    );
  });
});

describe('describePeriods', () => {
  const HOUR = 3_600;
  const hours = [0, 1, 2, 3].map((hour) => hour * HOUR);
  const DAY = 86_400;
  const days = (zone: string) => periodBounds(seconds('2025-03-01'), seconds('2026-03-01'), zone, 'day');
  const months = periodBounds(seconds('2025-03-01'), seconds('2026-03-01'), 'UTC', 'month');

  it.each([
    ['a bucket that is a period', hours, ['hour'], /^bucket$/],
    ['the start of the only period', [HOUR, 9 * HOUR], ['hour', '15m'], /^\{from:UInt32\}$/],
    ['a number where periods have equal length', hours, ['15m'], /^intDiv\([^*]*$/],
    ['a number where only some buckets are periods', hours, ['hour', '15m'], /^intDiv\([^*]*$/],
    ['a number where daylight saving changes', days('Europe/Berlin'), ['hour'], /^intDiv\(.*shift_1/],
    ['found in the bounds of months', months, ['day'], /^roundDown/],
    ['found in the bounds where one is long', [0, DAY, 2 * DAY, 5 * DAY], ['day'], /^roundDown/],
  ] as const)('is %s', (_, bounds, grains, key) => {
    expect(describePeriods('bucket', bounds, grains).key).toMatch(key);
  });
});
