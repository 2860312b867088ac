/** What is measured of each request: its response time, its size and that of its response. */
export type Measure = 'time' | 'received' | 'sent';

/** So many requests whose measured value is in bin k of a measure. */
export type Bin = readonly [measure: Measure, k: number, n: number];

/** Bins of one doubling of the value: each is 2.2 % wide, so that its middle is within 1.1 % of what is in it. */
export const BINS_PER_OCTAVE = 32;
/** The bin of exactly 0, which has no logarithm. */
export const ZERO_BIN = -32_768;

/**
 * The bin of a measured value, `k = round(32 * log2(value))`, as the view behind `requests` gives it (migration 0006).
 *
 * @param value seconds or bytes, not negative
 */
export function findBin(value: number): number {
  return value === 0 ? ZERO_BIN : Math.round(BINS_PER_OCTAVE * Math.log2(value));
}
