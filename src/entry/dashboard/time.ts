/** All times are milliseconds since the epoch. */

export type Zone = 'local' | 'utc';
export type Interval = 'minute' | 'hour' | 'day';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** The API keeps counts by the minute for 32 days. */
const MINUTES_KEPT = 32 * DAY;
/** Slightly more than the 13 months of counts. */
const COUNTS_KEPT = 400 * DAY;
/** Counted from the first of February, 13 months have no more days than this. */
const COUNTS_SURELY_KEPT = 393 * DAY;

/** Ranges that end now: their name, interval and number of periods, including the running one. */
export const PRESETS = {
  '1h': ['Last hour', 'minute', 60],
  '6h': ['Last 6 hours', 'minute', 360],
  '24h': ['Last 24 hours', 'hour', 24],
  '7d': ['Last 7 days', 'hour', 168],
  '30d': ['Last 30 days', 'day', 30],
  '90d': ['Last 90 days', 'day', 90],
  '12mo': ['Last 12 months', 'day', 365],
} as const satisfies Record<string, readonly [string, Interval, number]>;
export type Preset = keyof typeof PRESETS;

export type Range = { preset: Preset } | { from: number; to: number };

/** A range at a given time, in whole periods. */
export interface Window {
  from: number;
  /** End of the last period, which may still run. */
  to: number;
  /** Whether it has begun and not ended, so that its data change. */
  isLive: boolean;
  interval: Interval;
  zone: Zone;
  /**
   * Start of the same number of periods before `from`; null if not all of them are retained, so there is no
   * comparison.
   */
  previousFrom: number | null;
  /** Why it differs from the requested range; null if it does not. */
  remark: string | null;
}

export function getWindow(range: Range, zone: Zone, now: number): Window {
  if ('preset' in range) {
    const [, interval, count] = PRESETS[range.preset];
    const running = findStart(now, interval, zone);
    const from = add(running, 1 - count, interval, zone);
    const to = add(running, 1, interval, zone);
    const window = { from, to, isLive: true, interval, zone, remark: null };
    return { ...window, previousFrom: findPrevious(window, count, now) };
  }
  // Years without data would be periods too, more than a browser can list.
  const cut = (time: number) => Math.min(Math.max(time, now - COUNTS_KEPT), now + DAY);
  const [begin, end] = [cut(range.from), cut(range.to)];
  const span = end - begin;
  const hasMinutes = begin > now - MINUTES_KEPT;
  const interval: Interval = span <= 6 * HOUR && hasMinutes ? 'minute' : span <= 8 * DAY ? 'hour' : 'day';
  const from = findStart(begin, interval, zone);
  const last = findStart(Math.max(begin, end - 1), interval, zone);
  const to = add(last, 1, interval, zone);
  const count = listStarts(from, to, interval, zone).length;
  const isCut = begin !== range.from || end !== range.to;
  const remark = isCut ? explainCut(range, now) : null;
  const window = { from, to, isLive: from <= now && to > now, interval, zone, remark };
  return { ...window, previousFrom: findPrevious(window, count, now) };
}

function explainCut(range: { from: number; to: number }, now: number): string {
  if (range.from > now) return 'This time is in the future.';
  if (range.to < now - COUNTS_KEPT) return 'Nothing is kept of this time: counts are kept for 13 months.';
  return 'Only this part of the range can have requests: counts are kept for 13 months.';
}

function findPrevious(
  { from, interval, zone }: Omit<Window, 'previousFrom'>,
  count: number,
  now: number,
): Window['previousFrom'] {
  const previousFrom = add(from, -count, interval, zone);
  const kept = interval === 'minute' ? MINUTES_KEPT : COUNTS_SURELY_KEPT;
  return previousFrom >= now - kept ? previousFrom : null;
}

/** The starts of all periods from `from` until `to`. */
export function listStarts(from: number, to: number, interval: Interval, zone: Zone): number[] {
  const starts: number[] = [];
  for (let time = from; time < to; time = add(time, 1, interval, zone)) starts.push(time);
  return starts;
}

function findStart(time: number, interval: Interval, zone: Zone): number {
  if (interval === 'day') {
    const day = new Date(time);
    return zone === 'utc' ? day.setUTCHours(0, 0, 0, 0) : day.setHours(0, 0, 0, 0);
  }
  // Not setMinutes: if daylight saving repeats an hour, it would find the first one.
  const step = interval === 'hour' ? HOUR : MINUTE;
  const offset = getOffset(time, zone);
  let start = Math.floor((time + offset) / step) * step - offset;
  // Where the clock changes by half an hour (Lord Howe), an hour begins at the change.
  while (getOffset(start, zone) !== offset) start += MINUTE;
  return start;
}

function getOffset(time: number, zone: Zone): number {
  return zone === 'utc' ? 0 : new Date(time).getTimezoneOffset() * -MINUTE;
}

/** The start of a later period; a day of the local zone can have 23 or 25 hours. */
function add(time: number, count: number, interval: Interval, zone: Zone): number {
  if (interval === 'minute') return time + count * MINUTE;
  if (interval === 'hour') return addHours(time, count, zone);
  if (zone === 'utc') return time + count * DAY;
  const day = new Date(time);
  // If daylight saving skips midnight, the day begins at one o'clock, and the next day at midnight again.
  return findStart(day.setDate(day.getDate() + count), 'day', zone);
}

/** Hours later. Where the clock changes by half an hour, one of them has half an hour. */
function addHours(time: number, count: number, zone: Zone): number {
  let start = time;
  for (let left = count; left < 0; left++) start = findStart(start - MINUTE, 'hour', zone);
  for (let left = count; left > 0; left--) {
    // The last minute of an hour is at most 59 minutes after its start.
    let last = start + HOUR - MINUTE;
    while (findStart(last, 'hour', zone) !== start) last -= MINUTE;
    start = last + MINUTE;
  }
  return start;
}

export function timeZone(zone: Zone): string {
  return zone === 'utc' ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** A time in the format of the API. */
export function toIso(time: number): string {
  return new Date(time).toISOString().replace(/(:00)?\.000Z$/, 'Z');
}

const formats = new Map<string, Intl.DateTimeFormat>();

type Pattern = 'day' | 'date' | 'time' | 'stamp' | 'full';

/**
 * @param pattern `day` 22 Nov, `date` with the year, `time` 14:05, `stamp` 22 Nov, 14:05:09.123, `full` with
 * the zone
 */
export function formatTime(time: number, pattern: Pattern, zone: Zone): string {
  const id = `${pattern} ${zone}`;
  let format = formats.get(id);
  if (!format) {
    const day = { day: 'numeric', month: 'short' } as const;
    const date = { ...day, year: 'numeric' } as const;
    const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
    const exact = { ...day, ...clock, second: '2-digit', fractionalSecondDigits: 3 } as const;
    const full = { ...exact, timeZoneName: 'short' } as const;
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: timeZone(zone),
      ...{ day, date, time: clock, stamp: exact, full }[pattern],
    });
    formats.set(id, format);
  }
  return format.format(time);
}

export function getYear(time: number, zone: Zone): number {
  const date = new Date(time);
  return zone === 'utc' ? date.getUTCFullYear() : date.getFullYear();
}

/** The day, with the year if it is not the current one. */
function formatDay(time: number, zone: Zone): string {
  return formatTime(time, getYear(time, zone) === getYear(Date.now(), zone) ? 'day' : 'date', zone);
}

/** Names a period by its start: `22 Nov`, or `22 Nov, 14:00`. */
export function formatPeriod(start: number, { interval, zone }: Window): string {
  const day = formatDay(start, zone);
  return interval === 'day' ? day : `${day}, ${formatTime(start, 'time', zone)}`;
}

/** The name of the counted time: `22 Nov, 14:00 – 18:00`, or whole days, `20 Nov – 22 Nov`. */
export function formatWindow({ from, to, interval, zone }: Window): string {
  const isOfDays = interval === 'day';
  const first = formatDay(from, zone);
  const last = formatDay(isOfDays ? to - 1 : to, zone);
  if (isOfDays) return first === last ? first : `${first} – ${last}`;
  const end = formatTime(to, 'time', zone);
  return `${first}, ${formatTime(from, 'time', zone)} – ${first === last ? end : `${last}, ${end}`}`;
}

/** Converts to `<input type="datetime-local">`, and back. */
export function toInput(time: number, zone: Zone): string {
  const offset = zone === 'utc' ? 0 : new Date(time).getTimezoneOffset() * MINUTE;
  return new Date(time - offset).toISOString().slice(0, 16);
}

export function fromInput(text: string, zone: Zone): number {
  return Date.parse(zone === 'utc' ? `${text}Z` : text);
}
