import { IsIn, IsInt, IsOptional, IsString, IsUUID, Matches, Max, Min } from 'class-validator';
import fc from 'fast-check';
import { ALL_SCOPES, type Account } from '../http/account.js';
import type { Timestamp } from '../../shared/time/timestamp.js';
import { NextToken } from '../paging/page-cursor.js';
import { IsText, IsTimestamp } from './constraints.js';
import { EmptyTo, ToInteger, ToTimestamp, ToTimezone, ToUuid } from './conversions.js';
import { InputPipe } from './input.pipe.js';
import * as issues from './issues.js';
import { PathParameter, QueryParameter, getParameters } from './parameters.js';
import { ValidationException } from './validation.exception.js';

const PATTERN = /^(?:\d{3}|\dxx)(?:,(?:\d{3}|\dxx))*$/;
const UUID = '67e55044-10b1-426f-9247-bb680e5fe0c8';
const description = 'For the document';
const account: Account = {
  teamId: 7,
  teamName: 'Team',
  plan: 'premium',
  keyIdentifier: 'abcdefg',
  scopes: ALL_SCOPES,
};

class SampleInput {
  @QueryParameter({ description }) @ToInteger() @IsOptional() @IsInt() @Min(1) app_env_id?: number;
  @QueryParameter({ description }) @EmptyTo() @IsOptional() @IsText(64) method?: string;
  @QueryParameter({ description }) @IsOptional() @IsText(128) @Matches(PATTERN) status_code?: string;
  @QueryParameter({ description }) @ToTimestamp() @IsOptional() @IsTimestamp() start?: Timestamp;
  @QueryParameter({ description }) @IsOptional() @IsIn(['hour', 'day']) interval: 'hour' | 'day' = 'hour';
  @QueryParameter({ description }) @ToTimezone() @IsOptional() @IsString() timezone = 'UTC';
  @QueryParameter({ description }) @ToInteger() @IsOptional() @IsInt() @Min(1) @Max(1000) limit = 100;
  @NextToken() next_token?: string;
  @PathParameter({ description }) @ToUuid() @IsUUID('loose') request_uuid: string;
}

/** What becomes of one parameter: its value, or the type and the text of its violation. */
async function read(name: keyof SampleInput, raw: string | undefined): Promise<unknown> {
  const sent = new Map(raw === undefined ? [] : [[name, raw]]);
  try {
    const input = (await new InputPipe().transform(
      {
        path: name === 'request_uuid' ? sent : new Map([['request_uuid', UUID]]),
        query: sent,
        readBody: () => Promise.reject(new Error('there is no body')),
        account,
      },
      { type: 'custom', metatype: SampleInput },
    )) as SampleInput;
    return input[name];
  } catch (error) {
    if (!(error instanceof ValidationException)) throw error;
    const [issue, ...others] = error.issues;
    expect([issue?.loc[1], others]).toEqual([name, []]);
    const { type, msg, ctx } = issue!;
    return new issues.ConstraintViolation(type, msg, ctx);
  }
}

describe('parameters', () => {
  it.each([
    ['app_env_id', undefined],
    ['method', undefined],
    ['start', undefined],
    ['next_token', undefined],
    ['interval', 'hour'],
    ['timezone', 'UTC'],
    ['limit', 100],
  ] as const)('%s is %s when not sent', async (name, value) => {
    expect(await read(name, undefined)).toBe(value);
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
  ] as const)('%s=%.30s', async (name, raw, outcome) => {
    expect(await read(name, raw)).toEqual(outcome);
  });

  it.each(getParameters(SampleInput).map((parameter) => parameter.name as keyof SampleInput))(
    '%s refuses what is no text, and never throws',
    async (name) => {
      for (const raw of ['%', '%zz', '1%', '%ff', '%ED%A0%80'])
        expect(await read(name, raw)).toEqual(issues.invalidUtf8);
      const anything = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[%0-9a-fA-F+]{0,12}$/));
      await fc.assert(
        fc.asyncProperty(anything, async (raw) => {
          await read(name, raw);
        }),
      );
    },
  );

  it('counts code points, also behind a variation selector', async () => {
    expect(await read('method', '%E2%9C%88%EF%B8%8F'.repeat(33))).toEqual(issues.tooLong(64));
  });
});

describe('getParameters', () => {
  class BaseInput {
    @QueryParameter({ description }) second?: number;
    @PathParameter({ description }) app_id: number;
  }
  class FirstInput extends BaseInput {
    @QueryParameter({ description }) third?: string;
    @PathParameter({ description }) request_uuid: string;
    @QueryParameter({ description }) fourth?: string;
  }
  class SecondInput extends BaseInput {
    @QueryParameter({ description }) other?: number;
  }

  it('has the path first, then the inherited, then in the order of declaration', () => {
    const names = getParameters(FirstInput).map(({ name }) => name);
    expect(names).toEqual(['app_id', 'request_uuid', 'second', 'third', 'fourth']);
  });

  it('keeps the fields of sister classes apart', () => {
    expect(getParameters(SecondInput).map(({ name }) => name)).toEqual(['app_id', 'second', 'other']);
    expect(getParameters(BaseInput).map(({ name }) => name)).toEqual(['app_id', 'second']);
  });
});
