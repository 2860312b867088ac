import { type Bin, type Measure, findBin } from '../../ingestion/bins.js';
import { isAbsent, objectDecoder } from '../../ingestion/checks.js';
import type { RejectedEntries } from './items.js';

const MAX_KEY = 2 ** 31;
/** An integer as it is written; the libraries' JavaScript makes `NaN` of a time it does not know. */
const KEY = /^(?:0|[1-9]\d{0,9})$/;

/** A histogram of the protocol: the middle of a key's interval, in the unit of the measure. */
interface Histogram {
  measure: Measure;
  toValue: (key: number) => number;
}

/** Keys are the milliseconds at which an interval of 10 begins. */
export const RESPONSE_TIMES: Histogram = { measure: 'time', toValue: (key) => (key + 5) / 1000 };
/** Keys are the thousands of bytes at which an interval of 1,000 begins. */
export const REQUEST_SIZES: Histogram = { measure: 'received', toValue: (key) => key * 1000 + 500 };
export const RESPONSE_SIZES: Histogram = { ...REQUEST_SIZES, measure: 'sent' };

/**
 * Adds the entries of a histogram, an object of counts by key, to `bins`. Never throws: an entry that cannot be read is
 * left out and added to `rejected`, so that it does not cost the requests that were counted with it.
 */
export function readHistogram(
  value: unknown,
  name: string,
  { measure, toValue }: Histogram,
  bins: Bin[],
  rejected: RejectedEntries,
): void {
  if (isAbsent(value)) return;
  const entries = objectDecoder.decode(value);
  if (!entries) {
    rejected.add(`${name}: must be an object`);
    return;
  }
  let broken = 0;
  for (const [text, count] of Object.entries(entries)) {
    const key = KEY.test(text) ? Number(text) : Infinity;
    if (key > MAX_KEY || !Number.isSafeInteger(count) || (count as number) < 1) {
      broken += 1;
      continue;
    }
    const k = findBin(toValue(key));
    const last = bins.at(-1);
    // Keys ascend, and many of the high ones share a bin.
    if (last?.[0] === measure && last[1] === k)
      bins[bins.length - 1] = [measure, k, last[2] + (count as number)];
    else bins.push([measure, k, count as number]);
  }
  if (broken > 0)
    rejected.add(`${name}: must have keys from 0 to ${MAX_KEY} and counts of at least 1`, broken);
}
