import type { MetricsRow } from './api.js';
import { type Window, formatPeriod, listStarts } from './time.js';

/** One period of the chart; values are `null` if they are unknown. */
export interface Point {
  start: number;
  end: number;
  requests: number;
  /** Requests of the same period one window earlier; null if they are unknown. */
  before: number | null;
  clientErrors: number;
  serverErrors: number;
  errorRate: number | null;
  p50: number | null;
  p95: number | null;
}

/** The periods of the window with their rows; the API leaves out periods without requests. */
export function toPoints(rows: readonly MetricsRow[], window: Window): Point[] {
  const { from, to, previousFrom, interval, zone } = window;
  const byStart = new Map(rows.map((row) => [Date.parse(row.period_start), row]));
  const starts = listStarts(from, to, interval, zone);
  const before = previousFrom === null ? [] : listStarts(previousFrom, from, interval, zone);
  const hasBefore = before.some((start) => byStart.has(start));
  return starts.map((start, index) => {
    const row = byStart.get(start);
    const earlier = before[index];
    return {
      start,
      end: starts[index + 1] ?? to,
      requests: row?.requests ?? 0,
      before: hasBefore && earlier !== undefined ? (byStart.get(earlier)?.requests ?? 0) : null,
      clientErrors: row?.client_errors ?? 0,
      serverErrors: row?.server_errors ?? 0,
      errorRate: row?.error_rate ?? null,
      p50: row?.response_time_p50 ?? null,
      p95: row?.response_time_p95 ?? null,
    };
  });
}

export function isRunning({ end }: Point): boolean {
  return end > Date.now();
}

/** The name of a running period says that it is running, because its values will still grow. */
export function namePeriod(point: Point, window: Window): string {
  return `${formatPeriod(point.start, window)}${isRunning(point) ? ', so far' : ''}`;
}
