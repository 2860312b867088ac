import { DAY_MS } from '../shared/time/units.js';

/** Days for which request logs and application logs are kept (docs/contract.md#limits). */
export const LOG_RETENTION_DAYS = 15;

/** Calendar months for which traffic is kept (docs/contract.md#limits). */
export const TRAFFIC_RETENTION_MONTHS = 13;

/** Days for which metrics are kept by the minute. */
const MINUTE_RETENTION_DAYS = 32;

/** The oldest instant whose request logs are shown; both in milliseconds since the Unix epoch. */
export function logsRetainedFrom(now: number): number {
  return now - LOG_RETENTION_DAYS * DAY_MS;
}

/**
 * The oldest instant whose traffic is shown; both in milliseconds since the Unix epoch. Months are those of
 * the UTC calendar; if the day does not exist 13 months ago, that month's last day counts.
 */
export function trafficRetainedFrom(now: number): number {
  const date = new Date(now);
  const day = date.getUTCDate();
  date.setUTCMonth(date.getUTCMonth() - TRAFFIC_RETENTION_MONTHS);
  // A day that does not exist became one of the next month.
  if (date.getUTCDate() !== day) date.setUTCDate(0);
  return date.getTime();
}

/** The oldest instant whose metrics by the minute are shown; both in milliseconds since the Unix epoch. */
export function minutesRetainedFrom(now: number): number {
  return now - MINUTE_RETENTION_DAYS * DAY_MS;
}
