import { ArrayMaxSize, IsArray, IsIn, IsOptional } from 'class-validator';
import { isLosslessNumber } from 'lossless-json';
import { type Filter, FiltersMember } from '../../queries/filters/filter.js';
import {
  EQUALITY,
  EXISTENCE,
  MAX_LENGTH,
  NULLNESS,
  ORDER,
  PATTERNS,
  type FilterField,
  type FilterOperator,
  type FilterScalar,
  hexFilter,
  textFilter,
  wordFilter,
} from '../../queries/filters/filter-field.js';
import type { FileFormat } from '../../shared/file-format.js';
import { type Timestamp, resolveTimestamp } from '../../shared/time/timestamp.js';
import {
  AfterMember,
  FormatMember,
  type KeyMember,
  LimitMember,
  type Sample,
  SampleMember,
} from '../../queries/files/body.fields.js';
import { SPAN_KINDS, SPAN_STATUSES } from '../../records/capture.js';
import { AppInput } from '../../platform/input/app-input.js';
import { IsTimestamp } from '../../platform/input/constraints.js';
import { ToTimestamp } from '../../platform/input/conversions.js';
import { BodyMember } from '../../platform/input/parameters.js';
import {
  ConstraintViolation,
  missing,
  notAString,
  sinceNotBeforeUntil,
  valueError,
} from '../../platform/input/issues.js';
import { validateText } from '../../platform/input/text.js';
import type { CrossFieldValidated, ValidationContext } from '../../platform/input/validation-context.js';

/** The fields of a row in their default order. */
const SPAN_FIELDS = [
  'trace_id',
  'span_id',
  'start_time_ns',
  'parent_span_id',
  'env',
  'name',
  'kind',
  'status',
  'end_time_ns',
  'duration_ns',
  'attributes',
  'events',
  'scope_name',
  'scope_version',
] as const;

export type SpanField = (typeof SPAN_FIELDS)[number];

/** The first fields of every row. */
export const REQUIRED_SPAN_FIELDS: readonly SpanField[] = ['trace_id', 'span_id', 'start_time_ns'];

/** The other fields of a row by default. */
const DEFAULT_FIELDS: readonly SpanField[] = [
  'parent_span_id',
  'env',
  'name',
  'kind',
  'status',
  'end_time_ns',
  'duration_ns',
];

/** The key by which rows are ordered. */
export interface SpanKey {
  readonly start_time_ns: bigint;
  readonly trace_id: string;
  readonly span_id: string;
}

const SPAN_KEY: { readonly [Name in keyof SpanKey]: KeyMember<SpanKey[Name]> } = {
  start_time_ns: {
    schema: { type: 'integer', format: 'int64' },
    read: (value) => readInt64(value) ?? valueError('must be an integer of 64 bits'),
  },
  trace_id: { schema: { type: 'string', pattern: '^[0-9a-f]{32}$' }, read: (value) => readHex(value, 32) },
  span_id: { schema: { type: 'string', pattern: '^[0-9a-f]{16}$' }, read: (value) => readHex(value, 16) },
};

const TEXT = [...EQUALITY, ...PATTERNS] as const;

const MAX_INT64 = 2n ** 63n - 1n;

const text = textFilter([...TEXT, ...NULLNESS]);

const nanoseconds: FilterField = {
  operators: [...EQUALITY, ...ORDER],
  type: 'Int64',
  schema: { type: 'integer', format: 'int64' },
  readValue: (value) => readInt64(value) ?? valueError('value must be an integer of 64 bits'),
};

/** Attributes keep the types of their values; a filter matches values of its own type only. */
const attributeValues = {
  operators: [...TEXT, ...ORDER, ...EXISTENCE],
  type: 'String' as const,
  schema: { anyOf: [{ type: 'string', maxLength: MAX_LENGTH }, { type: 'number' }, { type: 'boolean' }] },
  hasKey: true,
  isCaseSensitive: true,
  readValue: (value: unknown): FilterScalar | ConstraintViolation => {
    if (typeof value === 'string') return validateText(value, MAX_LENGTH) ?? value;
    if (typeof value === 'boolean' || typeof value === 'number') return value;
    if (!isLosslessNumber(value)) return valueError('value must be a string, a number or a boolean');
    return /^-?\d+$/.test(value.value) ? BigInt(value.value) : Number(value.value);
  },
  checkValue: checkAttributeValue,
} satisfies FilterField;

/** Filters by field. */
export const SPAN_FILTERS = {
  trace_id: hexFilter(EQUALITY, 32),
  span_id: hexFilter(EQUALITY, 16),
  start_time_ns: nanoseconds,
  parent_span_id: hexFilter([...EQUALITY, ...NULLNESS], 16),
  env: text,
  name: textFilter(TEXT),
  kind: wordFilter('SpanFilterKind', SPAN_KINDS),
  status: wordFilter('SpanFilterStatus', SPAN_STATUSES),
  end_time_ns: nanoseconds,
  duration_ns: nanoseconds,
  attributes: attributeValues,
  events: { ...attributeValues, hasEvents: true },
  scope_name: text,
  scope_version: text,
} as const satisfies Record<SpanField, FilterField>;

export type SpanFilter = Filter<SpanField>;

const MAX_NAMES = 100;

export class QueryTracesInput extends AppInput implements CrossFieldValidated {
  @FormatMember()
  format?: FileFormat;

  @BodyMember({
    description:
      'Start of the window, inclusive, for the start of spans (ISO 8601; UTC without an offset). Optional if a filter on ' +
      '`trace_id` has the operator `eq` or `in`.',
    examples: ['2026-11-19T00:00:00Z'],
  })
  @ToTimestamp()
  @IsOptional()
  @IsTimestamp()
  since?: Timestamp;

  @BodyMember({
    description:
      'End of the window, exclusive (ISO 8601; UTC without an offset). Default: now; with such a filter none.',
    examples: ['2026-11-20T00:00:00Z'],
  })
  @ToTimestamp()
  @IsOptional()
  @IsTimestamp()
  until?: Timestamp;

  @BodyMember({
    description: 'Fields of a row after `trace_id`, `span_id` and `start_time_ns`, which every row has',
    examples: [['name', 'duration_ns', 'attributes']],
    enumName: 'SpanField',
  })
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_NAMES)
  @IsIn(SPAN_FIELDS, { each: true })
  fields: readonly SpanField[] = DEFAULT_FIELDS;

  @FiltersMember(SPAN_FILTERS, {
    name: 'SpanFilter',
    description: 'Filters that a span must all match. They may use fields that are not returned.',
    examples: [[{ field: 'attributes', key: 'http.response.status_code', op: 'gte', value: 500 }]],
  })
  filters: readonly SpanFilter[] = [];

  @SampleMember()
  sample?: Sample;

  @LimitMember()
  limit?: number;

  @AfterMember<SpanKey>(SPAN_KEY, {
    start_time_ns: 1_763_647_509_123_456_768,
    trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
    span_id: '00f067aa0ba902b7',
  })
  after?: SpanKey;

  /**
   * The window in milliseconds since the epoch. If traces are named, it has only the bounds that were sent.
   */
  window: { start: number; end: number };

  /** The body as it was sent. */
  body: object;

  validate(check: ValidationContext<this>): void {
    this.body = check.body();
    if (check.isValid('fields')) this.fields = [...new Set(this.fields)];
    if (!check.isValid('since', 'until', 'filters')) return;
    const namesTraces = this.filters.some(
      ({ field: name, op, value }) =>
        name === 'trace_id' && (op === 'eq' || (op === 'in' && Array.isArray(value) && value.length > 0)),
    );
    const start = this.since ? resolveTimestamp(this.since) : -Infinity;
    const latest = namesTraces ? Infinity : Date.now();
    const end = this.until ? resolveTimestamp(this.until) : latest;
    if (start >= end) check.addIssue('since', sinceNotBeforeUntil);
    if (!this.since && !namesTraces) check.addIssue('since', missing);
    this.window = { start, end };
  }
}

function readHex(value: unknown, digits: number): string | ConstraintViolation {
  if (typeof value !== 'string') return notAString;
  return new RegExp(`^[0-9a-f]{${digits}}$`, 'i').test(value)
    ? value.toLowerCase()
    : valueError(`must be ${digits} hex digits`);
}

/** An integer of JSON with all its digits; `1.0` and `1e3` are integers as well. */
function readInt64(value: unknown): bigint | undefined {
  if (typeof value !== 'number' && !isLosslessNumber(value)) return undefined;
  const text = String(value);
  const digits = Number.isSafeInteger(Number(text)) ? String(Number(text)) : text;
  if (!/^-?\d{1,19}$/.test(digits)) return undefined;
  const integer = BigInt(digits);
  return integer <= MAX_INT64 && integer >= -MAX_INT64 ? integer : undefined;
}

function checkAttributeValue(
  op: FilterOperator,
  value: FilterScalar | readonly FilterScalar[],
): ConstraintViolation | undefined {
  const values: readonly FilterScalar[] = typeof value === 'object' ? value : [value];
  const types = new Set(values.map((item) => (typeof item === 'bigint' ? 'number' : typeof item)));
  const [type] = types;
  if (type === undefined) return valueError('the list must not be empty');
  if (types.size > 1) return valueError('the values of a list must be of one type');
  const isText = (PATTERNS as readonly string[]).includes(op);
  const isOrder = (ORDER as readonly string[]).includes(op);
  if ((isText && type !== 'string') || (isOrder && type !== 'number'))
    return valueError(`operator '${op}' is not supported for values of type ${type}`);
  return undefined;
}
