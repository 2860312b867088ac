import { type ConstraintViolation, nullCharacter, tooLong } from './issues.js';

/** The fault of a text, if it has one: longer than `maxLength` code points, or a NUL in it. */
export function validateText(text: string, maxLength: number): ConstraintViolation | undefined {
  if (isLonger(text, maxLength)) return tooLong(maxLength);
  return text.includes('\0') ? nullCharacter : undefined;
}

/** Whether a text has more than `maxLength` code points, counted only where the count of code units leaves it open. */
function isLonger(text: string, maxLength: number): boolean {
  if (text.length <= maxLength) return false;
  return text.length > 2 * maxLength || Array.from(text).length > maxLength;
}
