import { type Check, type Members, Rejection, asNanoseconds, numberFrom } from '../../ingestion/checks.js';

const camelNames = new Map<string, string>();
/** Seconds since the Unix epoch that the store's times can hold with room to spare: the years 1970 to 2099. */
const asSeconds = numberFrom(0, Date.UTC(2100, 0, 1) / 1000);
const DIGITS = /^\d{1,19}$/;

/** A member by its name in snake case; libraries of other languages spell it so, those of JavaScript in camel case. */
export function memberOf(source: Members, name: string): unknown {
  return source[name] ?? source[camelCase(name)];
}

/** Seconds since the Unix epoch, as a number with a fraction, in whole microseconds. */
export const asEpochMicros: Check<number> = (value, name) => Math.round(asSeconds(value, name) * 1e6);

/** The same in whole milliseconds, cut. */
export const asEpochMs: Check<number> = (value, name) => Math.floor(asEpochMicros(value, name) / 1000);

/** Nanoseconds as text or as an integer; both keep every digit. */
export const asWireNanoseconds: Check<bigint> = (value, name) => {
  if (typeof value !== 'string') return asNanoseconds(value, name);
  if (!DIGITS.test(value)) throw new Rejection(`${name}: must be an integer`);
  return BigInt.asIntN(64, BigInt(value));
};

/** Captured text that the libraries send in base64; bytes that are not UTF-8 become U+FFFD. */
export const asBase64Text: Check<string> = (value, name) => {
  if (typeof value !== 'string' || !/^[A-Za-z0-9+/_-]*={0,2}$/.test(value))
    throw new Rejection(`${name}: must be base64`);
  return Buffer.from(value, 'base64').toString();
};

function camelCase(name: string): string {
  const known = camelNames.get(name);
  if (known !== undefined) return known;
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  camelNames.set(name, camel);
  return camel;
}
