/** The tables of counts, by the width of their buckets. */
export type Rollup = 'counts_per_15m' | 'counts_per_hour' | 'counts_per_day';

const COARSE_ROLLUPS: readonly { name: Rollup; bucketSeconds: number }[] = [
  { name: 'counts_per_day', bucketSeconds: 86_400 },
  { name: 'counts_per_hour', bucketSeconds: 3_600 },
];

/**
 * The coarsest, hence cheapest, table of counts whose buckets (aligned to the Unix epoch) no period of the window
 * splits: UTC days, else UTC hours, else quarter-hours, which fit every zone's current offset.
 * The result is one of three constants, so it is safe in the text of a query.
 *
 * Decided by the bounds, not by the zone's offsets: a window that begins in Lord Howe's spring may have
 * only whole-hour offsets and still begin on a half-hour.
 *
 * @param bounds of the periods, as `periodBounds` gives them
 */
export function chooseRollup(bounds: readonly number[]): Rollup {
  const fits = (bucketSeconds: number) => bounds.every((bound) => bound % bucketSeconds === 0);
  return COARSE_ROLLUPS.find(({ bucketSeconds }) => fits(bucketSeconds))?.name ?? 'counts_per_15m';
}
