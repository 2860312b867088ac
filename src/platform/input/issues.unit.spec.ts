import * as issues from './issues.js';
import { ValidationException } from './validation.exception.js';

const PATTERN = String.raw`^(?:\d{3}|\dxx)(?:,(?:\d{3}|\dxx))*$`;
const WORDS = ['hour', 'day', 'week'];

/**
 * The rows of the contract's table (docs/contract.md#validation), and what pydantic has for the faults that
 * it does not list.
 */
describe('the validation error body', () => {
  it.each([
    [
      'int_parsing',
      'Input should be a valid integer, unable to parse string as an integer',
      issues.notAnInteger,
    ],
    [
      'int_parsing_size',
      'Unable to parse input string as an integer, exceeded maximum size',
      issues.integerTooLong,
    ],
    [
      'string_unicode',
      'Input should be a valid string, unable to parse raw data as a unicode string',
      issues.invalidUtf8,
    ],
  ])('%s, without ctx', (type, msg, violation) => {
    expect(JSON.stringify(issues.createIssue('path', 'app_id', 'x', violation))).toBe(
      JSON.stringify({ type, loc: ['path', 'app_id'], msg, input: 'x' }),
    );
  });

  it.each([
    ['greater_than_equal', 'Input should be greater than or equal to 1', { ge: 1 }, issues.belowMinimum(1)],
    [
      'less_than_equal',
      'Input should be less than or equal to 1000',
      { le: 1000 },
      issues.aboveMaximum(1000),
    ],
    ['string_too_long', 'String should have at most 64 characters', { max_length: 64 }, issues.tooLong(64)],
    ['string_too_long', 'String should have at most 1 character', { max_length: 1 }, issues.tooLong(1)],
    [
      'string_pattern_mismatch',
      `String should match pattern '${PATTERN}'`,
      { pattern: PATTERN },
      issues.patternMismatch(PATTERN),
    ],
    ['uuid_parsing', 'Input should be a valid UUID, why', { error: 'why' }, issues.notAUuid('why')],
    [
      'datetime_from_date_parsing',
      'Input should be a valid datetime or date, why',
      { error: 'why' },
      issues.notATimestamp('why'),
    ],
    ['literal_error', "Input should be 'hour'", { expected: "'hour'" }, issues.notOneOf(WORDS.slice(0, 1))],
    [
      'literal_error',
      "Input should be 'hour' or 'day'",
      { expected: "'hour' or 'day'" },
      issues.notOneOf(WORDS.slice(0, 2)),
    ],
    [
      'literal_error',
      "Input should be 'hour', 'day' or 'week'",
      { expected: "'hour', 'day' or 'week'" },
      issues.notOneOf(WORDS),
    ],
    ['value_error', 'Value error, unknown timezone', { error: {} }, issues.unknownTimezone],
    ['value_error', 'Value error, start must be before end', { error: {} }, issues.startNotBeforeEnd],
    ['value_error', 'Value error, invalid next_token', { error: {} }, issues.invalidToken],
    ['value_error', 'Value error, null characters are not allowed', { error: {} }, issues.nullCharacter],
  ])('%s: %s', (type, msg, ctx, violation) => {
    expect(JSON.stringify(issues.createIssue('query', 'name', null, violation))).toBe(
      JSON.stringify({ type, loc: ['query', 'name'], msg, input: null, ctx }),
    );
  });

  it('is a 422 with every issue', () => {
    const issue = issues.createIssue('path', 'app_id', '', issues.notAnInteger);
    const failure = new ValidationException([issue]);
    expect([failure.getStatus(), failure.getResponse()]).toEqual([422, { detail: [issue] }]);
  });
});
