import { Temporal } from 'temporal-polyfill';
import { planPeriods } from '../api/app-metrics/metric-periods.js';
import type { Interval } from '../queries/calendar/periods.js';
import { SPOKEN_TIMES, parseSpokenTime } from '../shared/time/spoken-time.js';
import { parseTimestamp, resolveTimestamp } from '../shared/time/timestamp.js';
import type { Window } from '../shared/time/window.js';
import { ConstraintViolation } from '../platform/input/issues.js';
import { parseTimezone } from '../platform/input/timezone.js';
import { findNearest } from '../shared/nearest.js';
import { ToolError } from './tool.error.js';
import { quoteName } from './untrusted-text.js';

/** The first time that an operation reads; the period before a long window can begin earlier. */
const EARLIEST = Date.parse('0001-01-01T00:00:00Z');

/** The time of a call, and the timezone of its times. */
export interface Clock {
  readonly now: number;
  /** IANA name. */
  readonly timezone: string;
}

export function createClock(timezone = 'UTC'): Clock {
  const zone = parseTimezone(timezone);
  if (!(zone instanceof ConstraintViolation)) return { now: Date.now(), timezone: zone };
  const nearest = findNearest(timezone, Intl.supportedValuesOf('timeZone'));
  throw new ToolError(
    `There is no timezone ${quoteName(timezone)}. It must be an IANA name; nearest: ${nearest.join(', ')}.`,
  );
}

/**
 * A time of an argument in milliseconds since the epoch: ISO 8601, in the clock's timezone without an offset,
 * or as people say it.
 */
export function readTime(name: string, text: string, { now, timezone }: Clock): number {
  const spoken = parseSpokenTime(text, now, timezone);
  if (spoken !== undefined) return spoken;
  const timestamp = parseTimestamp(text);
  if (timestamp.kind !== 'invalid') return resolveTimestamp(timestamp, timezone);
  throw new ToolError(
    `${name} is ${quoteName(text)}. It must be an ISO 8601 time (2026-11-20T14:00, 2026-11-20T14:00:00Z), ${SPOKEN_TIMES}.`,
  );
}

/** The window of a call: by default the last 24 hours. */
export function readWindow(since = '24h', until: string | undefined, clock: Clock): Window {
  const window = {
    start: readTime('since', since, clock),
    end: until === undefined ? clock.now : readTime('until', until, clock),
  };
  requireOrder('since', 'until', window);
  return window;
}

/** @throws ToolError for a window that does not begin before its end */
export function requireOrder(from: string, to: string, { start, end }: Window): void {
  if (start >= end) throw new ToolError(`${from} must be before ${to}.`);
}

/** The part of a window that Query Metrics counts: whole, retained periods; undefined if there is none. */
export function findCountedWindow(
  { start, end }: Window,
  interval: Interval | undefined,
  { now, timezone }: Clock,
): Window | undefined {
  const { bounds } = planPeriods({ since: start, until: end, now, interval, timezone, byConsumer: false });
  const [first, last] = [bounds[0], bounds.at(-1)];
  return first === undefined || last === undefined ? undefined : { start: first * 1000, end: last * 1000 };
}

/**
 * Describes the part of a window that is not retained any more. Nothing is counted in a distant future
 * either.
 */
export function describeRetention(
  name: string,
  asked: Window,
  counted: Window | undefined,
  { now }: Clock,
): string[] {
  if (asked.start >= (counted?.start ?? now)) return [];
  const missing = counted ? `the beginning of the ${name}` : `all of the ${name}`;
  return [`${missing}: metrics are kept for 13 months, by the minute for 32 days`];
}

/** The bounds of a window in the form of Query Metrics. The part that they cut off lies before all data. */
export function formatBounds({ start, end }: Window): { since: string; until: string } {
  return {
    since: new Date(Math.max(start, EARLIEST)).toISOString(),
    until: new Date(Math.max(end, EARLIEST + 1)).toISOString(),
  };
}

/** A time in the clock's timezone with its offset; seconds and milliseconds only if they are not zero. */
export function formatTime(epochMs: number, { timezone }: Pick<Clock, 'timezone'>): string {
  const smallestUnit = epochMs % 60_000 === 0 ? 'minute' : epochMs % 1000 === 0 ? 'second' : 'millisecond';
  const instant = Temporal.Instant.fromEpochMilliseconds(epochMs);
  return timezone === 'UTC'
    ? instant.toString({ smallestUnit })
    : instant.toString({ smallestUnit, timeZone: timezone });
}

/** The window in the form of a result. */
export function describeWindow({ start, end }: Window, clock: Clock) {
  return { since: formatTime(start, clock), until: formatTime(end, clock), timezone: clock.timezone };
}
