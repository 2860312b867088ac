/** Measures of each request: response time, request size and response size. */
export type Measure = 'time' | 'received' | 'sent';

/** Number of requests in bin k of a measure. */
export type Bin = readonly [measure: Measure, k: number, n: number];

/** Bins per doubling of the value: each is 2.2 % wide, so its middle is within 1.1 % of its values. */
export const BINS_PER_OCTAVE = 32;
/** The bin of exactly 0, which has no logarithm. */
export const ZERO_BIN = -32_768;

/**
 * The bin of a measured value, `k = round(32 * log2(value))`, as the view behind `requests` gives it
 * (migration 0006).
 *
 * @param value seconds or bytes, not negative
 */
export function findBin(value: number): number {
  return value === 0 ? ZERO_BIN : Math.round(BINS_PER_OCTAVE * Math.log2(value));
}

/** The value in the geometric middle of a bin, in seconds or bytes. */
export function findMiddleOfBin(k: number): number {
  return k === ZERO_BIN ? 0 : 2 ** (k / BINS_PER_OCTAVE);
}
