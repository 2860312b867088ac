import type { Predicate } from '../clickhouse/predicates.js';

/** The tables of counts and of bins, by the width of their buckets, which begin at multiples of it since the epoch. */
export type Grain = 'day' | 'hour' | '15m' | '15m_by_consumer' | 'minute';

/** Widths of the buckets. */
export const BUCKET_SECONDS: Readonly<Record<Grain, number>> = {
  day: 86_400,
  hour: 3_600,
  '15m': 900,
  '15m_by_consumer': 900,
  minute: 60,
};

/**
 * The coarsest, hence cheapest, buckets that no period of the window splits: UTC days, else UTC hours, else quarter-hours, which
 * fit every zone's current offset. The result is one of three constants, so it is safe in the text of a query.
 *
 * Decided by the bounds, not by the zone's offsets: a window that begins in Lord Howe's spring may have
 * only whole-hour offsets and still begin on a half-hour.
 *
 * @param bounds of the periods, as `periodBounds` gives them
 */
export function chooseGrain(bounds: readonly number[]) {
  const coarse = ['day', 'hour'] as const;
  return coarse.find((grain) => bounds.every((bound) => bound % BUCKET_SECONDS[grain] === 0)) ?? '15m';
}

/**
 * An expression for the start of the period of a bucket, in seconds since the epoch. The engine computes it for each row, so it has no
 * arithmetic if there is one period or if each bucket is one, and no list of bounds if all periods have equal length.
 *
 * @param bucket the column of buckets, all of which are within the periods
 * @param bounds of consecutive periods, seconds since the epoch
 * @param grains of the buckets
 * @param boundsSql an expression for the bounds, which are a parameter of that name
 */
export function startOfPeriod(
  bucket: string,
  bounds: readonly number[],
  grains: readonly Grain[],
  boundsSql = '{bounds:Array(UInt32)}',
): Predicate {
  const [from = 0, second = 0] = bounds;
  if (bounds.length <= 2) return { sql: '{from:UInt32}', params: { from } };
  const time = `toUnixTimestamp(${bucket})`;
  const width = second - from;
  if (bounds.some((bound, index) => bound !== from + index * width))
    return { sql: `roundDown(${time}, ${boundsSql})`, params: { bounds } };
  if (grains.every((grain) => BUCKET_SECONDS[grain] === width)) return { sql: time, params: {} };
  return {
    sql: `toUInt32(${time} - toUInt32(${time} - {from:UInt32}) % {width:UInt32})`,
    params: { from, width },
  };
}
