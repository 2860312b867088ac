import { offsetSpans, type OffsetSpan } from './zone-offsets.js';

/** How Get Traffic groups its records: by calendar hour or by calendar day of the zone. */
export type Interval = 'hour' | 'day';

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;
const UNIT_SECONDS: Readonly<Record<Interval, number>> = { hour: HOUR_SECONDS, day: DAY_SECONDS };

// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z: the timestamps that a client can write.
const EARLIEST = -62_135_596_800;
const LATEST = 253_402_300_799;

/** Well over the 13 months for which traffic is kept; bounds the work that a hostile window can ask for. */
const LONGEST_WINDOW_SECONDS = 800 * DAY_SECONDS;

/** More than the longest calendar day: 48 hours, where a zone changed sides of the date line. */
const MARGIN_SECONDS = 3 * DAY_SECONDS;

/**
 * The bounds `[b0, b1, … bn]` of consecutive periods, in whole seconds since the Unix epoch, ascending: period
 * `i` lasts from `b[i]`, inclusive, to `b[i + 1]`, exclusive. `b0` begins the period that contains `from`; every
 * period that begins before `to` is included, whole (docs/contract.md#periods). Empty when `from` is not before `to`.
 *
 * A day is a calendar day of the zone, of whatever length. An hour is a calendar hour of the zone's clock, and
 * hours that the clock shows again after it was put back are periods of their own.
 *
 * `from` and `to` are held within the years 1 to 9999, and `to` within 800 days of `from`.
 *
 * @throws RangeError when the zone is unknown.
 */
export function periodBounds(from: number, to: number, zone: string, interval: Interval): number[] {
  if (from >= to) return [];
  const first = clamp(from, EARLIEST, LATEST);
  const last = clamp(to, EARLIEST + 1, Math.min(LATEST + 1, first + LONGEST_WINDOW_SECONDS));
  const spans = offsetSpans(first - MARGIN_SECONDS, last + MARGIN_SECONDS, zone);
  const starts = periodStarts(spans, interval);
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
 * The beginning of the first period that lies wholly within the retention; both in seconds since the Unix epoch.
 * An older one would count requests that must no longer be shown.
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
 * The beginnings of the periods in `spans`. The first one may be cut short by where the spans begin, and so may
 * not be a beginning at all.
 */
function periodStarts(spans: readonly OffsetSpan[], interval: Interval): number[] {
  const unit = UNIT_SECONDS[interval];
  const starts: number[] = [];
  // The latest local hour or day that has begun, counted from the local epoch.
  let begun = -Infinity;
  let offsetBefore = -Infinity;
  for (const { start, end, offset } of spans) {
    // A clock put back shows hours again, and they count again; a day that shows midnight twice stays one day.
    if (interval === 'hour' && offset < offsetBefore) begun = -Infinity;
    offsetBefore = offset;
    for (let unitIndex = Math.max(begun + 1, Math.floor((start + offset) / unit)); ; unitIndex++) {
      // A clock put forward skips the unit's first minutes: then it begins with the span.
      const beginning = Math.max(start, unitIndex * unit - offset);
      if (beginning >= end) break;
      starts.push(beginning);
      begun = unitIndex;
    }
  }
  return starts;
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}
