import { type LosslessNumber, isLosslessNumber } from 'lossless-json';
import { clean } from './text.js';

/** What came in cannot be taken; `message` names the field and the rule it broke, in one line. */
export class Rejection extends Error {
  override readonly name = 'Rejection';

  /** Without a stack, which takes ten times as long to make: a message can have thousands of wrong entries. */
  constructor(message: string) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * Why reading a line or a message failed, in one line that begins with `what` or with the member that is wrong.
 *
 * @throws the error itself when it is a fault of ours
 */
export function reasonOf(error: unknown, what: string): string {
  if (error instanceof Rejection) return error.message;
  if (error instanceof SyntaxError) return `${what}: must be valid JSON`;
  if (error instanceof RangeError) return `${what}: nested too deeply`;
  throw error;
}

/** Reads one value, or rejects it under the name given. */
export type Check<T> = (value: unknown, name: string) => T;
export type Members = Readonly<Record<string, unknown>>;

/** Largest signed 64-bit integer, as the store keeps integers. */
const MAX_INT64 = 2n ** 63n - 1n;

/** Whether a member is missing or `null`. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

/** Null for what is absent; anything else must pass the check. */
export function optional<T>(value: unknown, name: string, check: Check<T>): T | null {
  return isAbsent(value) ? null : check(value, name);
}

export const asText: Check<string> = (value, name) => {
  if (typeof value !== 'string') throw new Rejection(`${name}: must be a string`);
  return clean(value);
};

export const asObject: Check<Members> = (value, name) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isLosslessNumber(value))
    throw new Rejection(`${name}: must be an object`);
  return value as Members;
};

/** An array of which each item passes the check. */
export function listOf<T>(check: Check<T>): Check<T[]> {
  return (value, name) => {
    if (!Array.isArray(value)) throw new Rejection(`${name}: must be an array`);
    return value.map((item, index) => check(item, `${name}[${index}]`));
  };
}

/** An integer within bounds that a number can hold exactly. */
export function integerFrom(min: number, max: number): Check<number> {
  return (value, name) => {
    const number = numberOf(value);
    if (number === undefined || !Number.isInteger(number) || number < min || number > max)
      throw new Rejection(`${name}: must be an integer from ${min} to ${max}`);
    return number;
  };
}

/** A number within bounds. */
export function numberFrom(min: number, max: number): Check<number> {
  return (value, name) => {
    const number = numberOf(value);
    if (number === undefined || !(number >= min && number <= max))
      throw new Rejection(`${name}: must be a number from ${min} to ${max}`);
    return number;
  };
}

/** A number within bounds, rounded to an integer. */
export function roundedFrom(min: number, max: number): Check<number> {
  const check = numberFrom(min, max);
  return (value, name) => Math.round(check(value, name));
}

/** Nanoseconds: a non-negative integer of at most 63 bits, digit by digit. */
export const asNanoseconds: Check<bigint> = (value, name) => {
  const digits = isNumber(value) ? value.toString() : '';
  const nanoseconds = /^\d{1,19}$/.test(digits) ? BigInt(digits) : undefined;
  if (nanoseconds === undefined || nanoseconds > MAX_INT64)
    throw new Rejection(`${name}: must be an integer from 0 to ${MAX_INT64}`);
  return nanoseconds;
};

function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  return isLosslessNumber(value) ? Number(value.toString()) : undefined;
}

function isNumber(value: unknown): value is number | LosslessNumber {
  return typeof value === 'number' || isLosslessNumber(value);
}
