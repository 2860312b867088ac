import { EXAMPLES } from '../common/examples.js';
import { clamp } from '../common/clamp.js';
import { type Timestamp, parseTimestamp } from '../common/time/timestamp.js';
import {
  type FieldDecorator,
  type FieldOptions,
  type FieldType,
  type FieldValue,
  field,
} from './field.decorator.js';
import { parseInteger } from './integer.js';
import {
  ConstraintViolation,
  aboveMaximum,
  belowMinimum,
  invalidToken,
  notABoolean,
  notAJsonBoolean,
  notAJsonInteger,
  notAString,
  notATimestamp,
  notOneOf,
  patternMismatch,
} from './issues.js';
import { readList } from './json-list.js';
import { validateText } from './text.js';
import { parseTimezone } from './timezone.js';
import { parseUuid } from './uuid.js';

/** Characters of the longest page token (docs/contract.md#limits). */
const TOKEN_MAX_LENGTH = 1024;

interface IntegerOptions extends FieldOptions<number> {
  /** The least value allowed. */
  readonly ge: number;
  /** The greatest value allowed; without it there is none. */
  readonly le?: number;
}

/** A whole number, clamped to 2^53 - 1. */
export function IntegerField<const Options extends IntegerOptions>(
  options: Options,
): FieldDecorator<FieldValue<number, Options>> {
  const { ge, le } = options;
  const withinBounds = (value: number | ConstraintViolation) => {
    if (value instanceof ConstraintViolation) return value;
    if (value < ge) return belowMinimum(ge);
    return le !== undefined && value > le ? aboveMaximum(le) : value;
  };
  return field<number, Options>(
    {
      schema: { type: 'integer', minimum: ge, ...(le !== undefined && { maximum: le }) },
      read: (text) => withinBounds(parseInteger(text)),
      readJson: (value) => withinBounds(jsonInteger(value)),
    },
    options,
  );
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map(
  [
    [true, '1 on t true y yes'],
    [false, '0 off f false n no'],
  ].flatMap(([value, words]) =>
    String(words)
      .split(' ')
      .map((word) => [word, value === true] as const),
  ),
);

/** The decorator of a field type that has no options of its own. */
function createField<Value>(fieldType: FieldType<Value>) {
  return <const Options extends FieldOptions<Value>>(options: Options) =>
    field<Value, Options>(fieldType, options);
}

/** A boolean; in text, one of pydantic's words for it. */
export const BooleanField = createField<boolean>({
  schema: { type: 'boolean' },
  read: (text) => BOOLEANS.get(text.toLowerCase()) ?? notABoolean,
  readJson: (value) => (typeof value === 'boolean' ? value : notAJsonBoolean),
});

/** A field type with string values, in the URL and in JSON. */
function textKind<Value>(
  schema: FieldType<Value>['schema'],
  read: FieldType<Value>['read'],
): FieldType<Value> {
  return { schema, read, readJson: (value) => (typeof value === 'string' ? read(value) : notAString) };
}

interface TextOptions extends FieldOptions<string> {
  /** In Unicode code points. */
  readonly maxLength: number;
}

/** Any text; an empty one is the same as an absent one (docs/contract.md#empty-values). */
export function TextField<const Options extends TextOptions>(
  options: Options,
): FieldDecorator<FieldValue<string, Options>> {
  const { maxLength } = options;
  const read = (text: string) => (text === '' ? undefined : (validateText(text, maxLength) ?? text));
  return field<string, Options>(textKind({ type: 'string', maxLength }, read), options);
}

interface PatternOptions extends TextOptions {
  /** Anchored at both ends, without nested repetition of the same characters. */
  readonly pattern: RegExp;
}

/** Text that matches a pattern. */
export function PatternField<const Options extends PatternOptions>(
  options: Options,
): FieldDecorator<FieldValue<string, Options>> {
  const { maxLength, pattern } = options;
  const mismatch = patternMismatch(pattern.source);
  const read = (text: string) => validateText(text, maxLength) ?? (pattern.test(text) ? text : mismatch);
  return field<string, Options>(
    textKind({ type: 'string', maxLength, pattern: pattern.source }, read),
    options,
  );
}

/** An ISO 8601 date, or date and time (docs/contract.md#timestamps); `resolveTimestamp` makes an instant of it. */
export const TimestampField = createField<Timestamp>(
  textKind({ type: 'string' }, (text) => {
    const timestamp = parseTimestamp(text);
    return timestamp.kind === 'invalid' ? notATimestamp(timestamp.why) : timestamp;
  }),
);

/** The name of an IANA timezone. */
export const TimezoneField = createField(textKind<string>({ type: 'string' }, parseTimezone));

/** One of a few words. */
export function LiteralField<const Word extends string, const Options extends FieldOptions<NoInfer<Word>>>(
  words: readonly Word[],
  options: Options,
): FieldDecorator<FieldValue<Word, Options>> {
  return field<Word, Options>(
    textKind({ type: 'string', enum: [...words] }, createWordReader(words)),
    options,
  );
}

interface ListOptions<Value> extends FieldOptions<Value> {
  readonly in: 'body';
  /** Default: 0. */
  readonly minItems?: number;
  readonly maxItems: number;
}

/** A list of a few words without repetition, in the order of `words`. */
export function LiteralListField<
  const Word extends string,
  const Options extends ListOptions<readonly NoInfer<Word>[]> & {
    /** Other spellings of words. */
    readonly aliases?: Readonly<Record<string, NoInfer<Word>>>;
    /** Keeps the order of the request; by default the order is that of `words`. */
    readonly keepsOrder?: boolean;
  },
>(words: readonly Word[], options: Options): FieldDecorator<FieldValue<readonly Word[], Options>> {
  const { minItems = 0, maxItems, aliases = {}, keepsOrder = false } = options;
  const readOne = createWordReader(words);
  const readWord = (value: unknown) => {
    if (typeof value !== 'string') return notAString;
    return Object.hasOwn(aliases, value) ? (aliases[value] as Word) : readOne(value);
  };
  return field<readonly Word[], Options>(
    {
      schema: { type: 'array', items: { type: 'string', enum: [...words] }, minItems, maxItems },
      read: notInUrl,
      readJson: (value) => {
        const items = readList(value, { minItems, maxItems }, readWord);
        if (!Array.isArray(items)) return items;
        return keepsOrder ? [...new Set(items)] : words.filter((word) => items.includes(word));
      },
    },
    options,
  );
}

/** Placeholder parser for fields that can only be in the body. */
export const notInUrl = (): never => {
  throw new TypeError('This kind of field belongs in the body');
};

function createWordReader<Word extends string>(
  words: readonly Word[],
): (text: string) => Word | ConstraintViolation {
  const otherwise = notOneOf(words);
  return (text) => words.find((word) => word === text) ?? otherwise;
}

/** `1.0` is 1; larger values are clamped to 2^53 - 1. */
export function jsonInteger(value: unknown): number | ConstraintViolation {
  if (typeof value !== 'number' || (!Number.isInteger(value) && Number.isFinite(value)))
    return notAJsonInteger;
  return clamp(value, -Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
}

/** A UUID, normalized to lower-case with hyphens. */
export const UuidField = createField(textKind<string>({ type: 'string', format: 'uuid' }, parseUuid));

/** A page token. Checks only the form; `validate` of the input verifies the signature and the query. */
export function TokenField(): FieldDecorator<string | undefined> {
  const read = (text: string) =>
    text === '' ? invalidToken : (validateText(text, TOKEN_MAX_LENGTH) ?? text);
  return field<string, FieldOptions<string>>(
    textKind({ type: 'string', maxLength: TOKEN_MAX_LENGTH }, read),
    {
      description: 'Token for the next page, from a previous response',
      examples: [EXAMPLES.next_token],
    },
  );
}
