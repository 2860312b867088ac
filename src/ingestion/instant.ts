import { parseTimestamp, resolveTimestamp } from '../common/time/timestamp.js';
import { type Check, Rejection } from './checks.js';

/** What the store's times can hold with room to spare: the years 1970 to 2099. */
const END_MS = Date.UTC(2100, 0, 1);
const BEYOND_MILLISECONDS = /[.,]\d{3}(\d{1,3})/;

/**
 * Milliseconds since the Unix epoch of an ISO 8601 date and time as the API takes them (contract, section 4), cut
 * to the millisecond, UTC where it has no offset. Null for any other text and for years before 1970 or after 2099.
 */
export function instantOf(text: string): number | null {
  const timestamp = parseTimestamp(text);
  if (timestamp.kind === 'invalid') return null;
  const epochMs = resolveTimestamp(timestamp);
  return epochMs >= 0 && epochMs < END_MS ? epochMs : null;
}

/** An ISO 8601 date and time in milliseconds since the Unix epoch; see `instantOf`. */
export const asInstant: Check<number> = (value, name) => {
  const epochMs = typeof value === 'string' ? instantOf(value) : null;
  if (epochMs === null) throw new Rejection(`${name}: must be an ISO 8601 date and time from 1970 to 2099`);
  return epochMs;
};

/** The same in whole microseconds. */
export const asMicroseconds: Check<number> = (value, name) => {
  const epochMs = asInstant(value, name);
  const rest = BEYOND_MILLISECONDS.exec(value as string)?.[1] ?? '';
  return epochMs * 1000 + Number(rest.padEnd(3, '0'));
};
