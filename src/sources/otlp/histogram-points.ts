import { clamp } from '../../shared/clamp.js';
import { BINS_PER_OCTAVE, ZERO_BIN, findBin, findMiddleOfBin } from '../../records/bins.js';
import { MAX_BIN, findPlace } from '../../write/batches/bucket-places.js';
import type { MetricPoint } from '../../write/batches/message.js';
import type {
  ExponentialHistogramDataPoint,
  HistogramDataPoint,
} from './generated/opentelemetry/proto/metrics/v1/metrics_pb.js';

/**
 * The place of a bucket is the bucket of this scale around its middle. That is half a bin wide, so it lies
 * within one bin, and within one bucket of each coarser scale.
 */
const SCALE_OF_PLACES = 6;
/**
 * At the lowest scale ten buckets reach from 1 ns to 18 minutes; SDKs send 160. A bucket of a lower scale
 * says nothing about a time, and its width would be the accuracy of all percentiles of the app.
 */
const [MIN_SCALE, MAX_SCALE] = [-2, 20];
/** SDKs send 0 or nearly 0. */
const MAX_ZERO_THRESHOLD = 1;

export type HistogramPoint = HistogramDataPoint | ExponentialHistogramDataPoint;

/** A bucket of a histogram: `n` values above `lower` and up to `upper`, counted in bin `k`. */
interface Bucket {
  lower: number;
  upper: number;
  k: number;
  n: number;
  place: number;
}

/** Why a point cannot be counted; undefined if it can. */
export function findFault(point: HistogramPoint): string | undefined {
  const maxCount = BigInt(Number.MAX_SAFE_INTEGER);
  if (point.count > maxCount) return 'count: must be at most 2^53 - 1';
  const buckets =
    'explicitBounds' in point
      ? point.bucketCounts
      : [point.zeroCount, ...(point.positive?.bucketCounts ?? [])];
  if (buckets.reduce((sum, n) => sum + n, 0n) > maxCount)
    return 'bucket_counts: must be at most 2^53 - 1 together';
  if (!('explicitBounds' in point)) {
    if (point.scale < MIN_SCALE || point.scale > MAX_SCALE)
      return `scale: must be from ${MIN_SCALE} to ${MAX_SCALE}`;
    return point.zeroThreshold >= 0 && point.zeroThreshold <= MAX_ZERO_THRESHOLD
      ? undefined
      : `zero_threshold: must be from 0 to ${MAX_ZERO_THRESHOLD}`;
  }
  const { bounds, bucketCounts } = readExplicitBounds(point);
  if (bounds.some((bound, index) => !Number.isFinite(bound) || bound <= (bounds[index - 1] ?? -Infinity)))
    return 'explicit_bounds: must be finite numbers that increase';
  if (bucketCounts.length > 0 && bucketCounts.length !== bounds.length + 1)
    return 'bucket_counts: must be one more than explicit_bounds';
  return undefined;
}

/**
 * The bins of a point's buckets, and the largest distance of a bin's middle from its values.
 *
 * @param unit one unit of the values, in seconds or bytes
 */
export function readBuckets(
  point: HistogramPoint,
  unit: number,
  isCumulative: boolean,
): Pick<MetricPoint, 'bins' | 'bucket_width' | 'relative_error' | 'absolute_error'> {
  const all = new Map<number, MetricPoint['bins'][number]>();
  let [relative_error, absolute_error] = [0, 0];
  const buckets =
    'explicitBounds' in point
      ? listExplicitBuckets(point, unit, isCumulative)
      : listExponentialBuckets(point, unit);
  for (const { lower, upper, k, n, place } of buckets) {
    if (n === 0) continue;
    all.set(place, { place, k, n: (all.get(place)?.n ?? 0) + n });
    const value = findMiddleOfBin(k);
    if (lower > 0) relative_error = Math.max(relative_error, value / lower - 1, 1 - value / upper);
    else absolute_error = Math.max(absolute_error, value, upper - value);
  }
  const bucket_width = 'explicitBounds' in point ? 1 : findWidth(point.scale);
  return { bins: [...all.values()], bucket_width, relative_error, absolute_error };
}

/** The bounds without an infinite last one, which some senders write: no value is above it. */
function readExplicitBounds({ explicitBounds, bucketCounts }: HistogramDataPoint): {
  bounds: readonly number[];
  bucketCounts: readonly bigint[];
} {
  if (explicitBounds.at(-1) !== Infinity) return { bounds: explicitBounds, bucketCounts };
  const bounds = explicitBounds.slice(0, -1);
  if (bucketCounts.length !== explicitBounds.length + 1) return { bounds, bucketCounts };
  const [last = 0n, above = 0n] = bucketCounts.slice(-2);
  return { bounds, bucketCounts: [...bucketCounts.slice(0, -2), last + above] };
}

/**
 * Buckets with explicit bounds, counted at their geometric middle. The extremes of a delta point narrow its
 * buckets. Those of a cumulative stream change during the stream, and a bucket that moved to another bin
 * would be counted again.
 */
function* listExplicitBuckets(
  point: HistogramDataPoint,
  unit: number,
  isCumulative: boolean,
): Generator<Bucket> {
  const { min = 0, max = Infinity } = point;
  const { bounds, bucketCounts } = readExplicitBounds(point);
  for (const [index, n] of bucketCounts.entries()) {
    const lower = Math.max(bounds[index - 1] ?? 0, 0);
    const upper = Math.max(bounds[index] ?? Infinity, 0);
    const [least, highest] = [Math.max(lower, min), Math.min(upper, max)];
    const isNarrower = least <= highest;
    const middle = isNarrower && !isCumulative ? findMiddle(least, highest) : findMiddle(lower, upper);
    // A bucket of all values says nothing about them.
    if (middle === undefined) continue;
    const k = clampBin(findBin(middle * unit));
    yield {
      lower: (isNarrower ? least : lower) * unit,
      upper: (isNarrower ? highest : upper) * unit,
      k,
      n: Number(n),
      // The bounds of a stream do not change.
      place: k,
    };
  }
}

/** Bucket i at scale s has the values from 2^(i / 2^s) to 2^((i + 1) / 2^s). */
function* listExponentialBuckets(
  { scale, positive, zeroCount, zeroThreshold }: ExponentialHistogramDataPoint,
  unit: number,
): Generator<Bucket> {
  const zero = { k: ZERO_BIN, place: ZERO_BIN };
  yield { lower: 0, upper: zeroThreshold * unit, n: Number(zeroCount), ...zero };
  const binsPerBucket = BINS_PER_OCTAVE / 2 ** scale;
  const shift = BINS_PER_OCTAVE * Math.log2(unit);
  const width = findWidth(scale);
  for (const [index, n] of (positive?.bucketCounts ?? []).entries()) {
    const i = (positive?.offset ?? 0) + index;
    const start = binsPerBucket * i + shift;
    const place = findPlace(i * 2 ** (SCALE_OF_PLACES - scale), width);
    const middle = (Math.floor(place / width) + 0.5) * (width / 2);
    yield {
      lower: findMiddleOfBin(start),
      upper: findMiddleOfBin(start + binsPerBucket),
      k: clampBin(Math.round(middle + shift)),
      n: Number(n),
      place,
    };
  }
}

/** The width of a bucket in places; several finer buckets share one place. */
function findWidth(scale: number): number {
  return 2 ** Math.max(0, SCALE_OF_PLACES - scale);
}

/**
 * The geometric middle of a bucket; the lower bound if there is no upper one; undefined if it has neither.
 */
function findMiddle(lower: number, upper: number): number | undefined {
  if (upper === Infinity) return lower > 0 ? lower : undefined;
  return lower > 0 ? Math.sqrt(lower * upper) : upper / 2;
}

function clampBin(k: number): number {
  return k === ZERO_BIN ? k : clamp(k, -MAX_BIN, MAX_BIN);
}
