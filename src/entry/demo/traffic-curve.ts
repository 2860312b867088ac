import { DAY_MS } from '../../shared/time/units.js';

/**
 * The unit of generation: the start of a slot determines its requests. It is also the finest bucket of the
 * traffic.
 */
export const SLOT_MS = 15 * 60_000;

/** Visits in a slot after the growth, averaged over the week. */
const VISITS = 6.4;
/** Share of those visits at the sample's beginning, and the duration of the growth. */
const AT_ORIGIN = 0.45;
const GROWTH_DAYS = 395;
/** Hour of the day (UTC) with the most traffic, and the amplitude of the day around its mean. */
const PEAK_HOUR = 14;
const SWING = 0.72;
/** Sunday to Saturday; the mean is 1. */
const WEEKDAYS = [0.6, 1.13, 1.17, 1.17, 1.16, 1.12, 0.65];
/** One of this many hours has an incident. */
const HOURS_PER_INCIDENT = 71;

/**
 * Expected visits in a slot: more by day than by night, fewer on weekends, slowly growing.
 *
 * @param slot the slot's start in milliseconds since the epoch
 * @param origin the sample's beginning in milliseconds since the epoch
 */
export function expectedVisits(slot: number, origin: number): number {
  const hour = (slot % DAY_MS) / 3_600_000;
  const byDay = 1 + SWING * Math.cos(((hour - PEAK_HOUR) / 24) * 2 * Math.PI);
  const byWeekday = WEEKDAYS[new Date(slot).getUTCDay()] ?? 1;
  const grown = AT_ORIGIN + (1 - AT_ORIGIN) * ((slot - origin) / (GROWTH_DAYS * DAY_MS));
  return VISITS * byDay * byWeekday * grown;
}

/** Whether the slot lies in one of the hours in which orders and payments fail. */
export function isIncident(slot: number): boolean {
  return Math.floor(slot / 3_600_000) % HOURS_PER_INCIDENT === 0;
}
