import type { ReferenceObject, SchemaObject } from '@nestjs/swagger';
import { clampInteger } from '../../platform/input/conversions.js';
import { ConstraintViolation, notAString, notOneOf, valueError } from '../../platform/input/issues.js';
import { validateText } from '../../platform/input/text.js';
import { nameSchema } from '../../platform/openapi/named-schemas.js';
import { parseTimestamp, resolveTimestamp } from '../../shared/time/timestamp.js';

export const MAX_FILTER_VALUES = 1_000;
export const MAX_LENGTH = 4_096;

/** Operators that several fields share. */
export const EQUALITY = ['eq', 'neq', 'in', 'not_in'] as const;
export const ORDER = ['gt', 'gte', 'lt', 'lte'] as const;
export const PATTERNS = ['like', 'not_like', 'ilike', 'not_ilike', 'contains', 'not_contains'] as const;
export const NULLNESS = ['is_null', 'is_not_null'] as const;
export const EXISTENCE = ['exists', 'not_exists'] as const;

/** All operators, in the order of error messages. */
export const OPERATORS = [
  'eq',
  'neq',
  ...ORDER,
  'in',
  'not_in',
  ...PATTERNS,
  ...NULLNESS,
  ...EXISTENCE,
] as const;

export type FilterOperator = (typeof OPERATORS)[number];
export type FilterScalar = string | number | bigint | boolean;

/** Type and operators of a filter field. */
export interface FilterField {
  readonly operators: readonly FilterOperator[];
  /** The type of its values in the store. */
  readonly type: 'String' | 'Int64' | 'UUID';
  readonly schema: SchemaObject | ReferenceObject;
  /** Whether it holds values by name: a filter names one of the values by `key`. */
  readonly hasKey?: boolean;
  /** Whether keys are case-sensitive; keys of headers are not. */
  readonly isCaseSensitive?: boolean;
  /**
   * Whether the field is a list of events: a filter has the `event_name`, the `key` of an attribute, or both.
   */
  readonly hasEvents?: boolean;
  /** Why an operator does not support a value; undefined if it does. */
  readonly checkValue?: (
    op: FilterOperator,
    value: FilterScalar | readonly FilterScalar[],
  ) => ConstraintViolation | undefined;
  /** Parses one value, or each item of a list. */
  readonly readValue: (value: unknown) => FilterScalar | ConstraintViolation;
}

/** The fields that an operation filters by, by name. */
export type FilterFields<Name extends string = string> = Readonly<Record<Name, FilterField>>;

/** A field of text. @param normalize converts a value to its form in the store */
export function textFilter(
  operators: readonly FilterOperator[],
  normalize = (text: string) => text,
): FilterField {
  return {
    operators,
    type: 'String',
    schema: { type: 'string', maxLength: MAX_LENGTH },
    readValue: (value) =>
      typeof value === 'string'
        ? (validateText(value, MAX_LENGTH) ?? normalize(value))
        : valueError('value must be a string'),
  };
}

/** A field of headers: pairs of name and text, found by name without regard to case. */
export function headersFilter(operators: readonly FilterOperator[]): FilterField {
  return { ...textFilter(operators), hasKey: true };
}

/**
 * A field of identifiers with one normal form. @param parse the normal form of a text, or why the text is
 * invalid
 */
export function identifierFilter(
  operators: readonly FilterOperator[],
  type: 'String' | 'UUID',
  schema: SchemaObject,
  parse: (text: string) => string | ConstraintViolation,
): FilterField {
  return {
    operators,
    type,
    schema,
    readValue: (value) => {
      const parsed = typeof value === 'string' ? parse(value) : notAString;
      return parsed instanceof ConstraintViolation
        ? valueError(`value must be ${schema.description}`)
        : parsed;
    },
  };
}

/** A field of identifiers of hex digits, stored in lower case. */
export function hexFilter(operators: readonly FilterOperator[], digits: number): FilterField {
  const form = new RegExp(`^[0-9a-f]{${digits}}$`, 'i');
  const description = `${digits} hex digits`;
  return identifierFilter(operators, 'String', { type: 'string', pattern: form.source, description }, (id) =>
    form.test(id) ? id.toLowerCase() : notOneOf([description]),
  );
}

/** A field of words, which are case-sensitive. @param name of the enum in the document */
export function wordFilter(name: string, words: readonly string[]): FilterField {
  return {
    operators: EQUALITY,
    type: 'String',
    schema: nameSchema(name, { type: 'string', enum: [...words] }),
    readValue: (value) =>
      typeof value === 'string' && words.includes(value)
        ? value
        : valueError(`value must be one of ${words.join(', ')}`),
  };
}

/** A field of times, in milliseconds since the epoch; ISO 8601, UTC without an offset. */
export function timestampFilter(operators: readonly FilterOperator[]): FilterField {
  return {
    operators,
    type: 'Int64',
    schema: { type: 'string', format: 'date-time' },
    readValue: (value) => {
      const timestamp = typeof value === 'string' ? parseTimestamp(value) : undefined;
      return timestamp === undefined || timestamp.kind === 'invalid'
        ? valueError('value must be an ISO 8601 date or time')
        : resolveTimestamp(timestamp);
    },
  };
}

/** A field of whole numbers. */
export function integerFilter(operators: readonly FilterOperator[]): FilterField {
  return {
    operators,
    type: 'Int64',
    schema: { type: 'integer' },
    readValue: (value) => {
      const integer = clampInteger(value);
      return Number.isInteger(integer) ? (integer as number) : valueError('value must be an integer');
    },
  };
}
