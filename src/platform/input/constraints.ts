/**
 * Gives the constraints of class-validator their meaning in the contract: the violation in a response, and
 * the schema in the document. Also has the few constraints that class-validator lacks.
 */
import type { SchemaObject } from '@nestjs/swagger';
import { IS_OPTIONAL, ValidateBy, getMetadataStorage } from 'class-validator';
import {
  ConstraintViolation,
  InvalidParts,
  aboveMaximum,
  belowMinimum,
  missing,
  notAJsonBoolean,
  notAJsonInteger,
  notAList,
  notAString,
  notOneOf,
  patternMismatch,
  tooFewItems,
  tooManyItems,
} from './issues.js';
import { listInvalidParts } from './json-list.js';
import { validateText } from './text.js';

/**
 * A text that the store can hold, of at most `maxLength` Unicode code points, which class-validator counts
 * differently.
 */
export const IsText = (maxLength: number) =>
  check('isText', (value) => typeof value === 'string' && !validateText(value, maxLength), maxLength);

/** A `Timestamp`, which `@ToTimestamp()` makes. */
export const IsTimestamp = () =>
  check('isTimestamp', (value) => typeof value === 'object' && value !== null && 'kind' in value);

/** A value whose type is only checked by its conversion. */
export const IsConverted = () => check('isConverted', (value) => !isViolation(value));

function check(name: string, validate: (value: unknown) => boolean, ...constraints: unknown[]) {
  return ValidateBy({
    name,
    constraints,
    validator: { validate, defaultMessage: () => `$property: ${name}` },
  });
}

interface Meaning {
  readonly schema: (...args: never[]) => SchemaObject;
  /** The violation of a value; undefined if the value is valid. */
  readonly violation: (value: never, ...args: never[]) => ConstraintViolation | undefined;
}

/** By the names of class-validator. If a value violates several, the first in this list is reported. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  isString: { schema: () => ({ type: 'string' }), violation: () => notAString },
  isBoolean: { schema: () => ({ type: 'boolean' }), violation: () => notAJsonBoolean },
  isInt: { schema: () => ({ type: 'integer' }), violation: () => notAJsonInteger },
  isArray: { schema: () => ({ type: 'array' }), violation: () => notAList },
  isUuid: { schema: () => ({ type: 'string', format: 'uuid' }), violation: () => notAString },
  isTimestamp: { schema: () => ({ type: 'string' }), violation: () => notAString },
  isText: {
    schema: (maxLength: number) => ({ type: 'string', maxLength }),
    violation: (value: unknown, maxLength: number) =>
      typeof value === 'string' ? validateText(value, maxLength) : notAString,
  },
  matches: {
    schema: ({ source }: RegExp) => ({ pattern: source }),
    violation: (_: unknown, { source }: RegExp) => patternMismatch(source),
  },
  min: {
    schema: (minimum: number) => ({ minimum }),
    violation: (_: unknown, minimum: number) => belowMinimum(minimum),
  },
  max: {
    schema: (maximum: number) => ({ maximum }),
    violation: (_: unknown, maximum: number) => aboveMaximum(maximum),
  },
  arrayMinSize: {
    schema: (minItems: number) => ({ minItems }),
    violation: ({ length }: unknown[], minItems: number) => tooFewItems(minItems, length),
  },
  arrayMaxSize: {
    schema: (maxItems: number) => ({ maxItems }),
    violation: ({ length }: unknown[], maxItems: number) => tooManyItems(maxItems, length),
  },
  isIn: {
    schema: (words: readonly string[]) => ({ type: 'string', enum: [...words] }),
    violation: (value: unknown, words: readonly string[]) => {
      if (typeof value !== 'string') return notAString;
      return words.includes(value) ? undefined : notOneOf(words);
    },
  },
};
const PRECEDENCE = Object.keys(MEANINGS);

interface Constraint {
  readonly name: string;
  readonly args: never[];
  /** Whether the constraint applies to each item of a list. */
  readonly each: boolean;
}

const collected = new Map<object, readonly (Constraint & { readonly property: string })[]>();

/** The constraints of a property of an input class, in the order of precedence. */
function getConstraints(inputClass: object, property: string): readonly Constraint[] {
  const constraints = collected.get(inputClass) ?? collectConstraints(inputClass);
  collected.set(inputClass, constraints);
  return constraints.filter((constraint) => constraint.property === property);
}

function collectConstraints(inputClass: object) {
  return getMetadataStorage()
    .getTargetValidationMetadatas(inputClass as new () => unknown, '', false, false)
    .map(({ propertyName: property, name = '', constraints, each }) => {
      return { property, name, args: (constraints as never[] | undefined) ?? [], each };
    })
    .sort((a, b) => PRECEDENCE.indexOf(a.name) - PRECEDENCE.indexOf(b.name));
}

export function isOptional(inputClass: object, property: string): boolean {
  return getConstraints(inputClass, property).some(({ name }) => name === IS_OPTIONAL);
}

/** The JSON Schema of a property, from its constraints. */
export function buildSchema(inputClass: object, property: string): SchemaObject {
  const schema: SchemaObject = {};
  for (const { name, args, each } of getConstraints(inputClass, property)) {
    const part = MEANINGS[name]?.schema(...args);
    if (each) schema.items = { ...schema.items, ...part };
    else Object.assign(schema, part);
  }
  return schema;
}

/** Why a value is invalid. @param failed names of the violated constraints */
export function findViolation(
  inputClass: object,
  property: string,
  value: unknown,
  failed: readonly string[],
): ConstraintViolation | InvalidParts {
  if (isViolation(value)) return value;
  if (value === undefined) return missing;
  for (const { name, args, each } of getConstraints(inputClass, property)) {
    if (!failed.includes(name)) continue;
    const violationOf = (part: unknown) => MEANINGS[name]?.violation(part as never, ...args);
    const violation = each
      ? new InvalidParts(
          (value as unknown[]).flatMap((item, index) => listInvalidParts(violationOf(item), [index], item)),
        )
      : violationOf(value);
    if (violation) return violation;
  }
  throw new Error(`${property} has no violation for ${failed.join()}`);
}

function isViolation(value: unknown): value is ConstraintViolation | InvalidParts {
  return value instanceof ConstraintViolation || value instanceof InvalidParts;
}
