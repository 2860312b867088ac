import { type ConstraintViolation, integerTooLong, notAnInteger } from './issues.js';

/**
 * Unicode White_Space, the characters that pydantic trims: JavaScript's `\s` has U+FEFF as well, and lacks
 * U+0085.
 */
const BLANKS = String.raw`[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*`;
const SHAPE = new RegExp(String.raw`^${BLANKS}([+-]?)(\d+(?:_\d+)*)(?:\.0+)?${BLANKS}$`);
const MAX_DIGITS = 4300;

/**
 * Reads an integer as pydantic's lax mode does (docs/contract.md#integers): `007` is 7, `1_000` is 1000,
 * `1.0` is 1.
 *
 * An integer too large to be exact as a number is clamped to ±(2^53 - 1). This is far above every ID and
 * limit, so the result is the same as for the exact value.
 */
export function parseInteger(text: string): number | ConstraintViolation {
  const parts = SHAPE.exec(text);
  if (!parts) return notAnInteger;
  const [, sign, grouped = ''] = parts;
  const digits = grouped.replaceAll('_', '').replace(/^0+/, '');
  if (digits.length > MAX_DIGITS) return integerTooLong;
  const magnitude = Math.min(Number(digits), Number.MAX_SAFE_INTEGER);
  return sign === '-' ? 0 - magnitude : magnitude;
}
