import { Temporal } from 'temporal-polyfill';
import { DAYS } from '../api/alerts/days.js';
import { type Rule, readSchedule } from '../api/alerts/rule.js';
import type { Window } from '../shared/time/window.js';

/** A week, and the week before it. */
export interface ComparedWeeks {
  readonly window: Window;
  readonly baseline: Window;
}

/** When a digest was due last, at a time or before; both in milliseconds since the epoch. */
export function findLastDue(rule: Rule, at: number): number {
  const { day, at: time } = readSchedule(rule);
  const now = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(rule.timezone);
  const back = (now.dayOfWeek - 1 - DAYS.indexOf(day) + 7) % 7;
  const [due = 0, before = 0] = [back, back + 7].map(
    (days) =>
      now.toPlainDate().subtract({ days }).toZonedDateTime({ timeZone: rule.timezone, plainTime: time })
        .epochMilliseconds,
  );
  return due <= at ? due : before;
}

/** The seven days before the day on which a digest is due. */
export function findWeeks({ timezone }: Rule, due: number): ComparedWeeks {
  const day = Temporal.Instant.fromEpochMilliseconds(due).toZonedDateTimeISO(timezone).toPlainDate();
  const [end = 0, start = 0, before = 0] = [0, 7, 14].map(
    (days) => day.subtract({ days }).toZonedDateTime(timezone).epochMilliseconds,
  );
  return { window: { start, end }, baseline: { start: before, end: start } };
}
