import { LosslessNumber, parse, stringify } from 'lossless-json';

/** Text that may hold a number whose digits count: a long one, or any in a span's free-form attributes. */
const DIGITS_COUNT = /\d{16}|"attributes"/;

const OPTIONS = {
  parseNumber: (text: string): number | LosslessNumber =>
    String(Number(text)) === text ? Number(text) : new LosslessNumber(text),
  // As JSON.parse does.
  onDuplicateKey: ({ newValue }: { newValue: unknown }) => newValue,
};

/**
 * Reads JSON. A number that would not be written again as it stands, such as `1735689600050000001`, `1.0` or
 * `1e3`, becomes a `LosslessNumber` where its digits count; every other number is a number. Ten times slower there
 * than `JSON.parse`, which reads all other text.
 *
 * @throws SyntaxError when it is not JSON, RangeError when it is nested too deeply
 */
export function parseExact(text: string): unknown {
  return DIGITS_COUNT.test(text) ? parse(text, null, OPTIONS) : (JSON.parse(text) as unknown);
}

/**
 * Writes what `parseExact` read, each number as it stood.
 *
 * @throws RangeError when it is nested too deeply
 */
export function stringifyExact(value: unknown): string {
  return stringify(value) ?? 'null';
}
