/** All times are milliseconds since the epoch. */

export type Zone = 'local' | 'utc';
export type Interval = 'minute' | 'hour' | 'day';
/** What the window is compared with: the period before, or the same days of an earlier week. */
export type Comparison = 'before' | 'week';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const QUARTER = 15 * MINUTE;
const DAY = 24 * HOUR;
/** The API keeps counts by the minute for 32 days. */
const MINUTES_KEPT = 32 * DAY;
/** Slightly more than the 13 months of counts. */
const COUNTS_KEPT = 400 * DAY;
/** Counted from the first of February, 13 months have no more days than this. */
const COUNTS_SURELY_KEPT = 393 * DAY;

/** More bars than this are not drawn. */
const MAX_PERIODS = 1500;
/** Request logs are kept for 15 days. */
const LOGS_KEPT = 15 * DAY;

/** A range by its name: its interval, and its bounds in whole periods at a given time. */
interface NamedRange {
  readonly name: string;
  readonly interval: Interval;
  readonly find: (now: number, zone: Zone) => { from: number; to: number };
  /** The days between it and the period before; left out: as many periods as it has. */
  readonly days?: number;
}

/** A number of periods; the last one still runs. */
const endingNow = (name: string, interval: Interval, count: number): NamedRange => ({
  name,
  interval,
  find: (now, zone) => {
    const running = findStart(now, interval, zone);
    return { from: add(running, 1 - count, interval, zone), to: add(running, 1, interval, zone) };
  },
});

/** From the start of a day until the end of the running hour. */
const beginningAt = (
  name: string,
  findBegin: (now: number, zone: Zone) => number,
  days: number,
): NamedRange => ({
  name,
  interval: 'hour',
  days,
  find: (now, zone) => ({
    from: findBegin(now, zone),
    to: add(findStart(now, 'hour', zone), 1, 'hour', zone),
  }),
});

const findDay = (now: number, zone: Zone) => findStart(now, 'day', zone);

export const PRESETS = {
  '1h': endingNow('Last hour', 'minute', 60),
  '6h': endingNow('Last 6 hours', 'minute', 360),
  '24h': endingNow('Last 24 hours', 'hour', 24),
  '7d': endingNow('Last 7 days', 'hour', 168),
  '30d': endingNow('Last 30 days', 'day', 30),
  '90d': endingNow('Last 90 days', 'day', 90),
  '12mo': endingNow('Last 12 months', 'day', 365),
  today: beginningAt('Today', findDay, 1),
  yesterday: {
    name: 'Yesterday',
    interval: 'hour',
    days: 1,
    find: (now, zone) => {
      const to = findDay(now, zone);
      return { from: add(to, -1, 'day', zone), to };
    },
  },
  week: beginningAt('This week', findMonday, 7),
  month: {
    name: 'Previous month',
    interval: 'day',
    find: (now, zone) => {
      const to = findMonth(now, zone);
      return { from: findMonth(to - 1, zone), to };
    },
  },
} as const satisfies Record<string, NamedRange>;
export type Preset = keyof typeof PRESETS;

export type Range = { preset: Preset } | { from: number; to: number };

/** How a range is divided and what it is compared with. */
export interface Division {
  /** Null: by its length. */
  interval: Interval | null;
  compare: Comparison;
}

/** A range at a given time, in whole periods. */
export interface Window {
  from: number;
  /** End of the last period, which may still run. */
  to: number;
  /** Whether it has begun and not ended, so that its data change. */
  isLive: boolean;
  interval: Interval;
  zone: Zone;
  /** The window that it is compared with; null if not all of it is retained. */
  before: Before | null;
  /** Why it differs from the requested range; null if it does not. */
  remark: string | null;
}

interface Before {
  from: number;
  to: number;
  /** End of its part that is as long as what has passed of the window: up to a quarter-hour earlier. */
  until: number;
  /** Its name in a sentence. */
  name: string;
}

export function getWindow(range: Range, zone: Zone, now: number, division: Division = USUAL): Window {
  // Years without data would be periods too, more than a browser can list.
  const cut = (time: number) => Math.min(Math.max(time, now - COUNTS_KEPT), now + DAY);
  const named: NamedRange | undefined = 'preset' in range ? PRESETS[range.preset] : undefined;
  const asked = 'preset' in range ? PRESETS[range.preset].find(now, zone) : range;
  const [begin, end] = named ? [asked.from, asked.to] : [cut(asked.from), cut(asked.to)];
  const possible = listIntervals(begin, end, now);
  const usual = named?.interval ?? chooseInterval(begin, end, possible);
  const interval = division.interval && possible.includes(division.interval) ? division.interval : usual;
  const from = findStart(begin, interval, zone);
  const to = add(findStart(Math.max(begin, end - 1), interval, zone), 1, interval, zone);
  const isCut = begin !== asked.from || end !== asked.to;
  const window: Window = {
    from,
    to,
    isLive: from <= now && to > now,
    interval,
    zone,
    before: null,
    remark: isCut ? explainCut(asked, now) : null,
  };
  return { ...window, before: findBefore(window, division.compare, named?.days, now) };
}

const USUAL: Division = { interval: null, compare: 'before' };

/** The intervals by which a window can be drawn. */
export function listIntervals(from: number, to: number, now: number): Interval[] {
  const fits = (length: number) => (to - from) / length <= MAX_PERIODS;
  return [
    ...(fits(MINUTE) && from > now - MINUTES_KEPT ? (['minute'] as const) : []),
    ...(fits(HOUR) ? (['hour'] as const) : []),
    'day',
  ];
}

function chooseInterval(from: number, to: number, possible: readonly Interval[]): Interval {
  if (to - from <= 6 * HOUR && possible.includes('minute')) return 'minute';
  return to - from <= 8 * DAY ? 'hour' : 'day';
}

/** The start of the kept request logs. */
export function logsKeptFrom(now: number): number {
  return now - LOGS_KEPT;
}

function explainCut(range: { from: number; to: number }, now: number): string {
  if (range.from > now) return 'This time is in the future.';
  if (range.to < now - COUNTS_KEPT) return 'Nothing is kept of this time: counts are kept for 13 months.';
  return 'Only this part of the range can have requests: counts are kept for 13 months.';
}

function findBefore(
  { from, to, interval, zone, isLive }: Window,
  compare: Comparison,
  days: number | undefined,
  now: number,
): Before | null {
  const weeks = Math.max(1, Math.ceil((to - from - HOUR) / (7 * DAY)));
  const shift = (time: number) => {
    if (compare === 'week') return shiftDays(time, -7 * weeks, zone);
    if (days !== undefined) return shiftDays(time, -days, zone);
    return add(time, -listStarts(from, to, interval, zone).length, interval, zone);
  };
  const before = { from: shift(from), to: shift(to) };
  const kept = interval === 'minute' ? MINUTES_KEPT : COUNTS_SURELY_KEPT;
  if (before.from < now - kept) return null;
  const step = interval === 'minute' ? MINUTE : QUARTER;
  const passed = Math.floor((now - from) / step) * step;
  return {
    ...before,
    // At least a step, so that there is something to ask for.
    until: isLive ? Math.min(before.to, before.from + Math.max(step, passed)) : before.to,
    name:
      compare === 'before'
        ? 'the period before'
        : weeks === 1
          ? 'the same days of last week'
          : `the same weekdays ${weeks} weeks earlier`,
  };
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

/** The start of the week, a Monday, and of the month. */
function findMonday(time: number, zone: Zone): number {
  const day = findStart(time, 'day', zone);
  const weekday = zone === 'utc' ? new Date(day).getUTCDay() : new Date(day).getDay();
  return add(day, -((weekday + 6) % 7), 'day', zone);
}

function findMonth(time: number, zone: Zone): number {
  const day = new Date(time);
  return findStart(zone === 'utc' ? day.setUTCDate(1) : day.setDate(1), 'day', zone);
}

function getOffset(time: number, zone: Zone): number {
  return zone === 'utc' ? 0 : new Date(time).getTimezoneOffset() * -MINUTE;
}

/** The start of a later period; a day of the local zone can have 23 or 25 hours. */
function add(time: number, count: number, interval: Interval, zone: Zone): number {
  if (interval === 'minute') return time + count * MINUTE;
  if (interval === 'hour') return addHours(time, count, zone);
  if (zone === 'utc') return time + count * DAY;
  // If daylight saving skips midnight, the day begins at one o'clock, and the next day at midnight again.
  return findStart(shiftDays(time, count, zone), 'day', zone);
}

/** The same time of an earlier or later day. */
function shiftDays(time: number, count: number, zone: Zone): number {
  if (zone === 'utc') return time + count * DAY;
  const day = new Date(time);
  return day.setDate(day.getDate() + count);
}

/** Hours later. Where the clock changes by half an hour, one of them has half an hour. */
function addHours(time: number, count: number, zone: Zone): number {
  let start = time;
  for (let hours = count; hours < 0; hours++) start = findStart(start - MINUTE, 'hour', zone);
  for (let hours = count; hours > 0; hours--) {
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

/** The window as parameters of a query; one that runs has no end. */
export function toBounds({ from, to, isLive }: Window): { start: string; end?: string } {
  return { start: toIso(from), ...(!isLive && { end: toIso(to) }) };
}

/** The window as members of a body. */
export function toPeriod(window: Window): { since: string; until?: string } {
  const { start: since, end } = toBounds(window);
  return { since, ...(end !== undefined && { until: end }) };
}

const formats = new Map<string, Intl.DateTimeFormat>();

type Pattern = 'day' | 'weekday' | 'date' | 'time' | 'stamp' | 'full';

/**
 * @param pattern `day` 22 Nov, `weekday` Sun 22 Nov, `date` with the year, `time` 14:05, `stamp` 22 Nov,
 * 14:05:09.123, `full` with the zone
 */
export function formatTime(time: number, pattern: Pattern, zone: Zone): string {
  const id = `${pattern} ${zone}`;
  let format = formats.get(id);
  if (!format) {
    const day = { day: 'numeric', month: 'short' } as const;
    const weekday = { ...day, weekday: 'short' } as const;
    const date = { ...day, year: 'numeric' } as const;
    const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
    const exact = { ...day, ...clock, second: '2-digit', fractionalSecondDigits: 3 } as const;
    const full = { ...exact, timeZoneName: 'short' } as const;
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: timeZone(zone),
      ...{ day, weekday, date, time: clock, stamp: exact, full }[pattern],
    });
    formats.set(id, format);
  }
  return format.format(time);
}

/** Day and minute: 22 Nov, 14:05. */
export function formatMinute(time: number, zone: Zone): string {
  return `${formatDay(time, zone)}, ${formatTime(time, 'time', zone)}`;
}

export function getYear(time: number, zone: Zone): number {
  const date = new Date(time);
  return zone === 'utc' ? date.getUTCFullYear() : date.getFullYear();
}

/** The day, with the year if it is not the current one. */
function formatDay(time: number, zone: Zone): string {
  return formatTime(time, getYear(time, zone) === getYear(Date.now(), zone) ? 'day' : 'date', zone);
}

/** Names a period by its start: `Sun 22 Nov`, or `Sun 22 Nov, 14:00`. */
export function formatPeriod(start: number, { interval, zone }: Window): string {
  const isThisYear = getYear(start, zone) === getYear(Date.now(), zone);
  const day = isThisYear
    ? formatTime(start, 'weekday', zone).replace(',', '')
    : formatTime(start, 'date', zone);
  return interval === 'day' ? day : `${day}, ${formatTime(start, 'time', zone)}`;
}

/** The name of the counted time: `22 Nov, 14:00 – 18:00`, or whole days, `20 Nov – 22 Nov`. */
export function formatWindow({
  from,
  to,
  interval,
  zone,
}: Pick<Window, 'from' | 'to' | 'interval' | 'zone'>): string {
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
