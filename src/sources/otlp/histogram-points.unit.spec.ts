import { create } from '@bufbuild/protobuf';
import { findBin, findMiddleOfBin } from '../../records/bins.js';
import { subtractBins } from '../../write/batches/bucket-places.js';
import {
  type ExponentialHistogramDataPoint,
  ExponentialHistogramDataPointSchema,
  HistogramDataPointSchema,
} from './generated/opentelemetry/proto/metrics/v1/metrics_pb.js';
import { type HistogramPoint, readBuckets } from './histogram-points.js';

/** The point of an exponential histogram that has these values, at a scale. */
function histogram(
  values: readonly number[],
  scale: number,
  zeroThreshold = 0,
): ExponentialHistogramDataPoint {
  const above = values.filter((value) => value > zeroThreshold);
  const indexes = above.map((value) => Math.ceil(Math.log2(value) * 2 ** scale) - 1);
  const offset = Math.min(...indexes);
  const bucketCounts = Array<bigint>(Math.max(...indexes) - offset + 1).fill(0n);
  for (const index of indexes) bucketCounts[index - offset]! += 1n;
  return create(ExponentialHistogramDataPointSchema, {
    ...{ count: BigInt(values.length), scale, positive: { offset, bucketCounts } },
    ...{ zeroThreshold, zeroCount: BigInt(values.length - above.length) },
  });
}

/** The bins of the values between two points of a cumulative stream. */
function subtract(point: HistogramPoint, before: HistogramPoint, unit = 1): [k: number, n: number][] {
  const state = readBuckets(before, unit, true).bins.map(({ place, n }): [number, number] => [place, n]);
  return subtractBins(readBuckets(point, unit, true), state);
}

const sum = (bins: readonly (readonly [number, number])[]) => bins.reduce((all, [, n]) => all + n, 0);
const repeat = (value: number, n: number) => Array<number>(n).fill(value);

describe('the difference of two points of a cumulative exponential histogram', () => {
  it('has the values in between, when the scale is lowered from 6 to 5', () => {
    const before = [...repeat(1.005, 1000), 0.99, ...repeat(0.2, 1500)];
    const bins = subtract(histogram([...before, 0.1], 5), histogram(before, 6));
    expect(sum(bins)).toBe(1);
    expect(findMiddleOfBin(bins[0]![0])).toBeCloseTo(0.1, 2);
  });

  it('has the bins of exactly the values in between, for any scales and units', () => {
    const before = Array.from({ length: 500 }, (_, index) => 0.05 * 1.0093 ** index);
    const added = Array.from({ length: 40 }, (_, index) => 0.0493 * 1.131 ** index);
    for (const unit of [1, 1e-3])
      for (let from = 9; from >= -2; from--)
        for (let to = from; to >= -2; to--) {
          const bins = subtract(histogram([...before, ...added], to), histogram(before, from), unit);
          const expected = subtractBins(readBuckets(histogram(added, to), unit, true), []);
          expect({ from, to, bins: bins.sort() }).toEqual({ from, to, bins: expected.sort() });
        }
  });

  it('has as many values as were added when the threshold of zero is raised', () => {
    const before = [...repeat(0.001, 5), ...repeat(0.002, 7), ...repeat(0.3, 10)];
    const bins = subtract(histogram([...before, 0.3, 0.0015], 3, 0.0021), histogram(before, 3));
    expect(bins).toHaveLength(2);
    expect(sum(bins)).toBe(2);
    expect(bins.map(([k]) => findMiddleOfBin(k))).toContain(0);
  });

  it('has as many values as were added when a stream moves values to finer or other buckets', () => {
    const bins = subtract(histogram([...repeat(0.21, 4), ...repeat(7, 9)], 6), histogram(repeat(0.2, 10), 0));
    expect(sum(bins)).toBe(3);
  });
});

it.each([0, 3, 5, 6, 7, 12])('counts each value within half a bucket and half a bin at scale %i', (scale) => {
  for (const value of [0.0004, 0.0123, 0.2, 0.99, 1.005, 17, 900]) {
    const [bin] = readBuckets(histogram([value], scale), 1, false).bins;
    expect(Math.abs(bin!.k - 32 * Math.log2(value))).toBeLessThanOrEqual(16 / 2 ** scale + 0.5);
  }
});

it('has the buckets of explicit bounds in the same places when the extremes change', () => {
  const bounds = { explicitBounds: [0.01, 0.1, 1], bucketCounts: [1n, 2n, 3n, 4n], count: 10n };
  const [point, other] = [
    { min: 0.001, max: 2 },
    { min: 0.0001, max: 9 },
  ].map((extremes) => create(HistogramDataPointSchema, { ...bounds, ...extremes }));
  expect(subtract(point!, other!)).toEqual([]);
  // One more in the first bucket, and one in the last, which has no upper bound.
  const next = create(HistogramDataPointSchema, { ...point!, bucketCounts: [2n, 2n, 3n, 5n], count: 12n });
  expect(subtract(next, other!)).toEqual([
    [findBin(0.01 / 2), 1],
    [findBin(1), 1],
  ]);
  expect(readBuckets(point!, 1, true).bins.map(({ k }) => k)).toContain(findBin(Math.sqrt(0.1 * 1)));
});
