import { DAY_MS } from '../../shared/time/units.js';

/** Months that the first start loads. The faults begin in their last days and stay. */
const MONTHS = 13;
const SLOW_DAYS = 3;
const FAILING_DAYS = 2;
const RELEASE_DAYS = 11;
const BROKEN_DAYS = 1;

/** The route that became slow, and the factor of its response times. */
export const SLOW = { method: 'GET', path: '/v1/search', factor: 8 };
/** The consumer with an expired token, and the share of its requests that use it. */
export const FAILING = { identifier: 'birch-outfitters', share: 0.85, status: 401 };

/** The route with a new exception, and the share of its requests that it ends. */
export const BROKEN = { method: 'POST', path: '/v1/carts/{cart_id}/items', share: 0.25 };

/** Rules of alerts: the first one fires, because of the slow route, and the second one does not. */
export const RULES = {
  'slow search': {
    metric: 'response_time_p95',
    value: 1_000,
    window: '1d',
    method: SLOW.method,
    path: SLOW.path,
  },
  silence: { metric: 'silence', window: '1d', severity: 'critical' },
} as const;

/** Whether the slow route is slow in a slot; see `expectedVisits`. */
export function isSlow(slot: number, origin: number): boolean {
  return slot >= slowFrom(origin);
}

/** The releases, and when they began: the second one made the route slow. */
export function listReleases(origin: number): readonly { version: string; at: number }[] {
  return [
    { version: '2.3.0', at: slowFrom(origin) - RELEASE_DAYS * DAY_MS },
    { version: '2.4.0', at: slowFrom(origin) },
  ];
}

function slowFrom(origin: number): number {
  return endOfFirstLoad(origin) - SLOW_DAYS * DAY_MS;
}

/** Whether the failing consumer fails in a slot. */
export function isFailing(slot: number, origin: number): boolean {
  return slot >= endOfFirstLoad(origin) - FAILING_DAYS * DAY_MS;
}

/** Whether the broken route is broken in a slot. */
export function isBroken(slot: number, origin: number): boolean {
  return slot >= endOfFirstLoad(origin) - BROKEN_DAYS * DAY_MS;
}

function endOfFirstLoad(origin: number): number {
  const date = new Date(origin);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + MONTHS, date.getUTCDate());
}
