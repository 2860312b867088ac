import {
  type JsonObject,
  type StrictDecoder,
  createDecoder,
  createNumberDecoder,
  toStrictDecoder,
} from '../../records/decoding/decoders.js';
import { responseTimeDecoder } from '../decoding/request-decoders.js';

const camelNames = new Map<string, string>();
/** Valid seconds since the Unix epoch: the years 1970 to 2099, well within the store's range. */
const timeDecoder = createNumberDecoder(0, Date.UTC(2100, 0, 1) / 1000);
const durationDecoder = createNumberDecoder(0, Number.MAX_SAFE_INTEGER);

/** A member by its name in snake case. JavaScript libraries use camel case, other libraries snake case. */
export function getField(source: JsonObject, name: string): unknown {
  return source[name] ?? source[toCamelCase(name)];
}

/** Seconds since the Unix epoch, as a number with a fraction, in whole microseconds. */
export const epochMicrosDecoder = createDecoder(timeDecoder.ruleFor(undefined), (value) => {
  const seconds = timeDecoder.decode(value);
  return seconds === undefined ? undefined : Math.round(seconds * 1e6);
});

const decodeEpochMicros = toStrictDecoder(epochMicrosDecoder);

/** Seconds since the Unix epoch, as a number with a fraction, in whole milliseconds, truncated. */
export const decodeEpochMs: StrictDecoder<number> = (value, name) =>
  Math.floor(decodeEpochMicros(value, name) / 1000);

/** A response time in seconds, with a fraction, in whole milliseconds. */
export const secondsDecoder = createDecoder(durationDecoder.ruleFor(undefined), (value) => {
  const seconds = durationDecoder.decode(value);
  return seconds === undefined ? undefined : responseTimeDecoder.decode(seconds * 1000);
});

/** Captured text that the libraries send in base64; bytes that are not UTF-8 become U+FFFD. */
export const base64TextDecoder = createDecoder('must be base64', (value) =>
  typeof value === 'string' && /^[A-Za-z0-9+/_-]*={0,2}$/.test(value)
    ? Buffer.from(value, 'base64').toString()
    : undefined,
);

function toCamelCase(name: string): string {
  const camelName = camelNames.get(name);
  if (camelName !== undefined) return camelName;
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  camelNames.set(name, camel);
  return camel;
}
