/**
 * Why a value is invalid: one row of the contract's table of validation errors (docs/contract.md#validation).
 */
export class ConstraintViolation {
  constructor(
    readonly type: string,
    readonly msg: string,
    readonly ctx?: Readonly<Record<string, unknown>>,
  ) {}
}

/** The path to a part of a JSON value: names of members and indexes of items. */
export type JsonPath = readonly (string | number)[];

/** An invalid part of a JSON value. */
export interface InvalidPart {
  readonly path: JsonPath;
  /** The part as it was sent. */
  readonly input: unknown;
  readonly violation: ConstraintViolation;
}

/** Why a JSON value is invalid: its invalid parts. */
export class InvalidParts {
  constructor(readonly parts: readonly InvalidPart[]) {}
}

/** The place of a parameter in a request. */
export type Place = 'path' | 'query' | 'body';

/** One member of the 422 body's `detail`. */
export interface ValidationIssue {
  readonly type: string;
  readonly loc: readonly [Place, ...JsonPath];
  readonly msg: string;
  /** The value as it was sent: a string, or any JSON value in the body; null if absent. */
  readonly input: unknown;
  readonly ctx?: Readonly<Record<string, unknown>>;
}

/** Its members are in FastAPI's order. */
export function createIssue(
  place: Place,
  path: string | JsonPath,
  input: unknown,
  { type, msg, ctx }: ConstraintViolation,
): ValidationIssue {
  const loc = [place, ...(typeof path === 'string' ? [path] : path)] as const;
  return { type, loc, msg, input, ...(ctx && { ctx }) };
}

/** The value is not text: it has a stray percent sign, bytes that are not UTF-8, or a lone surrogate. */
export const invalidUtf8 = new ConstraintViolation(
  'string_unicode',
  'Input should be a valid string, unable to parse raw data as a unicode string',
);

export const notAnInteger = new ConstraintViolation(
  'int_parsing',
  'Input should be a valid integer, unable to parse string as an integer',
);

export const notABoolean = new ConstraintViolation(
  'bool_parsing',
  'Input should be a valid boolean, unable to interpret input',
);
/** The value is not a boolean in JSON. */
export const notAJsonBoolean = new ConstraintViolation('bool_type', 'Input should be a valid boolean');

/** The integer has more digits than pydantic reads. */
export const integerTooLong = new ConstraintViolation(
  'int_parsing_size',
  'Unable to parse input string as an integer, exceeded maximum size',
);

export const belowMinimum = (ge: number) =>
  new ConstraintViolation('greater_than_equal', `Input should be greater than or equal to ${ge}`, { ge });

export const aboveMaximum = (le: number) =>
  new ConstraintViolation('less_than_equal', `Input should be less than or equal to ${le}`, { le });

/** @param maxLength in Unicode code points */
export const tooLong = (maxLength: number) =>
  new ConstraintViolation(
    'string_too_long',
    `String should have at most ${maxLength} character${maxLength === 1 ? '' : 's'}`,
    { max_length: maxLength },
  );

export const patternMismatch = (pattern: string) =>
  new ConstraintViolation('string_pattern_mismatch', `String should match pattern '${pattern}'`, { pattern });

export const notAUuid = (reason: string) =>
  new ConstraintViolation('uuid_parsing', `Input should be a valid UUID, ${reason}`, { error: reason });

export const notATimestamp = (reason: string) =>
  new ConstraintViolation(
    'datetime_from_date_parsing',
    `Input should be a valid datetime or date, ${reason}`,
    {
      error: reason,
    },
  );

/** @param values at least one */
export function notOneOf(values: readonly string[]): ConstraintViolation {
  const quoted = values.map((value) => `'${value}'`);
  const expected = [quoted.slice(0, -1).join(', '), quoted.at(-1)].filter(Boolean).join(' or ');
  return new ConstraintViolation('literal_error', `Input should be ${expected}`, { expected });
}

/** A required member of the body is missing. */
export const missing = new ConstraintViolation('missing', 'Field required');
export const notAString = new ConstraintViolation('string_type', 'Input should be a valid string');
/** The value is not an integer in JSON; for text see `notAnInteger`. */
export const notAJsonInteger = new ConstraintViolation('int_type', 'Input should be a valid integer');
export const notAList = new ConstraintViolation('list_type', 'Input should be a valid list');
export const notAnObject = new ConstraintViolation(
  'model_attributes_type',
  'Input should be a valid dictionary or object to extract fields from',
);

export const invalidJson = (reason: string) =>
  new ConstraintViolation('json_invalid', 'JSON decode error', { error: reason });

export const tooFewItems = (minLength: number, actualLength: number) =>
  new ConstraintViolation(
    'too_short',
    `List should have at least ${minLength} item${minLength === 1 ? '' : 's'} after validation, not ${actualLength}`,
    { field_type: 'List', min_length: minLength, actual_length: actualLength },
  );

export const tooManyItems = (maxLength: number, actualLength: number) =>
  new ConstraintViolation(
    'too_long',
    `List should have at most ${maxLength} item${maxLength === 1 ? '' : 's'} after validation, not ${actualLength}`,
    { field_type: 'List', max_length: maxLength, actual_length: actualLength },
  );

export const valueError = (reason: string) =>
  new ConstraintViolation('value_error', `Value error, ${reason}`, { error: {} });

export const unknownTimezone = valueError('unknown timezone');
/** The issue of `start`. */
export const startNotBeforeEnd = valueError('start must be before end');
/** The issue of `since` in a body. */
export const sinceNotBeforeUntil = valueError('since must be before until');
/** The issue of `baseline_since` in a body. */
export const baselineSinceNotBeforeUntil = valueError('baseline_since must be before baseline_until');
/** The page token was not signed by this service, was changed, or belongs to another query. */
export const invalidToken = valueError('invalid next_token');
/** The store has no text with NUL, because the engine's text functions stop at it. */
export const nullCharacter = valueError('null characters are not allowed');
