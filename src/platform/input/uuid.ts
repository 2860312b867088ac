import { type ConstraintViolation, notAUuid } from './issues.js';

const SIMPLE = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/i;
const HYPHENATED = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const GROUP_LENGTHS = [8, 4, 4, 4, 12] as const;
const URN = 'urn:uuid:';
const STRAY_CHARACTER = `invalid character: expected an optional prefix of \`${URN}\` followed by [0-9a-fA-F-]`;

/**
 * Reads a UUID as pydantic does (docs/contract.md#uuids): with hyphens, bare, in braces, or after
 * `urn:uuid:`; the last two only with hyphens. Either case. The value is lower-case with hyphens.
 */
export function parseUuid(text: string): string | ConstraintViolation {
  const { body, offset } = unwrap(text);
  if (HYPHENATED.test(body)) return body.toLowerCase();
  const groups = offset === 0 ? SIMPLE.exec(body) : null;
  return groups ? groups.slice(1).join('-').toLowerCase() : notAUuid(whyInvalid(body, offset));
}

/** The part with the digits, and its offset. */
function unwrap(text: string): { body: string; offset: number } {
  if (text.startsWith('{') && text.endsWith('}')) return { body: text.slice(1, -1), offset: 1 };
  if (text.startsWith(URN)) return { body: text.slice(URN.length), offset: URN.length };
  return { body: text, offset: 0 };
}

function whyInvalid(body: string, offset: number): string {
  const stray = /[^0-9a-f-]/iu.exec(body);
  if (stray) return `${STRAY_CHARACTER}, found \`${stray[0]}\` at ${stray.index + offset + 1}`;
  const groups = body.split('-');
  if (groups.length === 1 && offset === 0)
    return `invalid length: expected length 32 for simple format, found ${body.length}`;
  if (groups.length !== GROUP_LENGTHS.length)
    return `invalid group count: expected ${GROUP_LENGTHS.length}, found ${groups.length}`;
  const index = GROUP_LENGTHS.findIndex((length, at) => groups[at]?.length !== length);
  return `invalid group length in group ${index}: expected ${GROUP_LENGTHS[index]}, found ${groups[index]?.length}`;
}
