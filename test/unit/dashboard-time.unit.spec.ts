import { Temporal } from 'temporal-polyfill';
import { periodBounds } from '../../src/queries/calendar/periods.js';
import { getWindow, listStarts } from '../../src/entry/dashboard/time.js';

const HOUR = 3_600_000;

describe('the hours of the dashboard', () => {
  /** A browser in that zone: Jest's copy of the environment does not change the zone of this process. */
  function moveTo(zone: string): void {
    jest.spyOn(Date.prototype, 'getTimezoneOffset').mockImplementation(function (this: Date) {
      const local = Temporal.Instant.fromEpochMilliseconds(this.getTime()).toZonedDateTimeISO(zone);
      return local.offsetNanoseconds / -60e9;
    });
  }

  it.each([
    // The clock goes forward by half an hour at 2:00, and back at 2:00.
    ['Australia/Lord_Howe', '2026-10-03T15:30:00Z'],
    ['Australia/Lord_Howe', '2026-04-04T15:00:00Z'],
    ['Europe/Berlin', '2026-03-29T01:00:00Z'],
    ['Europe/Berlin', '2026-10-25T01:00:00Z'],
    ['Asia/Kolkata', '2026-10-25T01:00:00Z'],
    ['UTC', '2026-10-25T01:00:00Z'],
  ])('are those of the API in %s around %s', (zone, change) => {
    moveTo(zone);
    const at = Date.parse(change);
    for (let now = at - 2 * HOUR; now <= at + 26 * HOUR; now += HOUR / 2) {
      const { from, to, before } = getWindow({ preset: '24h' }, 'local', now);
      expect(listStarts(from, to, 'hour', 'local')).toHaveLength(24);
      for (const [begin, end] of [
        [from, to],
        [before!.from, before!.to],
      ] as const) {
        const bounds = periodBounds(begin / 1000, end / 1000, zone, 'hour').map((second) => second * 1000);
        expect([...listStarts(begin, end, 'hour', 'local'), end]).toEqual(bounds);
      }
    }
  });

  it.each([
    // Now is a Friday, shortly after midnight.
    ['today', 'before', '2026-11-27T00:00Z', '2026-11-26T00:00Z', '2026-11-26T00:15Z'],
    ['today', 'week', '2026-11-27T00:00Z', '2026-11-20T00:00Z', '2026-11-20T00:15Z'],
    ['yesterday', 'before', '2026-11-26T00:00Z', '2026-11-25T00:00Z', '2026-11-26T00:00Z'],
    ['week', 'before', '2026-11-23T00:00Z', '2026-11-16T00:00Z', '2026-11-20T00:15Z'],
    ['7d', 'week', '2026-11-20T01:00Z', '2026-11-13T01:00Z', '2026-11-20T00:15Z'],
    ['month', 'before', '2026-10-01T00:00Z', '2026-08-31T00:00Z', '2026-10-01T00:00Z'],
    // Five weeks are at least 30 days.
    ['30d', 'week', '2026-10-29T00:00Z', '2026-09-24T00:00Z', '2026-10-23T00:15Z'],
  ] as const)('compare %s with the period of %s', (preset, compare, from, beforeFrom, until) => {
    const now = Date.parse('2026-11-27T00:20Z');
    const window = getWindow({ preset }, 'utc', now, { interval: null, compare });
    const times = [window.from, window.before!.from, window.before!.until];
    expect(times.map((time) => new Date(time).toISOString())).toEqual(
      [from, beforeFrom, until].map((time) => new Date(time).toISOString()),
    );
  });
});
