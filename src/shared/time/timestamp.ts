import { Temporal } from 'temporal-polyfill';
import { MINUTE_MS } from './units.js';

/**
 * A point in time as a client writes it (docs/contract.md#timestamps), kept to the millisecond: cut, not
 * rounded.
 */
export type Timestamp =
  /** Written with an offset: milliseconds since the Unix epoch. */
  | { readonly kind: 'instant'; readonly epochMs: number }
  /**
   * Written without one: the milliseconds since the Unix epoch at which a clock in UTC shows this local time.
   */
  | { readonly kind: 'local'; readonly wallMs: number };

/** An invalid timestamp, and pydantic's reason for it. */
interface InvalidTimestamp {
  readonly kind: 'invalid';
  readonly reason: string;
}

const TIME = String.raw`(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?`;
// An unescaped `+` in a URL arrives as a space, so a space is a sign too.
const OFFSET = String.raw`([Zz]|[+\- ]\d{2}(?::?\d{2})?)`;
const SHAPE = new RegExp(String.raw`^(\d{4})-(\d{2})-(\d{2})(?:[Tt ]${TIME}${OFFSET}?)?$`);

/**
 * The Gregorian calendar repeats after 400 years; `Date.UTC` reads years below 100 as those of the last
 * century.
 */
const CYCLE_YEARS = 400;
const CYCLE_MS = 146_097 * 86_400_000;

/** Parses a timestamp without surrounding text. */
export function parseTimestamp(text: string): Timestamp | InvalidTimestamp {
  const parts = SHAPE.exec(text);
  const wallMs = parts ? wallTime(parts) : undefined;
  const offset = parts?.[8];
  if (wallMs === undefined) return { kind: 'invalid', reason: whyInvalid(text) };
  if (offset === undefined) return { kind: 'local', wallMs };
  const minutes = offsetMinutes(offset);
  if (minutes === undefined) return { kind: 'invalid', reason: EXTRA_CHARACTERS };
  return { kind: 'instant', epochMs: wallMs - minutes * MINUTE_MS };
}

/**
 * The timestamp in milliseconds since the Unix epoch. A local time is one of `timeZone`, an IANA name; one
 * that the zone skips or repeats is resolved as Temporal's `compatible` does (docs/contract.md#local-time).
 *
 * @throws RangeError for an unknown zone
 */
export function resolveTimestamp(timestamp: Timestamp, timeZone = 'UTC'): number {
  if (timestamp.kind === 'instant') return timestamp.epochMs;
  if (timeZone === 'UTC') return timestamp.wallMs;
  return Temporal.Instant.fromEpochMilliseconds(timestamp.wallMs)
    .toZonedDateTimeISO('UTC')
    .toPlainDateTime()
    .toZonedDateTime(timeZone, { disambiguation: 'compatible' }).epochMilliseconds;
}

/** UTC in whole seconds, `2025-05-14T10:00:00Z`, from milliseconds since the Unix epoch; the rest is cut. */
export function formatSeconds(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, -'.000Z'.length)}Z`;
}

function wallTime([, year, month, day, hour, minute, second, fraction]: RegExpExecArray): number | undefined {
  const date = epochOfDate(Number(year), Number(month), Number(day));
  const [hours, minutes, seconds] = [Number(hour ?? 0), Number(minute ?? 0), Number(second ?? 0)];
  if (date === undefined || hours > 23 || minutes > 59 || seconds > 59) return undefined;
  const milliseconds = Number((fraction ?? '').slice(0, 3).padEnd(3, '0'));
  return date + (hours * 60 + minutes) * MINUTE_MS + seconds * 1000 + milliseconds;
}

/** Midnight of the day in UTC; undefined for a day that the calendar does not have. */
function epochOfDate(year: number, month: number, day: number): number | undefined {
  const shifted = Date.UTC(year + CYCLE_YEARS, month - 1, day);
  const date = new Date(shifted);
  const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return exists ? shifted - CYCLE_MS : undefined;
}

/** From `Z`, `+02`, `+02:00` or `+0200`; undefined outside ±23:59. */
function offsetMinutes(offset: string): number | undefined {
  if (offset.length === 1) return 0;
  const hours = Number(offset.slice(1, 3));
  const minutes = Number(offset.slice(3).replace(':', ''));
  if (hours > 23 || minutes > 59) return undefined;
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}

const EXTRA_CHARACTERS = 'unexpected extra characters at the end of the input';
const DATE_PARTS: readonly (readonly [shape: RegExp, otherwise: string])[] = [
  [/^\d{4}/, 'invalid character in year'],
  [/^.{4}-/s, 'invalid date separator, expected `-`'],
  [/^.{5}\d{2}/s, 'invalid character in month'],
  [/^.{7}-/s, 'invalid date separator, expected `-`'],
  [/^.{8}\d{2}/s, 'invalid character in day'],
  [/^.{5}(?:0[1-9]|1[0-2])/s, 'month value is outside expected range of 1-12'],
];

/**
 * pydantic tries the text as a date last and reports the reason of that attempt, also if the time is invalid.
 */
function whyInvalid(text: string): string {
  if (Buffer.byteLength(text) < 'YYYY-MM-DD'.length) return 'input is too short';
  const broken = DATE_PARTS.find(([shape]) => !shape.test(text));
  if (broken) return broken[1];
  const [year, month, day] = [text.slice(0, 4), text.slice(5, 7), text.slice(8, 10)].map(Number);
  const exists = epochOfDate(year ?? NaN, month ?? NaN, day ?? NaN) !== undefined;
  return exists ? EXTRA_CHARACTERS : 'day value is outside expected range';
}
