import type { MetricsRow } from './api.js';
import { type Window, formatPeriod, listStarts } from './time.js';

/** Percentiles of fewer requests say nothing of the others. */
export const LEAST_FOR_PERCENTILES = 20;

/** One period of the chart; values are `null` if they are unknown. */
export interface Point {
  start: number;
  end: number;
  requests: number;
  /** The same period of the window that it is compared with; null if there is none. */
  before: { requests: number; bytes: number } | null;
  bytes: number;
  clientErrors: number;
  serverErrors: number;
  errorRate: number | null;
  p50: number | null;
  p95: number | null;
}

/** The periods of the window with their rows; the API leaves out periods without requests. */
export function toPoints(rows: readonly MetricsRow[], window: Window, isComparable: boolean): Point[] {
  const { from, to, before, interval, zone } = window;
  const byStart = new Map(rows.map((row) => [Date.parse(row.period_start), row]));
  const starts = listStarts(from, to, interval, zone);
  const earlierStarts = before && isComparable ? listStarts(before.from, before.to, interval, zone) : [];
  return starts.map((start, index) => {
    const row = byStart.get(start);
    const earlier = earlierStarts[index];
    const rowBefore = earlier === undefined ? undefined : byStart.get(earlier);
    const hasPercentiles = (row?.requests ?? 0) >= LEAST_FOR_PERCENTILES;
    return {
      start,
      end: starts[index + 1] ?? to,
      requests: row?.requests ?? 0,
      before:
        earlier === undefined
          ? null
          : { requests: rowBefore?.requests ?? 0, bytes: rowBefore?.bytes_sent ?? 0 },
      bytes: row?.bytes_sent ?? 0,
      clientErrors: row?.client_errors ?? 0,
      serverErrors: row?.server_errors ?? 0,
      errorRate: row?.error_rate ?? null,
      p50: hasPercentiles ? (row?.response_time_p50 ?? null) : null,
      p95: hasPercentiles ? (row?.response_time_p95 ?? null) : null,
    };
  });
}

/**
 * The change of a sum from the earlier window. The running period is left out of both: otherwise the
 * comparison would say "less" until it ends.
 */
export function compareSums(
  points: readonly Point[],
  name: 'requests' | 'bytes',
): { now: number; before: number } | null {
  const whole = points.filter((point) => !isRunning(point));
  if (whole.every(({ before }) => before === null)) return null;
  const sum = (read: (point: Point) => number) => whole.reduce((total, point) => total + read(point), 0);
  return { now: sum((point) => point[name]), before: sum(({ before }) => before?.[name] ?? 0) };
}

export function isRunning({ end }: Point): boolean {
  return end > Date.now();
}

/** The name of a running period says that it is running, because its values will still grow. */
export function namePeriod(point: Point, window: Window): string {
  return `${formatPeriod(point.start, window)}${isRunning(point) ? ', so far' : ''}`;
}
