import { clamp } from '../../shared/clamp.js';
import { ZERO_BIN } from '../../records/bins.js';
import type { MetricPoint } from './message.js';

/** Bound of a bin, within those of `Int16`: 2^-64 to 2^64 seconds or bytes. A place is half a bin wide. */
export const MAX_BIN = 2_048;
const MAX_PLACE = 2 * MAX_BIN;

/**
 * The bins of a point without the values that its stream already had. An exponential histogram that lowers
 * its scale counts the same values in wider buckets, and each contains the places of whole earlier buckets.
 *
 * @param before places of earlier buckets, and the number of values in each
 */
export function subtractBins(
  point: Pick<MetricPoint, 'bins' | 'bucket_width'>,
  before: readonly (readonly [place: number, n: number])[],
): [k: number, n: number][] {
  const remaining = new Map(point.bins.map(({ place, n }) => [place, n]));
  for (const [earlier, n] of before) {
    const place = earlier === ZERO_BIN ? earlier : findPlace(earlier, point.bucket_width);
    remaining.set(place, (remaining.get(place) ?? 0) - n);
  }
  // Values that left a bucket are in another one, usually a lower one, because the threshold of zero was
  // raised.
  let missing = 0;
  const places = [...remaining.keys()].sort((a, b) => b - a);
  for (const place of [...places, ...places.toReversed()]) {
    const n = (remaining.get(place) ?? 0) - missing;
    missing = Math.max(0, -n);
    remaining.set(place, Math.max(0, n));
  }
  const bins = new Map<number, number>();
  for (const { place, k } of point.bins) bins.set(k, (bins.get(k) ?? 0) + (remaining.get(place) ?? 0));
  return [...bins].filter(([, n]) => n > 0);
}

/** The middle place of the bucket that contains a place: the same for each of its places. */
export function findPlace(place: number, width: number): number {
  const middle = Math.floor((Math.floor(place / width) + 0.5) * width);
  return clamp(middle, -MAX_PLACE, MAX_PLACE);
}
