import { EXAMPLES } from '../openapi/examples.js';
import { type Timestamp, parseTimestamp } from '../time/timestamp.js';
import {
  aboveMaximum,
  belowMinimum,
  invalidToken,
  notATimestamp,
  notOneOf,
  patternMismatch,
  Refusal,
} from './faults.js';
import { type FieldDecorator, type FieldOptions, type Held, field } from './field.js';
import { parseInteger } from './integer.js';
import { textFault } from './text.js';
import { parseTimezone } from './timezone.js';
import { parseUuid } from './uuid.js';

/** Characters of the longest page token (docs/contract.md#limits). */
const TOKEN_MAX_LENGTH = 1024;

export interface IntegerOptions extends FieldOptions<number> {
  /** The least value allowed. */
  readonly ge: number;
  /** The greatest value allowed; without it there is none. */
  readonly le?: number;
}

/** A whole number; one beyond 2^53 - 1 becomes just that. */
export function IntegerField<const Options extends IntegerOptions>(
  options: Options,
): FieldDecorator<Held<number, Options>> {
  const { ge, le } = options;
  return field<number, Options>(
    {
      schema: { type: 'integer', minimum: ge, ...(le !== undefined && { maximum: le }) },
      read: (text) => {
        const value = parseInteger(text);
        if (value instanceof Refusal) return value;
        if (value < ge) return belowMinimum(ge);
        return le !== undefined && value > le ? aboveMaximum(le) : value;
      },
    },
    options,
  );
}

export interface TextOptions extends FieldOptions<string> {
  /** In Unicode code points. */
  readonly maxLength: number;
}

/** Any text; an empty one says the same as none (docs/contract.md#empty-values). */
export function TextField<const Options extends TextOptions>(
  options: Options,
): FieldDecorator<Held<string, Options>> {
  const { maxLength } = options;
  return field<string, Options>(
    {
      schema: { type: 'string', maxLength },
      read: (text) => (text === '' ? undefined : (textFault(text, maxLength) ?? text)),
    },
    options,
  );
}

export interface PatternOptions extends TextOptions {
  /** Anchored at both ends, and without nested repetition of the same characters. */
  readonly pattern: RegExp;
}

/** Text of a fixed form. */
export function PatternField<const Options extends PatternOptions>(
  options: Options,
): FieldDecorator<Held<string, Options>> {
  const { maxLength, pattern } = options;
  const mismatch = patternMismatch(pattern.source);
  return field<string, Options>(
    {
      schema: { type: 'string', maxLength, pattern: pattern.source },
      read: (text) => textFault(text, maxLength) ?? (pattern.test(text) ? text : mismatch),
    },
    options,
  );
}

/** An ISO 8601 date, or date and time (docs/contract.md#timestamps); `resolveTimestamp` makes an instant of it. */
export function TimestampField<const Options extends FieldOptions<Timestamp>>(
  options: Options,
): FieldDecorator<Held<Timestamp, Options>> {
  return field<Timestamp, Options>(
    {
      schema: { type: 'string' },
      read: (text) => {
        const timestamp = parseTimestamp(text);
        return timestamp.kind === 'invalid' ? notATimestamp(timestamp.why) : timestamp;
      },
    },
    options,
  );
}

/** The name of an IANA timezone. */
export function TimezoneField<const Options extends FieldOptions<string>>(
  options: Options,
): FieldDecorator<Held<string, Options>> {
  return field<string, Options>({ schema: { type: 'string' }, read: parseTimezone }, options);
}

/** One of a few words. */
export function LiteralField<const Word extends string, const Options extends FieldOptions<NoInfer<Word>>>(
  words: readonly Word[],
  options: Options,
): FieldDecorator<Held<Word, Options>> {
  const otherwise = notOneOf(words);
  return field<Word, Options>(
    {
      schema: { type: 'string', enum: [...words] },
      read: (text) => words.find((word) => word === text) ?? otherwise,
    },
    options,
  );
}

/** A UUID, lower-case with hyphens whatever form it was sent in. */
export function UuidField<const Options extends FieldOptions<string>>(
  options: Options,
): FieldDecorator<Held<string, Options>> {
  return field<string, Options>({ schema: { type: 'string', format: 'uuid' }, read: parseUuid }, options);
}

/** The token of a page. Only its form is judged here; whether it is ours and of this query, its input's `check`. */
export function TokenField(
  options: FieldOptions<string> = {
    description: 'Token for the next page, from a previous response',
    examples: [EXAMPLES.next_token],
  },
): FieldDecorator<string | undefined> {
  return field<string, FieldOptions<string>>(
    {
      schema: { type: 'string', maxLength: TOKEN_MAX_LENGTH },
      read: (text) => (text === '' ? invalidToken : (textFault(text, TOKEN_MAX_LENGTH) ?? text)),
    },
    options,
  );
}
