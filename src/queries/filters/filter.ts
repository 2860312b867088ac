import { applyDecorators } from '@nestjs/common';
import { ArrayMaxSize, IsArray, IsOptional } from 'class-validator';
import { isLosslessNumber } from 'lossless-json';
import { Convert } from '../../platform/input/conversions.js';
import {
  ConstraintViolation,
  InvalidParts,
  type InvalidPart,
  missing,
  notAString,
  notAnObject,
  notOneOf,
  valueError,
} from '../../platform/input/issues.js';
import { readList, listInvalidParts } from '../../platform/input/json-list.js';
import { BodyMember } from '../../platform/input/parameters.js';
import { validateText } from '../../platform/input/text.js';
import {
  EXISTENCE,
  type FilterField,
  type FilterFields,
  type FilterOperator,
  type FilterScalar,
  MAX_LENGTH,
  MAX_FILTER_VALUES,
  NULLNESS,
  OPERATORS,
} from './filter-field.js';
import { filterSchema } from './filter-schema.js';

const MAX_FILTERS = 100;

const LISTS: ReadonlySet<FilterOperator> = new Set(['in', 'not_in']);
const PATTERNS: ReadonlySet<FilterOperator> = new Set(['like', 'not_like', 'ilike', 'not_ilike']);
const WITHOUT_VALUE: ReadonlySet<FilterOperator> = new Set([...NULLNESS, ...EXISTENCE]);

/** Other names of a filter's members, which public clients use as well. */
const ALIASES = {
  field: ['field', 'column', 'col'],
  op: ['op', 'operator'],
  value: ['value', 'val'],
} as const;

/** One condition on the records. All filters of a request must hold. */
export interface Filter<Name extends string = string> {
  readonly field: Name;
  readonly op: FilterOperator;
  /** A list for `in` and `not_in`; absent for operators without a value. */
  readonly value?: FilterScalar | readonly FilterScalar[];
  /** The name of the value in a field that holds values by name; header names are in lower case (ASCII). */
  readonly key?: string;
  /** The name of the event in a field that holds events. */
  readonly event_name?: string;
}

/**
 * A list of conditions on `fields`, joined with AND.
 *
 * @param name of a condition in the document
 * @param aliases other names of fields
 */
export function FiltersMember<const Name extends string>(
  fields: FilterFields<Name>,
  {
    name,
    aliases,
    ...options
  }: {
    readonly name: string;
    readonly description: string;
    readonly examples: unknown[];
    readonly aliases?: Readonly<Record<string, NoInfer<Name>>>;
  },
): PropertyDecorator {
  return applyDecorators(
    BodyMember({ ...options, schema: { items: filterSchema(name, fields) } }),
    Convert((value) =>
      Array.isArray(value) && value.length <= MAX_FILTERS
        ? readList(value, { maxItems: MAX_FILTERS }, (item) => readFilter(fields, item, aliases))
        : value,
    ),
    IsOptional(),
    IsArray(),
    ArrayMaxSize(MAX_FILTERS),
  );
}

/** One condition as a client sent it, or why it is invalid. */
export function readFilter<Name extends string>(
  fields: FilterFields<Name>,
  item: unknown,
  aliases: Readonly<Record<string, Name>> = {},
): Filter<Name> | ConstraintViolation | InvalidParts {
  if (typeof item !== 'object' || item === null || Array.isArray(item) || isLosslessNumber(item))
    return notAnObject;
  const members = item as Readonly<Record<string, unknown>>;
  const name = readWord(findMember(members, 'field'), Object.keys(fields) as Name[], aliases);
  const validName = name instanceof ConstraintViolation ? undefined : name;
  const filterField = validName && fields[validName];
  const op = readOperator(findMember(members, 'op'), validName, filterField);
  const sent = findMember(members, 'value');
  const value =
    !filterField || op instanceof ConstraintViolation || WITHOUT_VALUE.has(op)
      ? undefined
      : readValue(filterField, op, sent);
  const eventName = readEventName(members.event_name ?? undefined, validName, filterField);
  const key = readKey(members.key ?? undefined, validName, filterField, {
    isOptional:
      typeof eventName === 'string' && !(op instanceof ConstraintViolation) && WITHOUT_VALUE.has(op),
  });
  const invalid: InvalidPart[] = [
    ...listInvalidParts(name, ['field'], findMember(members, 'field') ?? item),
    ...listInvalidParts(op, ['op'], findMember(members, 'op') ?? item),
    ...listInvalidParts(key, ['key'], members.key ?? item),
    ...listInvalidParts(eventName, ['event_name'], members.event_name),
    ...listInvalidParts(value, ['value'], sent === undefined ? item : sent),
  ];
  if (invalid.length > 0) return new InvalidParts(invalid);
  return {
    field: name,
    op,
    ...(value !== undefined && { value }),
    ...(typeof key === 'string' && { key }),
    ...(typeof eventName === 'string' && { event_name: eventName }),
  } as Filter<Name>;
}

function readKey(
  value: unknown,
  name: string | undefined,
  filterField: FilterField | undefined,
  { isOptional }: { isOptional: boolean },
): string | ConstraintViolation | undefined {
  if (name === undefined || (isOptional && value === undefined)) return undefined;
  if (filterField?.hasKey !== true)
    return value === undefined ? undefined : valueError(`key is not supported for field '${name}'`);
  if (typeof value !== 'string' || value === '') return valueError(`field '${name}' needs a key`);
  const fault = validateText(value, MAX_LENGTH);
  if (fault || filterField.isCaseSensitive) return fault ?? value;
  return value.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function readEventName(
  value: unknown,
  name: string | undefined,
  filterField: FilterField | undefined,
): string | ConstraintViolation | undefined {
  if (value === undefined || name === undefined) return undefined;
  if (filterField?.hasEvents !== true) return valueError(`event_name is not supported for field '${name}'`);
  if (typeof value !== 'string' || value === '')
    return valueError('event_name must be a text that is not empty');
  return validateText(value, MAX_LENGTH) ?? value;
}

function findMember(members: Readonly<Record<string, unknown>>, name: keyof typeof ALIASES): unknown {
  const present = ALIASES[name].find((alias) => Object.hasOwn(members, alias));
  return present && members[present];
}

/** Ignores case and surrounding white space. */
function readWord<Word extends string>(
  value: unknown,
  words: readonly Word[],
  aliases: Readonly<Record<string, Word>> = {},
): Word | ConstraintViolation {
  if (value === undefined || value === null) return missing;
  if (typeof value !== 'string') return notAString;
  const text = value.trim().toLowerCase();
  const alias = Object.hasOwn(aliases, text) ? aliases[text] : undefined;
  return alias ?? words.find((word) => word === text) ?? notOneOf(words);
}

function readOperator(
  value: unknown,
  name: string | undefined,
  filterField: FilterField | undefined,
): FilterOperator | ConstraintViolation {
  const op = readWord(value, OPERATORS);
  if (op instanceof ConstraintViolation || name === undefined || filterField?.operators.includes(op))
    return op;
  return valueError(`operator '${op}' is not supported for field '${name}'`);
}

function readValue(
  filterField: FilterField,
  op: FilterOperator,
  value: unknown,
): FilterScalar | FilterScalar[] | ConstraintViolation | InvalidParts {
  const read = readAnyValue(filterField, op, value);
  if (read instanceof ConstraintViolation || read instanceof InvalidParts) return read;
  return filterField.checkValue?.(op, read) ?? read;
}

function readAnyValue(
  { readValue: readOne }: FilterField,
  op: FilterOperator,
  value: unknown,
): FilterScalar | FilterScalar[] | ConstraintViolation | InvalidParts {
  if (value === undefined) return valueError(`operator '${op}' needs a value`);
  if (LISTS.has(op))
    return Array.isArray(value)
      ? readList(value, { maxItems: MAX_FILTER_VALUES }, readOne)
      : valueError(`value of operator '${op}' must be a list`);
  const read = readOne(value);
  const backslashes = typeof read === 'string' && PATTERNS.has(op) ? (/\\*$/.exec(read)?.[0].length ?? 0) : 0;
  return backslashes % 2 === 1 ? valueError('a pattern must not end with an escape character') : read;
}
