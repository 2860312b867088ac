import { InvalidArgumentError } from 'commander';
import { parseTimestamp, resolveTimestamp } from '../common/time/timestamp.js';

/** A positive whole number, as an option's value. */
export function id(value: string): number {
  if (!/^[1-9]\d{0,9}$/.test(value))
    throw new InvalidArgumentError('It must be a whole number of at least 1.');
  return Number(value);
}

/** A whole number that fits into 32 bits, as an option's value. */
export function count(value: string): number {
  if (!/^\d{1,9}$/.test(value))
    throw new InvalidArgumentError('It must be a whole number of at most nine digits.');
  return Number(value);
}

/** An ISO 8601 time, UTC without an offset, in milliseconds since the epoch. */
export function time(value: string): number {
  const timestamp = parseTimestamp(value);
  if (timestamp.kind === 'invalid') throw new InvalidArgumentError('It must be an ISO 8601 date or time.');
  return resolveTimestamp(timestamp);
}
