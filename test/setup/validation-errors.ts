import type { Parameter } from './document.js';

/** One member of a 422's `detail`. */
export interface IssueBody {
  type: string;
  loc: [string, string];
  msg: string;
  input: string | null;
  ctx?: Record<string, unknown>;
}

/** A value that a parameter must refuse, as a client would write it before escaping, and the issue it is. */
export interface BadValue {
  value: string;
  issue: IssueBody;
}

type Reason = Pick<IssueBody, 'type' | 'msg' | 'ctx'>;

/**
 * The contract's rows (docs/contract.md#validation), written out again: the product's own are what is tested.
 */
export const REASONS = {
  notAnInteger: {
    type: 'int_parsing',
    msg: 'Input should be a valid integer, unable to parse string as an integer',
  },
  notABoolean: {
    type: 'bool_parsing',
    msg: 'Input should be a valid boolean, unable to interpret input',
  },
  below: (ge: number) => ({
    type: 'greater_than_equal',
    msg: `Input should be greater than or equal to ${ge}`,
    ctx: { ge },
  }),
  above: (le: number) => ({
    type: 'less_than_equal',
    msg: `Input should be less than or equal to ${le}`,
    ctx: { le },
  }),
  tooLong: (max: number) => ({
    type: 'string_too_long',
    msg: `String should have at most ${max} characters`,
    ctx: { max_length: max },
  }),
  mismatch: {
    type: 'string_pattern_mismatch',
    msg: String.raw`String should match pattern '^(?:\d{3}|\dxx)(?:,(?:\d{3}|\dxx))*$'`,
    ctx: { pattern: String.raw`^(?:\d{3}|\dxx)(?:,(?:\d{3}|\dxx))*$` },
  },
  notAUuid: (error: string) => ({
    type: 'uuid_parsing',
    msg: `Input should be a valid UUID, ${error}`,
    ctx: { error },
  }),
  notATimestamp: (error: string) => ({
    type: 'datetime_from_date_parsing',
    msg: `Input should be a valid datetime or date, ${error}`,
    ctx: { error },
  }),
  notOneOf: (words: readonly string[]) => {
    const expected = words
      .map((word) => `'${word}'`)
      .join(', ')
      .replace(/, ([^,]*)$/, ' or $1');
    return { type: 'literal_error', msg: `Input should be ${expected}`, ctx: { expected } };
  },
  unknownTimezone: { type: 'value_error', msg: 'Value error, unknown timezone', ctx: { error: {} } },
  startNotBeforeEnd: {
    type: 'value_error',
    msg: 'Value error, start must be before end',
    ctx: { error: {} },
  },
  invalidToken: { type: 'value_error', msg: 'Value error, invalid next_token', ctx: { error: {} } },
} as const satisfies Record<string, Reason | ((of: never) => Reason)>;

const { notAnInteger, below, above, tooLong, mismatch, notAUuid, notATimestamp } = REASONS;
const STRAY = 'invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found';

const NOT_INTEGERS = [
  '',
  'x',
  '1.5',
  '1e3',
  '0x10',
  '١',
  '1_',
  '_1',
  '1__0',
  '1,000',
  '--1',
  '+',
  'NaN',
  'null',
];
const NOT_UUIDS: [string, string][] = [
  ['abc', 'invalid length: expected length 32 for simple format, found 3'],
  ['0'.repeat(33), 'invalid length: expected length 32 for simple format, found 33'],
  ['67e55044-10b1-426f-9247-bb680e5fe0cg', `${STRAY} \`g\` at 36`],
  ['67e55044-10b1-426f-9247', 'invalid group count: expected 5, found 4'],
  ['67e5504-10b1-426f-9247-bb680e5fe0c8', 'invalid group length in group 0: expected 8, found 7'],
];
const NOT_TIMESTAMPS: [string, string][] = [
  ['', 'input is too short'],
  ['2025', 'input is too short'],
  ['tomorrow, at noon', 'invalid character in year'],
  ['2025/05/14', 'invalid date separator, expected `-`'],
  ['2025-xx-14', 'invalid character in month'],
  ['2025-05-xx', 'invalid character in day'],
  ['2025-13-01', 'month value is outside expected range of 1-12'],
  ['2025-02-29', 'day value is outside expected range'],
  ['2025-05-14x', 'unexpected extra characters at the end of the input'],
  ['2025-05-14T25:00', 'unexpected extra characters at the end of the input'],
  ['2025-05-14T10:00+25:00', 'unexpected extra characters at the end of the input'],
  ['2025-05-14T10:00 Europe/Berlin', 'unexpected extra characters at the end of the input'],
];
const NOT_ZONES = ['', 'Mars/Olympus', '+02:00', 'Europe', 'Europe/Berlin\n', '../UTC', '__proto__'];
const NOT_STATUSES = ['', '20', '2000', '2XX', 'x', '200,', ',200', '200, 404', '200;404', '٢٠٠', '2xx\n'];
const NOT_TOKENS = ['', 'x', 'eyJhZnRlciI6WzQyXX0', '{}', '../..', '😀', 'null', 'A'.repeat(64)];

/** Characters that are two UTF-16 units, three bytes, one: a limit counts each as one. */
const ofLength = (length: number) => ['a', 'é', '😀'].map((character) => character.repeat(length));

/** Values that the parameter refuses, by what the document says of it. */
export function badValues(parameter: Parameter): BadValue[] {
  return listReasons(parameter).flatMap(([reason, values]) =>
    values.map((value) => ({ value, issue: expectedIssue(parameter, reason, value) })),
  );
}

/** The issue as FastAPI writes it, members in its order. */
export function expectedIssue(
  { in: place, name }: Parameter,
  { type, msg, ctx }: Reason,
  input: string | null,
): IssueBody {
  return { type, loc: [place, name], msg, input, ...(ctx && { ctx }) };
}

function listReasons({ name, schema }: Parameter): [Reason, readonly string[]][] {
  const { type, minimum, maximum, maxLength, format } = schema;
  const length: [Reason, string[]][] =
    maxLength === undefined ? [] : [[tooLong(maxLength), ofLength(maxLength + 1)]];
  if (type === 'integer')
    return [
      [notAnInteger, NOT_INTEGERS],
      [below(minimum!), [String(minimum! - 1), '-1', '-0', '0.0', ` -${'9'.repeat(400)}`]],
      ...(maximum === undefined
        ? []
        : [
            [above(maximum), [String(maximum + 1), `${maximum + 1}.0`, '9'.repeat(400)]] as [
              Reason,
              string[],
            ],
          ]),
    ];
  if (type === 'boolean') return [[REASONS.notABoolean, ['', 'x', 'tru', '2', 'null', 'true ']]];
  if (format === 'uuid') return NOT_UUIDS.map(([value, why]) => [notAUuid(why), [value]]);
  if (name === 'next_token') return [[REASONS.invalidToken, NOT_TOKENS], ...length];
  if (name === 'timezone') return [[REASONS.unknownTimezone, NOT_ZONES]];
  if (schema.enum) return [[REASONS.notOneOf(schema.enum), ['', 'week', 'Hour', 'hour ', 'hours']]];
  if (schema.pattern) return [[mismatch, NOT_STATUSES], ...length];
  if (maxLength === undefined) return NOT_TIMESTAMPS.map(([value, why]) => [notATimestamp(why), [value]]);
  return length;
}
