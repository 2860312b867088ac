import { type LosslessNumber, isLosslessNumber } from 'lossless-json';
import { sanitize } from '../text.js';

/** The input is invalid; `message` is one line with the field and the violated rule. */
export class InvalidRecordError extends Error {
  override readonly name = 'InvalidRecordError';

  /**
   * Without a stack trace, which would take ten times as long: a message can have thousands of invalid
   * entries.
   */
  constructor(message: string) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * Explains in one line why parsing a line or a message failed. The line begins with `subject` or with the
 * invalid member.
 *
 * @throws the error itself if it is a bug
 */
export function explainFailure(error: unknown, subject: string): string {
  if (error instanceof InvalidRecordError) return error.message;
  if (error instanceof SyntaxError) return `${subject}: must be valid JSON`;
  if (error instanceof RangeError) return `${subject}: nested too deeply`;
  throw error;
}

/** Reads one kind of value. Neither function throws. */
export interface Decoder<T> {
  /** The value as it is stored; undefined if it violates the rule. */
  readonly decode: (value: unknown) => T | undefined;
  /** The rule that the value violates, as text of an error message: `must be a string`. */
  readonly ruleFor: (value: unknown) => string;
}

/** Decodes one value, or throws an error that names it. */
export type StrictDecoder<T> = (value: unknown, name: string) => T;
export type JsonObject = Readonly<Record<string, unknown>>;

/** Largest signed 64-bit integer, as the store keeps integers. */
const MAX_INT64 = 2n ** 63n - 1n;

/** Whether a member is missing or `null`. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

/**
 * Reads the optional members of one request. An invalid member is left out and named in `ignored`; the
 * request and its other members are not affected.
 */
export class LenientReader {
  /** Names of the members that were left out, with repetitions. */
  readonly ignored: string[] = [];

  /** The value of a member; null if it is absent or invalid. */
  read<T>(value: unknown, name: string, decoder: Decoder<T>): T | null {
    if (isAbsent(value)) return null;
    const decoded = decoder.decode(value);
    if (decoded === undefined) this.ignored.push(name);
    return decoded ?? null;
  }

  /** The valid items of a list; empty if the member is absent or not a list. */
  readList<T>(value: unknown, name: string, decodeItem: (item: unknown) => T | undefined): T[] {
    if (isAbsent(value)) return [];
    if (!Array.isArray(value)) {
      this.ignored.push(name);
      return [];
    }
    const decoded: T[] = [];
    for (const item of value) {
      const entry = decodeItem(item);
      if (entry === undefined) this.ignored.push(name);
      else decoded.push(entry);
    }
    return decoded;
  }
}

/** A decoder with one rule. */
export function createDecoder<T>(rule: string, decode: (value: unknown) => T | undefined): Decoder<T> {
  return { decode, ruleFor: () => rule };
}

/** A decoder of strings with a rule. */
export function createTextDecoder<T>(rule: string, decode: (text: string) => T | undefined): Decoder<T> {
  return {
    decode: (value) => (typeof value === 'string' ? decode(sanitize(value)) : undefined),
    ruleFor: (value) => (typeof value === 'string' ? rule : textDecoder.ruleFor(value)),
  };
}

export const textDecoder = createDecoder('must be a string', (value) =>
  typeof value === 'string' ? sanitize(value) : undefined,
);

/** A string, or a number as its digits. */
export const textOrNumberDecoder = createDecoder('must be a string', (value) =>
  isNumber(value) ? value.toString() : textDecoder.decode(value),
);

export const objectDecoder = createDecoder('must be an object', (value): JsonObject | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isLosslessNumber(value)
    ? (value as JsonObject)
    : undefined,
);

/** An integer within bounds that a number can hold exactly. */
export function createIntegerDecoder(min: number, max: number): Decoder<number> {
  return createDecoder(`must be an integer from ${min} to ${max}`, (value) => {
    const number = toNumber(value);
    return Number.isInteger(number) && isWithin(number, min, max) ? number : undefined;
  });
}

/** A number within bounds. */
export function createNumberDecoder(min: number, max: number): Decoder<number> {
  return createDecoder(`must be a number from ${min} to ${max}`, (value) => {
    const number = toNumber(value);
    return isWithin(number, min, max) ? number : undefined;
  });
}

/** A number within bounds, rounded to an integer. */
export function createRoundedDecoder(min: number, max: number): Decoder<number> {
  const { decode, ruleFor } = createNumberDecoder(min, max);
  return {
    decode: (value) => {
      const number = decode(value);
      return number === undefined ? undefined : Math.round(number);
    },
    ruleFor,
  };
}

/** Nanoseconds: a non-negative integer of at most 63 bits, digit by digit, as a number or as text. */
export const nanosecondsDecoder = createDecoder(`must be an integer from 0 to ${MAX_INT64}`, (value) => {
  const digits = textOrNumberDecoder.decode(value);
  const nanoseconds = digits !== undefined && /^\d{1,19}$/.test(digits) ? BigInt(digits) : undefined;
  return nanoseconds !== undefined && nanoseconds <= MAX_INT64 ? nanoseconds : undefined;
});

/** A variant of the decoder that throws an InvalidRecordError for an invalid value. */
export function toStrictDecoder<T>(decoder: Decoder<T>): StrictDecoder<T> {
  return (value, name) => {
    const decoded = decoder.decode(value);
    if (decoded === undefined) throw new InvalidRecordError(`${name}: ${decoder.ruleFor(value)}`);
    return decoded;
  };
}

export const decodeText = toStrictDecoder(textDecoder);
export const decodeObject = toStrictDecoder(objectDecoder);

function toNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  return isLosslessNumber(value) ? Number(value.toString()) : undefined;
}

function isNumber(value: unknown): value is number | LosslessNumber {
  return typeof value === 'number' || isLosslessNumber(value);
}

function isWithin(number: number | undefined, min: number, max: number): number is number {
  return number !== undefined && number >= min && number <= max;
}
