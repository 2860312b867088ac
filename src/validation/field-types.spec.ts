import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import fc from 'fast-check';
import type { Timestamp } from '../common/time/timestamp.js';
import {
  IntegerField,
  LiteralField,
  PatternField,
  TextField,
  TimestampField,
  TimezoneField,
  TokenField,
  UuidField,
} from './field-types.js';
import { getFields } from './field.decorator.js';
import * as issues from './issues.js';

const PATTERN = /^(?:\d{3}|\dxx)(?:,(?:\d{3}|\dxx))*$/;
const description = 'For the document';

class SampleInput {
  @IntegerField({ description, ge: 1 }) app_env_id?: number;
  @TextField({ description, maxLength: 64 }) method?: string;
  @PatternField({ description, maxLength: 128, pattern: PATTERN }) status_code?: string;
  @TimestampField({ description }) start?: Timestamp;
  @LiteralField(['hour', 'day'], { description, default: 'hour' }) interval: 'hour' | 'day';
  @TimezoneField({ description, default: 'UTC' }) timezone: string;
  @IntegerField({ description, ge: 1, le: 1000, default: 100 }) limit: number;
  @TokenField() next_token?: string;
  @UuidField({ in: 'path', description }) request_uuid: string;
}

/** What becomes of one field: its value, or why it was refused. */
function read(name: keyof SampleInput, raw: string | undefined): unknown {
  const input = plainToInstance(SampleInput, { [name]: raw });
  const refused = validateSync(input).map(({ property }) => property);
  expect(refused).toEqual(input[name] instanceof issues.ConstraintViolation ? [name] : []);
  return input[name];
}

describe('fields', () => {
  it.each([
    ['app_env_id', undefined],
    ['method', undefined],
    ['start', undefined],
    ['next_token', undefined],
    ['interval', 'hour'],
    ['timezone', 'UTC'],
    ['limit', 100],
  ] as const)('%s is %s when not sent', (name, value) => {
    expect(read(name, undefined)).toBe(value);
  });

  it.each([
    ['app_env_id', '0', issues.belowMinimum(1)],
    ['app_env_id', `-${'9'.repeat(4000)}`, issues.belowMinimum(1)],
    ['app_env_id', '9'.repeat(4000), Number.MAX_SAFE_INTEGER],
    ['app_env_id', '', issues.notAnInteger],
    ['app_env_id', '+7', 7],
    ['app_env_id', '%2B7', 7],
    ['limit', '1', 1],
    ['limit', '1000', 1000],
    ['limit', '1001', issues.aboveMaximum(1000)],
    ['limit', '9'.repeat(4000), issues.aboveMaximum(1000)],
    ['limit', '9'.repeat(4301), issues.integerTooLong],
    ['method', '', undefined],
    ['method', 'GET%2CPOST', 'GET,POST'],
    ['method', 'a'.repeat(64), 'a'.repeat(64)],
    ['method', 'a'.repeat(65), issues.tooLong(64)],
    ['method', '%F0%9F%98%80'.repeat(64), '😀'.repeat(64)],
    ['method', '%F0%9F%98%80'.repeat(65), issues.tooLong(64)],
    ['method', 'a%00', issues.nullCharacter],
    ['status_code', '200,4xx', '200,4xx'],
    ['status_code', '', issues.patternMismatch(PATTERN.source)],
    ['status_code', '200%0A', issues.patternMismatch(PATTERN.source)],
    ['status_code', '%D9%A2%D9%A0%D9%A0', issues.patternMismatch(PATTERN.source)],
    ['status_code', '200%00', issues.nullCharacter],
    ['status_code', '200,'.repeat(33), issues.tooLong(128)],
    ['start', '', issues.notATimestamp('input is too short')],
    ['start', '1970-01-01T00:00:01+01', { kind: 'instant', epochMs: -3_599_000 }],
    ['start', '1970-01-01T00:00:01', { kind: 'local', wallMs: 1000 }],
    ['interval', 'day', 'day'],
    ['interval', '', issues.notOneOf(['hour', 'day'])],
    ['interval', 'Hour', issues.notOneOf(['hour', 'day'])],
    ['timezone', 'europe%2FBerlin', 'Europe/Berlin'],
    ['timezone', '', issues.unknownTimezone],
    ['next_token', 'a'.repeat(1024), 'a'.repeat(1024)],
    ['next_token', 'a'.repeat(1025), issues.tooLong(1024)],
    ['next_token', '', issues.invalidToken],
    ['next_token', '%00', issues.nullCharacter],
    ['request_uuid', '67E5504410B1426F9247BB680E5FE0C8', '67e55044-10b1-426f-9247-bb680e5fe0c8'],
  ] as const)('%s=%.30s', (name, raw, outcome) => {
    expect(read(name, raw)).toEqual(outcome);
  });

  it.each(getFields(SampleInput).map((field) => field.name as keyof SampleInput))(
    '%s refuses what is no text, and never throws',
    (name) => {
      for (const raw of ['%', '%zz', '1%', '%ff', '%ED%A0%80'])
        expect(read(name, raw)).toBe(issues.invalidUtf8);
      const anything = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[%0-9a-fA-F+]{0,12}$/));
      fc.assert(
        fc.property(anything, (raw) => {
          read(name, raw);
        }),
      );
    },
  );

  it('do not compile on a property that cannot hold their values', () => {
    class WrongInput {
      // @ts-expect-error a number is no string
      @IntegerField({ description, ge: 1, default: 1 }) limit: string;
      // @ts-expect-error without a default there may be no value
      @TextField({ description, maxLength: 64 }) method: string;
      // @ts-expect-error `week` is not among the words
      @LiteralField(['hour', 'day'], { description, default: 'week' }) interval: 'hour' | 'day';
    }
    expect(getFields(WrongInput)).toHaveLength(3);
  });
});

describe('getFields', () => {
  class BaseInput {
    @IntegerField({ description, ge: 1 }) second?: number;
    @IntegerField({ description, in: 'path', ge: 1 }) app_id: number;
  }
  class FirstInput extends BaseInput {
    @TextField({ description, maxLength: 1 }) third?: string;
    @UuidField({ description, in: 'path' }) request_uuid: string;
    @TextField({ description, maxLength: 1 }) fourth?: string;
  }
  class SecondInput extends BaseInput {
    @IntegerField({ description, ge: 1 }) other?: number;
  }

  it('has the path first, then the inherited, then in the order of declaration', () => {
    const names = getFields(FirstInput).map(({ name }) => name);
    expect(names).toEqual(['app_id', 'request_uuid', 'second', 'third', 'fourth']);
  });

  it('keeps the fields of sister classes apart', () => {
    expect(getFields(SecondInput).map(({ name }) => name)).toEqual(['app_id', 'second', 'other']);
    expect(getFields(BaseInput).map(({ name }) => name)).toEqual(['app_id', 'second']);
  });
});
