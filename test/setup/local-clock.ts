import { DateTime } from 'luxon';
import type { TrafficBody } from './tenant.js';

const STEP_MS = 6 * 3_600_000;

/** A change of a zone's offset; instants in milliseconds since the epoch, offsets in minutes. */
export interface ClockChange {
  at: number;
  before: number;
  after: number;
}

/** What a request adds to the traffic. */
export interface Counted {
  timestamp: number;
  request_size_bytes: number | null;
  response_size_bytes: number | null;
}

/**
 * The clock of a zone as luxon shows it, between two instants: the slow and plain way to say which hour or
 * day an instant belongs to, without any of the product's code.
 */
export class LocalClock {
  /** Oldest first. */
  readonly changes: readonly ClockChange[];

  constructor(
    readonly zone: string,
    from: number,
    to: number,
  ) {
    const changes: ClockChange[] = [];
    for (let at = from; at < to; at += STEP_MS) {
      const [before, after] = [this.offset(at), this.offset(at + STEP_MS)];
      if (before !== after) changes.push({ at: this.changeBetween(at, at + STEP_MS), before, after });
    }
    this.changes = changes;
  }

  at(epochMs: number): DateTime {
    return DateTime.fromMillis(epochMs, { zone: this.zone });
  }

  /**
   * Equal for two instants just when they belong to the same period: an hour or minute shown again is another
   * one.
   */
  findPeriod(epochMs: number, interval: string): string {
    if (interval === 'month') return this.at(epochMs).toFormat('yyyy-MM');
    if (interval === 'day') return this.at(epochMs).toISODate()!;
    const putBack = this.changes.filter(({ at, before, after }) => at <= epochMs && after < before).length;
    const format = interval === 'minute' ? "yyyy-MM-dd'T'HH:mm" : "yyyy-MM-dd'T'HH";
    return `${this.at(epochMs).toFormat(format)} ${putBack}`;
  }

  private offset(epochMs: number): number {
    return this.at(epochMs).offset;
  }

  private changeBetween(low: number, high: number): number {
    const before = this.offset(low);
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.offset(middle) === before) low = middle;
      else high = middle;
    }
    return high;
  }
}

/** What was counted in each period that had requests, oldest first. */
function naiveTraffic(counted: readonly Counted[], clock: LocalClock, interval: string) {
  const sums = new Map<string, Omit<TrafficBody, 'period_start' | 'period_end'>>();
  for (const request of [...counted].sort((a, b) => a.timestamp - b.timestamp)) {
    const period = clock.findPeriod(request.timestamp, interval);
    const { requests, bytes_received, bytes_sent } = sums.get(period) ?? {
      requests: 0,
      bytes_received: 0,
      bytes_sent: 0,
    };
    sums.set(period, {
      requests: requests + 1,
      bytes_received: bytes_received + (request.request_size_bytes ?? 0),
      bytes_sent: bytes_sent + (request.response_size_bytes ?? 0),
    });
  }
  return [...sums].map(([period, sum]) => ({ period, ...sum }));
}

/**
 * Expects records to be just the periods that the requests fall into, each whole, with the right sums,
 * without overlap, oldest first, and each request in one of them.
 */
export function expectTraffic(
  records: readonly TrafficBody[],
  counted: readonly Counted[],
  clock: LocalClock,
  interval: string,
) {
  const periods = records.map(({ period_start, period_end, ...sums }) => {
    const [start, end] = [Date.parse(period_start), Date.parse(period_end)];
    const period = clock.findPeriod(start, interval);
    expect(start).toBeLessThan(end);
    expect(clock.findPeriod(start - 1, interval)).not.toBe(period);
    expect(clock.findPeriod(end - 1, interval)).toBe(period);
    expect(clock.findPeriod(end, interval)).not.toBe(period);
    return { start, end, sums: { period, ...sums } };
  });
  for (const [index, { end }] of periods.slice(0, -1).entries())
    expect(end).toBeLessThanOrEqual(periods[index + 1]!.start);
  for (const { timestamp } of counted)
    expect(periods.filter(({ start, end }) => start <= timestamp && timestamp < end)).toHaveLength(1);
  expect(periods.map(({ sums }) => sums)).toEqual(naiveTraffic(counted, clock, interval));
}
