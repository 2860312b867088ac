import { Temporal } from 'temporal-polyfill';

/** Days for which request logs and application logs are kept (docs/contract.md#limits). */
export const LOG_RETENTION_DAYS = 15;

/** Calendar months for which traffic is kept (docs/contract.md#limits). */
export const TRAFFIC_RETENTION_MONTHS = 13;

/** Days for which metrics are kept by the minute. */
const MINUTE_RETENTION_DAYS = 32;

const DAY_MS = 86_400_000;

/** The oldest instant whose request logs are shown; both in milliseconds since the Unix epoch. */
export function logsRetainedFrom(now: number): number {
  return now - LOG_RETENTION_DAYS * DAY_MS;
}

/**
 * The oldest instant whose traffic is shown; both in milliseconds since the Unix epoch. Months are those of
 * the UTC calendar; if the day does not exist 13 months ago, that month's last day counts.
 */
export function trafficRetainedFrom(now: number): number {
  return Temporal.Instant.fromEpochMilliseconds(now)
    .toZonedDateTimeISO('UTC')
    .subtract({ months: TRAFFIC_RETENTION_MONTHS }).epochMilliseconds;
}

/** The oldest instant whose metrics by the minute are shown; both in milliseconds since the Unix epoch. */
export function minutesRetainedFrom(now: number): number {
  return now - MINUTE_RETENTION_DAYS * DAY_MS;
}
