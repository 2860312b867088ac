import { DateTime } from 'luxon';
import { firstWholePeriod, periodBounds, periodStart } from './periods.js';

const HOUR = 3_600;
const DAY = 86_400;

const seconds = (iso: string) => Date.parse(iso) / 1000;

/** Bounds as the zone's clock shows them, each with its offset. */
function shown(bounds: number[], zone: string, format: string): string {
  return bounds.map((bound) => DateTime.fromSeconds(bound, { zone }).toFormat(format)).join(' ');
}

describe('hours', () => {
  // The window begins at the time given and lasts two hours.
  it.each([
    // One hour skipped, one repeated.
    ['Europe/Berlin', '2025-03-30T01:10+01:00', '01:00+01:00 03:00+02:00 04:00+02:00 05:00+02:00'],
    ['Europe/Berlin', '2025-10-26T01:10+02:00', '01:00+02:00 02:00+02:00 02:00+01:00 03:00+01:00'],
    ['America/New_York', '2025-03-09T01:00-05:00', '01:00-05:00 03:00-04:00 04:00-04:00'],
    ['America/New_York', '2025-11-02T01:00-04:00', '01:00-04:00 01:00-05:00 02:00-05:00'],
    // Half an hour skipped, half an hour repeated.
    ['Australia/Lord_Howe', '2025-10-05T01:10+10:30', '01:00+10:30 02:30+11:00 03:00+11:00 04:00+11:00'],
    ['Australia/Lord_Howe', '2025-04-06T01:10+11:00', '01:00+11:00 01:30+10:30 02:00+10:30 03:00+10:30'],
    // The change comes at a quarter to: parts of two hours are skipped or repeated.
    ['Pacific/Chatham', '2025-09-28T02:00+12:45', '02:00+12:45 03:45+13:45 04:00+13:45 05:00+13:45'],
    [
      'Pacific/Chatham',
      '2025-04-06T02:10+13:45',
      '02:00+13:45 03:00+13:45 02:45+12:45 03:00+12:45 04:00+12:45',
    ],
    // Two hours skipped, two repeated.
    ['Antarctica/Troll', '2025-03-30T00:00+00:00', '00:00+00:00 03:00+02:00 04:00+02:00'],
    ['Antarctica/Troll', '2025-10-26T02:10+02:00', '02:00+02:00 01:00+00:00 02:00+00:00 03:00+00:00'],
    // Ramadan begins and ends.
    ['Africa/Casablanca', '2025-02-23T02:00+01:00', '02:00+01:00 02:00+00:00 03:00+00:00'],
    ['Africa/Casablanca', '2025-04-06T01:00+00:00', '01:00+00:00 03:00+01:00 04:00+01:00'],
    // The change comes at midnight.
    ['Atlantic/Azores', '2025-10-26T00:00+00:00', '00:00+00:00 00:00-01:00 01:00-01:00'],
    ['America/Santiago', '2025-04-05T22:30-03:00', '22:00-03:00 23:00-03:00 23:00-04:00 00:00-04:00'],
    ['Pacific/Apia', '2011-12-29T23:00-10:00', '23:00-10:00 00:00+14:00 01:00+14:00'],
    // No change, but hours that begin between those of UTC.
    ['Asia/Kolkata', '2025-05-14T18:29Z', '23:00+05:30 00:00+05:30 01:00+05:30 02:00+05:30'],
    ['Asia/Kathmandu', '2025-05-14T18:15Z', '00:00+05:45 01:00+05:45 02:00+05:45'],
  ])('of %s from %s are %s', (zone, from, expected) => {
    const bounds = periodBounds(seconds(from), seconds(from) + 2 * HOUR, zone, 'hour');
    expect(shown(bounds, zone, 'HH:mmZZ')).toBe(expected);
  });

  it('follow a zone that is a bare offset', () => {
    const from = seconds('2025-05-14T02:10+02:30');
    expect(periodBounds(from, from + HOUR, '+02:30', 'hour')).toEqual(
      ['02:00', '03:00', '04:00'].map((time) => seconds(`2025-05-14T${time}+02:30`)),
    );
  });
});

describe('days', () => {
  it.each([
    ['Europe/Berlin', '2025-03-30', 23, '03-30T00:00+01:00'],
    ['Europe/Berlin', '2025-10-26', 25, '10-26T00:00+02:00'],
    ['America/New_York', '2025-11-02', 25, '11-02T00:00-04:00'],
    ['Australia/Lord_Howe', '2025-10-05', 23.5, '10-05T00:00+10:30'],
    ['Australia/Lord_Howe', '2025-04-06', 24.5, '04-06T00:00+11:00'],
    ['Pacific/Chatham', '2025-04-06', 25, '04-06T00:00+13:45'],
    ['Antarctica/Troll', '2025-03-30', 22, '03-30T00:00+00:00'],
    ['Antarctica/Troll', '2025-10-26', 26, '10-26T00:00+02:00'],
    ['Africa/Casablanca', '2025-02-23', 25, '02-23T00:00+01:00'],
    ['Asia/Kolkata', '2025-05-14', 24, '05-14T00:00+05:30'],
    ['Asia/Kathmandu', '2025-05-14', 24, '05-14T00:00+05:45'],
    // Midnight is skipped: the day begins at one.
    ['America/Santiago', '2025-09-07', 23, '09-07T01:00-03:00'],
    ['Africa/Cairo', '2025-04-25', 23, '04-25T01:00+03:00'],
    ['America/Havana', '2025-03-09', 23, '03-09T01:00-04:00'],
    ['Asia/Beirut', '2025-03-30', 23, '03-30T01:00+03:00'],
    ['Atlantic/Azores', '2025-03-30', 23, '03-30T01:00+00:00'],
    // Midnight is repeated: the day begins with the first.
    ['America/Havana', '2025-11-02', 25, '11-02T00:00-04:00'],
    ['Atlantic/Azores', '2025-10-26', 25, '10-26T00:00+00:00'],
    // The hour before midnight is repeated: midnight itself comes once.
    ['America/Santiago', '2025-04-05', 25, '04-05T00:00-03:00'],
    ['Africa/Cairo', '2025-10-30', 25, '10-30T00:00+03:00'],
    ['Asia/Beirut', '2025-10-25', 25, '10-25T00:00+03:00'],
  ])('%s %s lasts %d hours and begins at %s', (zone, date, hours, beginning) => {
    const noon = seconds(`${date}T12:00Z`) - DateTime.fromISO(`${date}T12:00`, { zone }).offset * 60;
    const [start = NaN, end = NaN, ...more] = periodBounds(noon, noon + 1, zone, 'day');
    expect(shown([start], zone, "MM-dd'T'HH:mmZZ")).toBe(beginning);
    expect((end - start) / HOUR).toBe(hours);
    expect(more).toEqual([]);
  });

  it('that a zone left out of its calendar are no periods', () => {
    const bounds = periodBounds(
      seconds('2011-12-29T12:00Z'),
      seconds('2011-12-31T12:00Z'),
      'Pacific/Apia',
      'day',
    );
    expect(shown(bounds, 'Pacific/Apia', 'dd')).toBe('29 31 01 02');
  });
});

describe('a window', () => {
  it('that is empty has no bounds', () => {
    expect(periodBounds(0, 0, 'UTC', 'hour')).toEqual([]);
    expect(periodBounds(1, 0, 'UTC', 'hour')).toEqual([]);
  });

  it('is followed for 800 days and no further', () => {
    const bounds = periodBounds(seconds('2024-01-01T00:00Z'), seconds('9999-12-31T23:59:59Z'), 'UTC', 'day');
    expect(bounds.at(-1)).toBe(seconds('2024-01-01T00:00Z') + 800 * DAY);
  });

  it('of an unknown zone is refused', () => {
    // Node 26 has a Temporal of its own, whose errors are none of the classes in Jest's context.
    const rangeError = expect.objectContaining({ name: 'RangeError' }) as Error;
    expect(() => periodBounds(0, 1, 'Mars/Olympus', 'hour')).toThrow(rangeError);
  });
});

describe('periodStart', () => {
  it('keeps instants beyond the years 1 to 9999 within them', () => {
    expect(periodStart(-Infinity, 'UTC', 'day')).toBe(seconds('0001-01-01T00:00Z'));
    expect(periodStart(Infinity, 'UTC', 'day')).toBe(seconds('9999-12-31T00:00Z'));
  });
});

describe('firstWholePeriod', () => {
  it.each([
    ['UTC', 'hour', '2025-05-14T10:00:00Z', '2025-05-14T10:00:00Z'],
    ['UTC', 'hour', '2025-05-14T10:00:01Z', '2025-05-14T11:00:00Z'],
    ['UTC', 'day', '2025-05-14T00:00:00Z', '2025-05-14T00:00:00Z'],
    ['UTC', 'day', '2025-05-14T00:00:01Z', '2025-05-15T00:00:00Z'],
    ['Asia/Kolkata', 'hour', '2025-05-14T10:00:00Z', '2025-05-14T10:30:00Z'],
    ['Europe/Berlin', 'day', '2025-10-25T23:00:00Z', '2025-10-26T23:00:00Z'],
    ['Australia/Lord_Howe', 'hour', '2025-04-05T14:15:00Z', '2025-04-05T15:00:00Z'],
  ] as const)('%s, by %s: retained from %s, begins at %s', (zone, interval, retainedFrom, expected) => {
    expect(firstWholePeriod(seconds(retainedFrom), zone, interval)).toBe(seconds(expected));
  });
});
