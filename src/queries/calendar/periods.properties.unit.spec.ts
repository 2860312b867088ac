import fc from 'fast-check';
import { DateTime } from 'luxon';
import { Temporal } from 'temporal-polyfill';
import { type Interval, firstWholePeriod, periodBounds, periodStart } from './periods.js';

/** More with `PROPERTY_RUNS`, as in a nightly run. */
const RUNS = Number(process.env.PROPERTY_RUNS ?? 10);

const ZONES = Intl.supportedValuesOf('timeZone');
const QUARTER = 900;
const HOUR = 3_600;
const DAY = 86_400;

const seconds = (iso: string) => Date.parse(iso) / 1000;
const FROM_2024 = seconds('2024-01-01T00:00Z');
const TO_2028 = seconds('2028-01-01T00:00Z');

const zones = fc.constantFrom(...ZONES);
const intervals = fc.constantFrom<Interval>('minute', 'hour', 'day', 'month');
const instants = fc.integer({ min: FROM_2024, max: TO_2028 });
const windows = fc
  .tuple(instants, fc.integer({ min: 1, max: 8 * DAY }))
  .map(([from, length]) => ({ from, to: from + length }));

type WalkedInterval = Exclude<Interval, 'month'>;
const walked = fc.constantFrom<WalkedInterval>('minute', 'hour', 'day');
/**
 * How far before a window its first period can begin, at least; and the step in which a walk finds each
 * beginning.
 */
const LEAD: Record<WalkedInterval, number> = { minute: 5 * 60, hour: 2 * HOUR, day: 30 * HOUR };
const STEP: Record<WalkedInterval, number> = { minute: 60, hour: QUARTER, day: QUARTER };
/** How far around a change of offset a walk looks, and how long a window may be: few steps each. */
const AROUND: Record<WalkedInterval, number> = { minute: 10 * 60, hour: 3 * HOUR, day: 3 * HOUR };
const LONGEST: Record<WalkedInterval, number> = { minute: 3 * HOUR, hour: 8 * DAY, day: 8 * DAY };

const begins: Record<WalkedInterval, (now: DateTime, before: DateTime) => boolean> = {
  minute: (now, before) => now.minute !== before.minute || begins.hour(now, before),
  hour: (now, before) => now.hour !== before.hour || now.offset < before.offset || begins.day(now, before),
  day: (now, before) => now.day !== before.day,
};

/**
 * The rule of the contract, the slow way: walk the window in small steps, look at luxon's local clock, and
 * begin a period where its unit changes or (for minutes and hours) where the clock was put back.
 */
function walkedBounds(from: number, to: number, zone: string, interval: WalkedInterval): number[] {
  const starts: number[] = [];
  let before: DateTime | undefined;
  for (let at = Math.floor(from / STEP[interval]) * STEP[interval] - LEAD[interval]; ; at += STEP[interval]) {
    const now = DateTime.fromSeconds(at, { zone });
    const hasBegun = before && begins[interval](now, before);
    if (hasBegun) starts.push(at);
    if (hasBegun && at >= to) break;
    before = now;
  }
  return starts.slice(starts.findLastIndex((start) => start <= from));
}

/** Changes of offset from 2024 to 2027, each with a zone; many zones have the same ones. */
function listChanges(): { at: number; zone: string }[] {
  const offsetAt = (at: number, zone: string) => DateTime.fromSeconds(at, { zone }).offset;
  const changes = ZONES.flatMap((zone) =>
    listTransitions(zone).map(
      (at) => [[at, offsetAt(at - 1, zone), offsetAt(at, zone)].join(), { at, zone }] as const,
    ),
  );
  return [...new Map(changes).values()];
}

function listTransitions(zone: string): number[] {
  const found: number[] = [];
  let at = Temporal.Instant.fromEpochMilliseconds(FROM_2024 * 1000)
    .toZonedDateTimeISO(zone)
    .getTimeZoneTransition('next');
  while (at && at.epochMilliseconds < TO_2028 * 1000) {
    found.push(at.epochMilliseconds / 1000);
    at = at.getTimeZoneTransition('next');
  }
  return found;
}

describe('periodBounds', () => {
  it('agrees with a walk along the local clock', () => {
    fc.assert(
      fc.property(zones, instants, walked, fc.nat(), (zone, from, interval, length) => {
        const to = from + 1 + (length % LONGEST[interval]);
        expect(periodBounds(from, to, zone, interval)).toEqual(walkedBounds(from, to, zone, interval));
      }),
      { numRuns: 4 * RUNS },
    );
  });

  it('agrees with that walk at every change of offset from 2024 to 2027', () => {
    const changes = listChanges();
    expect(changes.length).toBeGreaterThan(100);
    for (const { at, zone } of changes)
      for (const interval of ['minute', 'hour', 'day'] as const) {
        const [from, to] = [at - AROUND[interval], at + AROUND[interval]];
        expect([zone, ...periodBounds(from, to, zone, interval)]).toEqual([
          zone,
          ...walkedBounds(from, to, zone, interval),
        ]);
      }
  });

  it('ascends, holds the window, and holds no period that begins outside it', () => {
    fc.assert(
      fc.property(zones, windows, intervals, (zone, { from, to }, interval) => {
        const bounds = periodBounds(from, to, zone, interval);
        expect(bounds.every((bound, i) => i === 0 || bound > bounds[i - 1]!)).toBe(true);
        expect(bounds[0]).toBeLessThanOrEqual(from);
        expect(bounds[1]).toBeGreaterThan(from);
        expect(bounds.at(-2)).toBeLessThan(to);
        expect(bounds.at(-1)).toBeGreaterThanOrEqual(to);
      }),
    );
  });

  it('says the same when a window is read in two parts', () => {
    fc.assert(
      fc.property(zones, windows, intervals, fc.nat(), (zone, { from, to }, interval, pick) => {
        const whole = periodBounds(from, to, zone, interval);
        fc.pre(whole.length > 2);
        const cut = 1 + (pick % (whole.length - 2));
        const middle = whole[cut]!;
        expect(periodBounds(from, middle, zone, interval)).toEqual(whole.slice(0, cut + 1));
        expect(periodBounds(middle, to, zone, interval)).toEqual(whole.slice(cut));
      }),
    );
  });

  it('keeps to quarters of a UTC hour in every zone, as the finest rollup needs', () => {
    const offGrid = ZONES.filter((zone) =>
      (['hour', 'day'] as const).some((interval) =>
        periodBounds(FROM_2024, FROM_2024 + 800 * DAY, zone, interval).some((bound) => bound % QUARTER !== 0),
      ),
    );
    expect(offGrid).toEqual([]);
  });

  it('stays short and ascending for malicious windows', () => {
    const wild = fc.oneof(
      fc.integer({ min: seconds('0001-01-01T00:00Z'), max: seconds('9999-12-31T23:59:59Z') }),
      fc.constantFrom(-Infinity, Infinity, -9e15, 9e15, -62_135_596_801, 253_402_300_800),
    );
    fc.assert(
      fc.property(zones, wild, wild, intervals, (zone, a, b, interval) => {
        const bounds = periodBounds(Math.min(a, b), Math.max(a, b), zone, interval);
        expect(bounds.every((bound, i) => i === 0 || bound > bounds[i - 1]!)).toBe(true);
        expect(bounds.length).toBeLessThan(interval === 'minute' ? 800 * 1_440 + 100 : 800 * 24 + 100);
        expect(a === b || bounds.length > 1).toBe(true);
      }),
      { numRuns: 4 * RUNS },
    );
  });

  it('begins days and months where Temporal does, also in years to come', () => {
    fc.assert(
      fc.property(
        zones,
        fc.integer({ min: seconds('2012-01-01T00:00Z'), max: seconds('2100-01-01T00:00Z') }),
        fc.constantFrom('day' as const, 'month' as const),
        (zone, instant, interval) => {
          const date = Temporal.Instant.fromEpochMilliseconds(instant * 1000)
            .toZonedDateTimeISO(zone)
            .toPlainDate();
          const first = interval === 'month' ? date.with({ day: 1 }) : date;
          const begin = (day: Temporal.PlainDate) => day.toZonedDateTime(zone).epochMilliseconds / 1000;
          expect(periodBounds(instant, instant + 1, zone, interval)).toEqual([
            begin(first),
            begin(first.add({ [`${interval}s`]: 1 })),
          ]);
        },
      ),
      { numRuns: 10 * RUNS },
    );
  });
});

describe('periodStart', () => {
  it('is the latest bound that is not after the instant', () => {
    fc.assert(
      fc.property(zones, windows, intervals, fc.nat(), (zone, { from, to }, interval, pick) => {
        const bounds = periodBounds(from, to, zone, interval);
        const instant = from + (pick % (to - from));
        expect(periodStart(instant, zone, interval)).toBe(bounds.findLast((bound) => bound <= instant));
      }),
    );
  });

  it('is its own beginning', () => {
    fc.assert(
      fc.property(zones, instants, intervals, (zone, instant, interval) => {
        const start = periodStart(instant, zone, interval);
        expect(periodStart(start, zone, interval)).toBe(start);
        expect(periodStart(start - 1, zone, interval)).toBeLessThan(start);
      }),
    );
  });
});

describe('firstWholePeriod', () => {
  it('is the earliest beginning that is not older than the retention', () => {
    fc.assert(
      fc.property(zones, instants, intervals, (zone, instant, interval) => {
        const first = firstWholePeriod(instant, zone, interval);
        expect(first).toBeGreaterThanOrEqual(instant);
        expect(periodStart(first, zone, interval)).toBe(first);
        expect(first === instant || periodStart(first - 1, zone, interval) < instant).toBe(true);
      }),
    );
  });
});
