import { type Bin, type Measure, findBin } from '../../records/bins.js';
import {
  type LenientReader,
  createDecoder,
  createIntegerDecoder,
  objectDecoder,
} from '../../records/decoding/decoders.js';

const MAX_KEY = 2 ** 31;
/** An integer literal; the JavaScript library writes `NaN` for an unknown time. */
const KEY = /^(?:0|[1-9]\d{0,9})$/;
const keyDecoder = createDecoder(`must be an integer from 0 to ${MAX_KEY}`, (key) =>
  typeof key === 'string' && KEY.test(key) && Number(key) <= MAX_KEY ? Number(key) : undefined,
);
const countDecoder = createIntegerDecoder(1, Number.MAX_SAFE_INTEGER);

/** A histogram of the protocol. */
interface Histogram {
  measure: Measure;
  /** The middle of a key's interval, in seconds or bytes. */
  toValue: (key: number) => number;
}

/** By the member's name. */
const HISTOGRAMS: Readonly<Record<string, Histogram>> = {
  // Keys are the milliseconds at which an interval of 10 begins.
  response_times: { measure: 'time', toValue: (key) => (key + 5) / 1000 },
  // Keys are the thousands of bytes at which an interval of 1,000 begins.
  request_sizes: { measure: 'received', toValue: (key) => key * 1000 + 500 },
  response_sizes: { measure: 'sent', toValue: (key) => key * 1000 + 500 },
};

/**
 * The histograms of a count: objects of numbers of requests by key. An invalid entry is left out.
 *
 * @param readMember a member of the count by its name
 */
export function readHistograms(readMember: (member: string) => unknown, reader: LenientReader): Bin[] {
  const bins: Bin[] = [];
  for (const [member, { measure, toValue }] of Object.entries(HISTOGRAMS)) {
    const name = `requests[].${member}`;
    const histogram = reader.read(readMember(member), name, objectDecoder) ?? {};
    for (const [text, value] of Object.entries(histogram)) {
      const [key, n] = [keyDecoder.decode(text), countDecoder.decode(value)];
      if (key === undefined || n === undefined) {
        reader.ignored.push(name);
        continue;
      }
      const k = findBin(toValue(key));
      const last = bins.at(-1);
      // Keys ascend, and many of the high ones share a bin.
      if (last?.[0] === measure && last[1] === k) bins[bins.length - 1] = [measure, k, last[2] + n];
      else bins.push([measure, k, n]);
    }
  }
  return bins;
}
