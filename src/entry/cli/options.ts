import { InvalidArgumentError } from 'commander';
import { identifierDecoder } from '../../sources/decoding/request-decoders.js';
import { SPOKEN_TIMES, parseSpokenTime } from '../../shared/time/spoken-time.js';
import { parseTimestamp, resolveTimestamp } from '../../shared/time/timestamp.js';

/** The limit of IDs (docs/contract.md#ids); larger numbers would not fit into the columns of the store. */
const MAX_ID = 2 ** 31 - 1;

/** A positive whole number, as an option's value. */
export function id(value: string): number {
  if (!/^[1-9]\d{0,9}$/.test(value) || Number(value) > MAX_ID)
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${MAX_ID}.`);
  return Number(value);
}

/** A whole number that fits into 32 bits, as an option's value. */
export function count(value: string): number {
  if (!/^\d{1,9}$/.test(value))
    throw new InvalidArgumentError('It must be a whole number of at most nine digits.');
  return Number(value);
}

/** Positive whole numbers separated by commas, each once. */
export function ids(value: string): number[] {
  return [...new Set(value.split(',').map((item) => id(item.trim())))];
}

/**
 * An identifier in its stored form: without white space around it, and at most as long as client libraries
 * send it.
 */
export function consumerIdentifier(value: string): string {
  const stored = identifierDecoder.decode(value);
  if (stored === undefined) throw new InvalidArgumentError('It must be the identifier of a consumer.');
  return stored;
}

/** Text for the end of a command's help. */
export function examples(...commands: readonly string[]): string {
  return `\nExamples:\n${commands.map((command) => `  request-analytics ${command}`).join('\n')}`;
}

/** An ISO 8601 time, UTC without an offset, or one as people say it, in milliseconds since the epoch. */
export function time(value: string): number {
  const spoken = parseSpokenTime(value, Date.now());
  if (spoken !== undefined) return spoken;
  const timestamp = parseTimestamp(value);
  if (timestamp.kind === 'invalid')
    throw new InvalidArgumentError(`It must be an ISO 8601 date or time, ${SPOKEN_TIMES}.`);
  return resolveTimestamp(timestamp);
}

/** An ISO 8601 time in the future. */
export function futureTime(value: string): number {
  const at = time(value);
  if (at <= Date.now()) throw new InvalidArgumentError('It must be in the future.');
  return at;
}
