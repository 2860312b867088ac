import { parseExact } from '../common/json/exact-json.js';
import { IntegerField, jsonInteger, notInUrl } from '../validation/field-types.js';
import { type FieldDecorator, type FieldOptions, field } from '../validation/field.decorator.js';
import {
  ConstraintViolation,
  InvalidParts,
  aboveMaximum,
  belowMinimum,
  missing,
  notAnObject,
} from '../validation/issues.js';
import { listInvalidParts } from '../validation/json-list.js';

/** A share of the rows, or an approximate number of rows. */
export type Sample = { readonly share: number } | { readonly rows: number };

const MAX_SHARE = 0.5;
const notANumber = new ConstraintViolation('float_type', 'Input should be a valid number');
const notAboveZero = new ConstraintViolation('greater_than', 'Input should be greater than 0', { gt: 0 });
/** How JSON writes an integer; what has a point or an exponent is a share. */
const INTEGER = /^-?\d+$/;

/** An integer of at least 1, or a number above 0 and up to 0.5; `1.0` is the latter. */
export function SampleField(): FieldDecorator<Sample | undefined> {
  return field<Sample, FieldOptions<Sample>>(
    {
      schema: { type: 'number' },
      read: notInUrl,
      readJson: (value, json) => {
        if (typeof value !== 'number') return notANumber;
        if (INTEGER.test(json)) {
          const rows = jsonInteger(value);
          if (rows instanceof ConstraintViolation) return rows;
          return rows < 1 ? belowMinimum(1) : { rows };
        }
        if (value <= 0) return notAboveZero;
        return value > MAX_SHARE ? aboveMaximum(MAX_SHARE) : { share: value };
      },
    },
    {
      in: 'body',
      description:
        'A sample of the rows: a share above 0 and up to 0.5, or an approximate number of rows. It is the same for each call.',
      examples: [0.1],
    },
  );
}

export const LimitField = () =>
  IntegerField({
    in: 'body',
    ge: 1,
    description: 'Maximum number of rows. Default: all rows.',
    examples: [100_000],
  });

/** The type of one member of a row's key. */
export interface KeyMember<Value> {
  /** In the words of JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** @param value from JSON, its numbers with all their digits */
  readonly read: (value: unknown) => Value | ConstraintViolation;
}

/** The key of a row: an object with all of these members. */
export function KeyField<Key extends object>(
  members: { readonly [Name in keyof Key]: KeyMember<Key[Name]> },
  example: unknown,
): FieldDecorator<Key | undefined> {
  const types = Object.entries(members as Readonly<Record<string, KeyMember<unknown>>>);
  return field<Key, FieldOptions<Key>>(
    {
      schema: {
        type: 'object',
        properties: Object.fromEntries(types.map(([name, { schema }]) => [name, schema])),
        required: types.map(([name]) => name),
      },
      read: notInUrl,
      readJson: (value, json) => {
        if (typeof value !== 'object' || value === null || Array.isArray(value)) return notAnObject;
        const sent = value as Readonly<Record<string, unknown>>;
        const exact = parseExact(json) as typeof sent;
        const key = types.map(
          ([name, { read }]) => [name, (exact[name] ?? null) === null ? missing : read(exact[name])] as const,
        );
        const invalid = key.flatMap(([name, member]) => listInvalidParts(member, [name], sent[name] ?? sent));
        return invalid.length > 0 ? new InvalidParts(invalid) : (Object.fromEntries(key) as Key);
      },
    },
    {
      in: 'body',
      description: 'Only rows after this one. The last complete row of a truncated response continues it.',
      examples: [example],
    },
  );
}
