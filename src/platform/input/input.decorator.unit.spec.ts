import { once } from 'node:events';
import { type IncomingMessage, type Server, get as httpGet } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { Controller, Get, type INestApplication, Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { IsInt, IsOptional, IsString, IsUUID, Max, Min } from 'class-validator';
import type { NextFunction, Request, Response } from 'express';
import request from 'supertest';
import { ALL_SCOPES, type Account } from '../http/account.js';
import { type Timestamp, resolveTimestamp } from '../../shared/time/timestamp.js';
import { normalizeRequestTarget } from '../http/raw-query.js';
import { IsText, IsTimestamp } from './constraints.js';
import { EmptyTo, ToInteger, ToTimestamp, ToTimezone, ToUuid } from './conversions.js';
import { Input } from './input.decorator.js';
import { invalidToken, startNotBeforeEnd } from './issues.js';
import { PathParameter, QueryParameter } from './parameters.js';
import { type CrossFieldValidated, InputValidator, type ValidationContext } from './validation-context.js';

const description = 'For the document';
const ACCOUNT: Account = {
  teamId: 7,
  teamName: 'Team',
  plan: 'premium',
  keyIdentifier: 'abcdefg',
  scopes: ALL_SCOPES,
};
const UUID = '67e55044-10b1-426f-9247-bb680e5fe0c8';

class AppInput {
  @PathParameter({ description })
  @ToInteger()
  @IsInt()
  @Min(1)
  app_id: number;
}

class ListThingsInput extends AppInput implements CrossFieldValidated {
  @QueryParameter({ description })
  @EmptyTo()
  @IsOptional()
  @IsText(4)
  method?: string;

  @QueryParameter({ description })
  @ToTimestamp()
  @IsOptional()
  @IsTimestamp()
  start?: Timestamp;

  @QueryParameter({ description })
  @ToTimestamp()
  @IsOptional()
  @IsTimestamp()
  end?: Timestamp;

  @QueryParameter({ description })
  @ToTimezone()
  @IsOptional()
  @IsString()
  timezone = 'UTC';

  @QueryParameter({ description })
  @ToInteger()
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(1000)
  limit = 100;

  @QueryParameter({ description })
  @EmptyTo(invalidToken)
  @IsOptional()
  @IsText(1024)
  next_token?: string;

  validate(context: ValidationContext<this>) {
    if (context.isValid('start', 'end', 'timezone') && !this.inOrder())
      context.addIssue('start', startNotBeforeEnd);
  }

  private inOrder(): boolean {
    const { start, end, timezone } = this;
    return !end || (start ? resolveTimestamp(start, timezone) : 0) < resolveTimestamp(end, timezone);
  }
}

/** A validator of the application. */
@Injectable()
class TokenValidator extends InputValidator {
  override async validate(input: object, context: ValidationContext) {
    if (!(input instanceof ListThingsInput) || input.next_token === undefined) return;
    if ((await Promise.resolve(`of-team-${context.account.teamId}`)) !== input.next_token)
      context.addIssue('next_token', invalidToken);
  }
}

class ThingInput extends AppInput {
  @PathParameter({ description })
  @ToUuid()
  @IsUUID('loose')
  request_uuid: string;
}

@Controller('v1/apps/:app_id')
class ThingsController {
  @Get('things')
  list(@Input() input: ListThingsInput) {
    return input;
  }

  @Get('things/:request_uuid')
  find(@Input() input: ThingInput) {
    return input;
  }
}

@Module({
  controllers: [ThingsController],
  providers: [{ provide: InputValidator, useClass: TokenValidator }],
})
class ThingsModule {}

describe('@Input()', () => {
  let app: INestApplication<Server>;
  beforeAll(async () => {
    const module = await Test.createTestingModule({ imports: [ThingsModule] }).compile();
    app = module.createNestApplication();
    app.use(normalizeRequestTarget);
    app.use((incoming: Request, _: Response, next: NextFunction) => {
      incoming.account = ACCOUNT;
      next();
    });
    await app.listen(0, '127.0.0.1');
  });
  afterAll(async () => {
    await app.close();
  });

  const get = (path: string) => request(app.getHttpServer()).get(path);
  const requestIssues = async (path: string) => {
    const { status, body } = await get(path);
    expect([path, status, Object.keys(body)]).toEqual([path, 422, ['detail']]);
    return body.detail as { loc: string[]; type: string; input: string | null }[];
  };
  const requestPlaces = async (path: string) => (await requestIssues(path)).map(({ loc }) => loc.join('.'));

  it('returns path and query as one object of typed values', async () => {
    const { body } = await get(
      '/v1/apps/007/things?start=2025-05-14T10:00+02:00&limit=1_0&method=&unknown=%',
    );
    expect(body).toEqual({
      app_id: 7,
      start: { kind: 'instant', epochMs: Date.parse('2025-05-14T08:00:00Z') },
      limit: 10,
      timezone: 'UTC',
    });
  });

  it('gives a path of several parameters', async () => {
    const path = `/v1/apps/1/things/${UUID.toUpperCase()}?app_id=0&request_uuid=x`;
    expect((await get(path)).body).toEqual({ app_id: 1, request_uuid: UUID });
  });

  it('reads the absolute form of a target, as proxies send it', async () => {
    const { port } = app.getHttpServer().address() as AddressInfo;
    const outgoing = httpGet({ port, path: 'http://host/v1/apps/5/things?limit=6' });
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    expect(await json(incoming)).toMatchObject({ app_id: 5, limit: 6 });
  });

  it('reports all issues at once: path first, then the order of declaration', async () => {
    const query = 'next_token=%00&limit=0&timezone=x&end=x&start=x&method=abcde';
    expect(await requestPlaces(`/v1/apps/x/things?${query}`)).toEqual([
      'path.app_id',
      'query.method',
      'query.start',
      'query.end',
      'query.timezone',
      'query.limit',
      'query.next_token',
    ]);
    expect(await requestPlaces('/v1/apps/0/things/x')).toEqual(['path.app_id', 'path.request_uuid']);
  });

  it('writes an issue as FastAPI does', async () => {
    const { text } = await get('/v1/apps/0/things');
    expect(text).toBe(
      '{"detail":[{"type":"greater_than_equal","loc":["path","app_id"],' +
        '"msg":"Input should be greater than or equal to 1","input":"0","ctx":{"ge":1}}]}',
    );
  });

  it('rejects what is no text, and says what was sent', async () => {
    const issues = await requestIssues('/v1/apps/%zz/things?method=%ff+&limit=%&other=%ff');
    expect(issues.map(({ type, input }) => [type, input])).toEqual([
      ['string_unicode', '%zz'],
      ['string_unicode', '%ff+'],
      ['string_unicode', '%'],
    ]);
  });

  it('takes a path segment for what it decodes to, slashes too', async () => {
    expect((await get('/v1/apps/%31/things')).body).toMatchObject({ app_id: 1 });
    expect(await requestIssues('/v1/apps/1%2F2/things')).toMatchObject([
      { type: 'int_parsing', input: '1/2' },
    ]);
  });

  it('says of a value what was sent, decoded, and null where nothing was', async () => {
    const sent = await requestIssues('/v1/apps/1/things?start=2025-01-02&end=2025%2D01-01');
    expect(sent).toMatchObject([{ loc: ['query', 'start'], input: '2025-01-02', type: 'value_error' }]);
    const unsent = await requestIssues('/v1/apps/1/things?end=1970-01-01');
    expect(unsent).toMatchObject([{ loc: ['query', 'start'], input: null, type: 'value_error' }]);
  });

  it('joins the issues of the check to the others, each in its place', async () => {
    const query = 'limit=0&next_token=of-team-8&start=2025-01-02&end=2025-01-01&method=abcde';
    expect(await requestPlaces(`/v1/apps/1/things?${query}`)).toEqual([
      'query.method',
      'query.start',
      'query.limit',
      'query.next_token',
    ]);
  });

  it('checks fields against each other only where each can be read', async () => {
    expect(await requestPlaces('/v1/apps/1/things?start=2025-01-02&end=x')).toEqual(['query.end']);
    expect(await requestPlaces('/v1/apps/1/things?start=x&end=2025-01-01')).toEqual(['query.start']);
  });

  it('checks with providers of the application and the account of the request', async () => {
    expect((await get('/v1/apps/1/things?next_token=of-team-7')).body).toMatchObject({
      next_token: 'of-team-7',
    });
    expect(await requestIssues('/v1/apps/1/things?next_token=x')).toMatchObject([{ type: 'value_error' }]);
  });

  it('takes names that other parsers unfold for unknown ones', async () => {
    const query = '__proto__=1&__proto__[limit]=0&constructor=1&limit[]=0&limit[a]=0&app_id=x&check=1';
    expect((await get(`/v1/apps/1/things?${query}`)).body).toEqual({
      app_id: 1,
      limit: 100,
      timezone: 'UTC',
    });
  });
});
