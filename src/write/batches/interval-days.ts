import { createCache } from '../../shared/create-cache.js';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import type { CountRecord } from '../../records/request-record.js';
import { DAY_MS } from '../../shared/time/units.js';

/** Half of an interval in which client libraries count response times. */
const INTERVAL_ERROR_MS = 5;
const MAX_NOTED = 100_000;
/** Columns are qualified by their table: an alias of the same name would hide them. */
const NOTED = `
SELECT DISTINCT toString(a.day) AS day FROM percentile_accuracy_v1 AS a
WHERE a.app_id = {app_id:UInt32} AND toString(a.day) IN {days:Array(String)}
  AND a.absolute_error_ms >= {error:UInt32}`;

/** The largest errors of response times of an app and a day. */
export interface AccuracyRow {
  app_id: number;
  /** UTC, as `2026-11-22`. */
  day: string;
  relative_error: number;
  absolute_error_ms: number;
}

let latest = { day: NaN, text: '' };

export function utcDay(epochMs: number): string {
  const day = Math.floor(epochMs / DAY_MS);
  // Formatting takes a microsecond, and most of thousands of calls are for the same day.
  if (day !== latest.day) latest = { day, text: new Date(day * DAY_MS).toISOString().slice(0, 10) };
  return latest.text;
}

/**
 * Records the days on which client libraries counted response times of an app in intervals, because
 * percentiles are less exact then.
 */
export class IntervalDays {
  /** Days that are in the store. */
  private readonly noted = createCache<string, true>(MAX_NOTED);

  constructor(private readonly store: ClickHouse) {}

  /** Rows for the days of these counts that are not in the store yet. */
  async findNew(app_id: number, counts: readonly CountRecord[]): Promise<AccuracyRow[]> {
    const timed = counts.filter(({ bins }) => bins.some(([measure]) => measure === 'time'));
    const all = new Set(timed.map(({ timestamp }) => utcDay(timestamp)));
    const days = [...all].filter((day) => !this.noted.has(`${app_id}/${day}`));
    if (days.length === 0) return [];
    const params = { app_id, days, error: INTERVAL_ERROR_MS };
    const found = await this.store.rows<{ day: string }>('interval_days.noted', NOTED, params);
    const noted = new Set(found.map(({ day }) => day));
    for (const day of noted) this.noted.set(`${app_id}/${day}`, true);
    const errors = { relative_error: 0, absolute_error_ms: INTERVAL_ERROR_MS };
    return days.filter((day) => !noted.has(day)).map((day) => ({ app_id, day, ...errors }));
  }
}
