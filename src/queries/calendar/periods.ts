import { clamp } from '../../shared/clamp.js';
import { DAY_SECONDS } from '../../shared/time/units.js';
import { type OffsetSpan, offsetSpans } from './zone-offsets.js';

/** Grouping of records by a unit of the zone's calendar. */
export type Interval = 'minute' | 'hour' | 'day' | 'month';

/** A unit of a local calendar: each has a number, and they follow each other without gaps. */
interface CalendarUnit {
  /** The number of the unit that contains a local time, in seconds since the local epoch. */
  indexAt(local: number): number;
  /** The local time at which a unit begins. */
  getStart(index: number): number;
  /** Whether a unit that the clock repeats after daylight saving is a new period. */
  isRepeated: boolean;
}

const fixedUnit = (seconds: number, isRepeated: boolean): CalendarUnit => ({
  indexAt: (local) => Math.floor(local / seconds),
  getStart: (index) => index * seconds,
  isRepeated,
});

const UNITS: Readonly<Record<Interval, CalendarUnit>> = {
  minute: fixedUnit(60, true),
  hour: fixedUnit(3_600, true),
  day: fixedUnit(DAY_SECONDS, false),
  month: {
    indexAt: (local) => {
      const date = new Date(local * 1000);
      return date.getUTCFullYear() * 12 + date.getUTCMonth();
    },
    getStart: (index) => new Date(0).setUTCFullYear(Math.floor(index / 12), ((index % 12) + 12) % 12) / 1000,
    isRepeated: false,
  },
};

// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z: the timestamps that a client can write.
const EARLIEST = -62_135_596_800;
const LATEST = 253_402_300_799;

/** Well above the 13 months of retention; limits the work for a malicious window. */
const LONGEST_WINDOW_SECONDS = 800 * DAY_SECONDS;

/**
 * Longer than the longest period: a month of 31 days, and one more day if a zone changed sides of the date
 * line.
 */
const MARGIN_SECONDS: Readonly<Record<Interval, number>> = {
  minute: 3 * DAY_SECONDS,
  hour: 3 * DAY_SECONDS,
  day: 3 * DAY_SECONDS,
  month: 34 * DAY_SECONDS,
};

/**
 * The bounds `[b0, b1, … bn]` of consecutive periods, in whole seconds since the Unix epoch, ascending:
 * period `i` lasts from `b[i]`, inclusive, to `b[i + 1]`, exclusive. `b0` begins the period that contains
 * `from`; every period that begins before `to` is included as a whole (docs/contract.md#periods). Empty when
 * `from` is not before `to`.
 *
 * A day or month belongs to the zone's calendar and varies in length. A minute or hour belongs to the zone's
 * clock; repeated ones at the end of daylight saving are separate periods.
 *
 * `from` and `to` are clamped to the years 1 to 9999, and `to` within 800 days of `from`.
 *
 * @throws RangeError when the zone is unknown.
 */
export function periodBounds(from: number, to: number, zone: string, interval: Interval): number[] {
  if (from >= to) return [];
  const first = clamp(from, EARLIEST, LATEST);
  const last = clamp(to, EARLIEST + 1, Math.min(LATEST + 1, first + LONGEST_WINDOW_SECONDS));
  const margin = MARGIN_SECONDS[interval];
  const starts = periodStarts(offsetSpans(first - margin, last + margin, zone), UNITS[interval]);
  return starts.slice(
    starts.findLastIndex((start) => start <= first),
    starts.findIndex((start) => start >= last) + 1,
  );
}

/**
 * The beginning of the period that contains an instant; both in seconds since the Unix epoch.
 *
 * @throws RangeError when the zone is unknown.
 */
export function periodStart(instant: number, zone: string, interval: Interval): number {
  return periodAt(instant, zone, interval)[0];
}

/**
 * The beginning of the first period that lies wholly within the retention; both in seconds since the Unix
 * epoch. An older one would count requests that must no longer be shown.
 *
 * @throws RangeError when the zone is unknown.
 */
export function firstWholePeriod(retainedFrom: number, zone: string, interval: Interval): number {
  const [start, next] = periodAt(retainedFrom, zone, interval);
  return start >= retainedFrom ? start : next;
}

function periodAt(instant: number, zone: string, interval: Interval): readonly [start: number, end: number] {
  const at = clamp(instant, EARLIEST, LATEST);
  const [start = at, end = at + 1] = periodBounds(at, at + 1, zone, interval);
  return [start, end];
}

/**
 * The beginnings of the periods in `spans`. The first one may be in the middle of a period, where the spans
 * begin.
 */
function periodStarts(spans: readonly OffsetSpan[], unit: CalendarUnit): number[] {
  const starts: number[] = [];
  // The number of the latest local unit that has begun.
  let begun = -Infinity;
  let offsetBefore = -Infinity;
  for (const { start, end, offset } of spans) {
    // Hours that the clock repeats are new periods; a day with two midnights stays one day.
    if (unit.isRepeated && offset < offsetBefore) begun = -Infinity;
    offsetBefore = offset;
    for (let index = Math.max(begun + 1, unit.indexAt(start + offset)); ; index++) {
      // If the clock skips the unit's first minutes, the unit begins with the span.
      const beginning = Math.max(start, unit.getStart(index) - offset);
      if (beginning >= end) break;
      starts.push(beginning);
      begun = index;
    }
  }
  return starts;
}
