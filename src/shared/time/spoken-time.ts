import { Temporal } from 'temporal-polyfill';

const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
const AGO = /^(\d{1,6})([mhdw])$/;
const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

/** The times that `parseSpokenTime` knows, for messages. */
export const SPOKEN_TIMES =
  'today, yesterday, a weekday such as monday, or a time before now: 90m, 24h, 7d, 2w';

/**
 * A time as people say it, in milliseconds since the epoch: so long before now, or the start of a day in the
 * timezone. A weekday is the last one, today included. Undefined for another text.
 */
export function parseSpokenTime(text: string, now: number, timezone = 'UTC'): number | undefined {
  const ago = AGO.exec(text);
  if (ago) return now - Number(ago[1]) * UNITS[ago[2] as keyof typeof UNITS];
  const today = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timezone).toPlainDate();
  const days = countDaysAgo(text.toLowerCase(), today.dayOfWeek);
  return days === undefined
    ? undefined
    : today.subtract({ days }).toZonedDateTime(timezone).epochMilliseconds;
}

/** @param dayOfWeek of today, 1 for Monday */
function countDaysAgo(word: string, dayOfWeek: number): number | undefined {
  if (word === 'today') return 0;
  if (word === 'yesterday') return 1;
  const index = WEEKDAYS.indexOf(word);
  return index === -1 ? undefined : (dayOfWeek - 1 - index + 7) % 7;
}
