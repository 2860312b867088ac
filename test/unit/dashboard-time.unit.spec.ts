import { Temporal } from 'temporal-polyfill';
import { periodBounds } from '../../src/queries/calendar/periods.js';
import { getWindow, listStarts } from '../../src/entry/dashboard/time.js';

const HOUR = 3_600_000;

describe('the hours of the dashboard', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

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
      const { from, to, previousFrom } = getWindow({ preset: '24h' }, 'local', now);
      expect(listStarts(from, to, 'hour', 'local')).toHaveLength(24);
      for (const [begin, end] of [
        [from, to],
        [previousFrom!, from],
      ] as const) {
        const bounds = periodBounds(begin / 1000, end / 1000, zone, 'hour').map((second) => second * 1000);
        expect([...listStarts(begin, end, 'hour', 'local'), end]).toEqual(bounds);
      }
    }
  });
});
