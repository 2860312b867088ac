import { type ConstraintViolation, invalidUtf8, nullCharacter, tooLong } from './issues.js';

/**
 * The violation of a text, if any: longer than `maxLength` code points, with a lone surrogate (an escape of
 * JSON) or a NUL.
 */
export function validateText(text: string, maxLength: number): ConstraintViolation | undefined {
  if (isLonger(text, maxLength)) return tooLong(maxLength);
  if (!text.isWellFormed()) return invalidUtf8;
  return text.includes('\0') ? nullCharacter : undefined;
}

/**
 * Whether a text has more than `maxLength` code points; counts them only if the number of code units does not
 * decide it.
 */
function isLonger(text: string, maxLength: number): boolean {
  if (text.length <= maxLength) return false;
  return text.length > 2 * maxLength || Array.from(text).length > maxLength;
}
