import {
  parseIngestTimestamp,
  readTwoDigits,
  isStorable,
  toEpochMs,
} from '../../../records/decoding/timestamps.js';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const ZONE = String.raw`(?: ?(?:Z|UTC|GMT|([+-]\d\d):?(\d\d)))?`;
const CLOCK = String.raw`(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?`;
/** `17/May/2015:10:05:03 +0000`, also with a fraction, a blank before the hour, or without an offset. */
const DAY_FIRST = new RegExp(
  String.raw`^(?:[A-Z][a-z]{2}, )?(\d{1,2})[/ -]([A-Z][a-z]{2})[/ -](\d{4})[: ]${CLOCK}${ZONE}$`,
);
/** `Sun May 17 10:05:03 2015`, as `ctime` of C writes it. */
const MONTH_FIRST = new RegExp(
  String.raw`^(?:[A-Z][a-z]{2} )?([A-Z][a-z]{2}) {1,2}(\d{1,2}) ${CLOCK}(?: (\d{4}))?$`,
);
/** `2026/11/20 08:15:02` of Go; Gin writes a hyphen between. */
const SLASHES = /^(\d{4})\/(\d\d)\/(\d\d) (?:- )?/;
const COMMON_LENGTH = '17/May/2015:10:05:03 +0000'.length;
const NUMBER = /^\d{1,19}(?:\.\d{1,9})?$/;
/**
 * Times since the epoch from these values on are in milliseconds, microseconds and nanoseconds. In seconds
 * they would be after the year 5000.
 */
const [FROM_MS, FROM_US, FROM_NS] = [1e11, 1e14, 1e17];
const HALF_A_DAY_MS = 43_200_000;

/**
 * A time of a log in milliseconds since the Unix epoch: a number since the epoch, whose unit follows from its
 * size, an ISO 8601 date and time, the time of the common log format, or the time of `ctime`. UTC without an
 * offset. NaN for any other value, and outside the years 1970 to 2099.
 */
export function parseLogTime(value: unknown): number {
  const epochMs =
    typeof value === 'number' ? toEpoch(value) : typeof value === 'string' ? parseText(value) : NaN;
  return isStorable(epochMs) ? epochMs : NaN;
}

/** Milliseconds of a time since the Unix epoch. */
function toEpoch(time: number): number {
  if (time >= FROM_NS) return time / 1e6;
  if (time >= FROM_US) return time / 1e3;
  // Rounded to the microsecond first: 1700000000.123 seconds are 1700000000122.9999 milliseconds.
  return time >= FROM_MS ? time : Math.round(time * 1e6) / 1e3;
}

function parseText(given: string): number {
  // Apache writes brackets around a time.
  const text = given.startsWith('[') && given.endsWith(']') ? given.slice(1, -1) : given;
  if (text.length === COMMON_LENGTH && text[2] === '/' && text[20] === ' ') return readCommonLogTime(text);
  if (NUMBER.test(text)) return toEpoch(Number(text));
  return parseDayFirst(text) ?? parseMonthFirst(text) ?? parseIngestTimestamp(toIso(text)) ?? NaN;
}

function toIso(text: string): string {
  return text
    .replace(SLASHES, '$1-$2-$3 ')
    .replace(/ (?:UTC|GMT)$| (?=[+-]\d)/, (zone) => (zone === ' ' ? '' : 'Z'));
}

/** The time of the common log format, digit by digit: nearly every line of an access log has this form. */
function readCommonLogTime(text: string): number {
  const year = readTwoDigits(text, 7) * 100 + readTwoDigits(text, 9);
  const month = MONTHS.indexOf(text.slice(3, 6)) + 1;
  const [day, hour] = [readTwoDigits(text, 0), readTwoDigits(text, 12)];
  const [minute, second] = [readTwoDigits(text, 15), readTwoDigits(text, 18)];
  const [offsetHours, offsetMinutes] = [readTwoDigits(text, 22), readTwoDigits(text, 24)];
  if (offsetHours > 23 || offsetMinutes > 59) return NaN;
  const offset = (offsetHours * 60 + offsetMinutes) * 60_000;
  const local = toEpochMs(year, month, day, hour, minute, second);
  return text[21] === '-' ? local + offset : local - offset;
}

function parseDayFirst(text: string): number | undefined {
  const [match, day, month, year, hour, minute, second, fraction, hours = '+00', minutes = '00'] =
    DAY_FIRST.exec(text) ?? [];
  if (match === undefined) return undefined;
  if (Math.abs(Number(hours)) > 23 || Number(minutes) > 59) return NaN;
  const local = toLocal(Number(year), month, [day, hour, minute, second], fraction);
  const offset = (Math.abs(Number(hours)) * 60 + Number(minutes)) * 60_000;
  return hours.startsWith('-') ? local + offset : local - offset;
}

function parseMonthFirst(text: string): number | undefined {
  const [match, month, day, hour, minute, second, fraction, year] = MONTH_FIRST.exec(text) ?? [];
  if (match === undefined) return undefined;
  if (year !== undefined) return toLocal(Number(year), month, [day, hour, minute, second], fraction);
  // Syslog writes no year. So the time is the last possible one that is not in the future, allowing for a
  // clock half a day ahead.
  const latest = Date.now() + HALF_A_DAY_MS;
  const thisYear = new Date(latest).getUTCFullYear();
  const inYear = (candidate: number) => toLocal(candidate, month, [day, hour, minute, second], fraction);
  // At least one of the last four years has a 29th of February.
  return [0, 1, 2, 3, 4].map((ago) => inYear(thisYear - ago)).find((time) => time <= latest);
}

function toLocal(
  year: number,
  month: string | undefined,
  parts: readonly (string | undefined)[],
  fraction = '',
): number {
  const [day = NaN, hour = NaN, minute = NaN, second = NaN] = parts.map(Number);
  const epochMs = toEpochMs(year, MONTHS.indexOf(month ?? '') + 1, day, hour, minute, second);
  return epochMs + Number(fraction.slice(0, 3).padEnd(3, '0'));
}
