import fc from 'fast-check';
import type { Operation, Parameter } from './document.js';
import { MALICIOUS_INPUTS } from './malicious-inputs.js';
import { badValues } from './validation-errors.js';

/** A value on its way into a request. */
export interface Sent {
  name: string;
  in: 'path' | 'query';
  /** As it stands in the URL. */
  raw: string;
  /** Whether the document, and what the contract says beside it, allow the value. */
  isValid: boolean;
}

/** A request for an operation: its values in the order of the document, or none for some. */
export interface FuzzedRequest {
  operation: Operation;
  values: Sent[];
}

const ZONES = [
  'UTC',
  'utc',
  'Europe/Berlin',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'America/St_Johns',
  'Etc/GMT+12',
];
const MALFORMED = [
  '%',
  '%zz',
  '%2',
  '%ff',
  '%C3',
  '%ED%A0%80',
  '%ED%B0%80',
  '%C0%80',
  '%F5%80%80%80',
  'a%',
  '1%0',
];

const malicious = fc.oneof(
  fc.constantFrom(...MALICIOUS_INPUTS),
  fc
    .array(fc.constantFrom(...MALICIOUS_INPUTS, '*', ',', 'GET', '/users'), { maxLength: 6 })
    .map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 40 }).map((text) => text.toWellFormed()),
);

/** Requests of an operation: every parameter absent, valid or malicious; what is required is always there. */
export function arbitraryRequests(
  operation: Operation,
  knownValues: Readonly<Record<string, readonly string[]>>,
) {
  const values = operation.parameters.map((parameter) => {
    const sent = arbitraryValues(parameter, knownValues[parameter.name] ?? []);
    return parameter.in === 'path'
      ? sent.filter(({ raw }) => raw !== '')
      : fc.option(sent, { nil: undefined });
  });
  return fc
    .tuple(...values)
    .map((sent): FuzzedRequest => ({ operation, values: sent.filter((value) => value !== undefined) }));
}

/** Any text at all, and as a whole malicious one. */
export function texts(): fc.Arbitrary<string> {
  return malicious;
}

function arbitraryValues(parameter: Parameter, knownValues: readonly string[]): fc.Arbitrary<Sent> {
  const { name, in: place } = parameter;
  const sent = (isValid: boolean) => (text: string) => ({
    name,
    in: place,
    raw: encodeURIComponent(text),
    isValid,
  });
  const bad = badValues(parameter).map(({ value }) => value);
  const good = goodTexts(parameter);
  const valid = [
    ...(knownValues.length > 0 ? [fc.constantFrom(...knownValues)] : []),
    ...(good ? [good] : []),
  ];
  return fc.oneof(
    ...(valid.length > 0 ? [{ weight: 6, arbitrary: fc.oneof(...valid).map(sent(true)) }] : []),
    { weight: 2, arbitrary: fc.constantFrom(...bad).map(sent(false)) },
    { weight: 2, arbitrary: strangeTexts(parameter).map((text) => sent(isAllowed(parameter, text))(text)) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(...MALFORMED).map((raw) => ({ name, in: place, raw, isValid: false })),
    },
  );
}

/** Hostile texts, but for those that an integer may be read from: `٣0` is none, ` 30 ` is one. */
function strangeTexts({ schema }: Parameter): fc.Arbitrary<string> {
  if (schema.type === 'boolean')
    return malicious.filter((text) => !/^(?:[01tfyn]|on|off|yes|no|true|false)$/i.test(text));
  return schema.type === 'integer' ? malicious.filter((text) => !/^[\s\d_.+-]*$/.test(text)) : malicious;
}

/** Whether a malicious text is a valid value: of a text it may be, of anything else it is not. */
function isAllowed({ name, schema }: Parameter, text: string): boolean {
  const { maxLength, pattern } = schema;
  if (maxLength === undefined || name === 'next_token') return false;
  if (Array.from(text).length > maxLength || text.includes('\0')) return false;
  return pattern === undefined || new RegExp(pattern).test(text);
}

/** Valid values; undefined where there are none that fit any query. */
function goodTexts(parameter: Parameter): fc.Arbitrary<string> | undefined {
  const { name, schema } = parameter;
  const { type, minimum, maximum, maxLength, format, pattern } = schema;
  if (name === 'next_token') return undefined;
  if (name === 'timezone') return fc.constantFrom(...ZONES);
  if (type === 'integer') return goodIntegers(minimum!, maximum);
  if (type === 'boolean')
    return fc.constantFrom('true', 'False', '1', '0', 'YES', 'no', 'on', 'off', 't', 'f');
  if (format === 'uuid') return fc.uuid().chain((uuid) => fc.constantFrom(...spellings(uuid)));
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (pattern) return fc.stringMatching(new RegExp(pattern)).filter((text) => isAllowed(parameter, text));
  if (maxLength !== undefined) return malicious.filter((text) => isAllowed(parameter, text));
  return goodTimestamps;
}

function spellings(uuid: string): string[] {
  return [uuid, uuid.toUpperCase(), uuid.replaceAll('-', ''), `{${uuid}}`, `urn:uuid:${uuid}`];
}

/**
 * Integers within the bounds in every spelling that pydantic takes; without an upper bound far too large
 * ones, too.
 */
function goodIntegers(minimum: number, maximum: number | undefined): fc.Arbitrary<string> {
  const huge = [
    '2147483647',
    '2147483648',
    '4294967296',
    '9007199254740993',
    '18446744073709551616',
    '9'.repeat(400),
  ];
  const small = fc.integer({ min: minimum, max: maximum ?? 50 }).map(String);
  const digits =
    maximum === undefined ? fc.oneof({ weight: 3, arbitrary: small }, fc.constantFrom(...huge)) : small;
  return fc
    .tuple(digits, fc.constantFrom('', '+', '0', ' ', '\t', '0_'), fc.constantFrom('', '.0', ' ', '\n'))
    .map(([text, before, after]) => before + text + after);
}

/** Dates and times of every year that can be written, in every form that the contract takes. */
const goodTimestamps = fc
  .tuple(
    fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59Z'),
      noInvalidDate: true,
    }),
    fc.constantFrom('T', 't', ' '),
    fc.constantFrom('', 'Z', 'z', '+02:00', '-0530', '+14', ' 01:00'),
    fc.constantFrom(10, 16, 19, 23),
  )
  .map(([date, separator, offset, length]) => {
    const text = date.toISOString().slice(0, length).replace('T', separator);
    return length === 10 ? text : text + offset;
  });
