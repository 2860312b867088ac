import { Controller, Get, type INestApplication, Logger, Module, NotFoundException } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import type { NextFunction, Request, Response } from 'express';
import { ALL_SCOPES } from '../../src/platform/http/account.js';
import { Config } from '../../src/config/config.js';
import { ConfigModule } from '../../src/config/config.module.js';
import { ApiExceptionFilter } from '../../src/platform/http/exception.filter.js';
import { RateLimitGuard } from '../../src/access/rate-limit/rate-limit.guard.js';
import { RateLimitModule } from '../../src/access/rate-limit/rate-limit.module.js';
import { WindowCounter } from '../../src/access/rate-limit/window.counter.js';
import { eventually } from '../setup/eventually.js';
import {
  type RedisAddress,
  RedisServer,
  describeWithRedis,
  describeWithRedisServer,
  openRedis,
} from '../setup/redis.js';

@Controller()
class RoutesController {
  @Get('one')
  first() {
    return {};
  }

  @Get('other')
  other() {
    return {};
  }

  @Get('missing')
  missing() {
    throw new NotFoundException();
  }

  @Get('broken')
  broken() {
    throw new Error('an inner matter');
  }
}

@Module({
  imports: [ConfigModule.of(new Config()), RateLimitModule],
  controllers: [RoutesController],
  providers: [{ provide: APP_GUARD, useExisting: RateLimitGuard }],
})
class LimitedModule {}

/** Stands in for the API-key guard: the header `key` names the account. */
function attachAccount(request: Request, _response: Response, next: NextFunction) {
  const keyIdentifier = request.header('key');
  if (keyIdentifier)
    request.account = { teamId: 1, teamName: 'Team', plan: 'premium', keyIdentifier, scopes: ALL_SCOPES };
  next();
}

const apps: INestApplication[] = [];

/** An application as in a process of its own; resolves to its address. */
async function listen(env: NodeJS.ProcessEnv) {
  const module = await Test.createTestingModule({ imports: [LimitedModule] })
    .overrideProvider(Config)
    .useValue(new Config(env))
    .compile();
  const app = module.createNestApplication<NestExpressApplication>();
  apps.push(app);
  app.use(attachAccount);
  app.useGlobalFilters(new ApiExceptionFilter());
  await app.listen(0, '127.0.0.1');
  return { url: await app.getUrl(), counter: app.get(WindowCounter) };
}

async function call(url: string, key?: string) {
  const response = await fetch(url, key ? { headers: { key } } : {});
  const { status, headers } = response;
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) =>
    headers.get(`x-ratelimit-${name}`),
  );
  return {
    status,
    limit,
    remaining,
    reset,
    retryAfter: headers.get('retry-after'),
    body: await response.json(),
  };
}

/**
 * A run during which Redis was never lost: a busy machine may keep it from its processor for longer than it
 * is given.
 */
async function undisturbed<T>(instances: { counter: WindowCounter }[], run: (key: string) => Promise<T>) {
  for (let attempt = 1; ; attempt++) {
    await eventually(() => instances.every(({ counter }) => counter.state === 'redis'));
    const before = warnings.mock.calls.length;
    const result = await run(`burst-${attempt}`);
    if (warnings.mock.calls.length === before || attempt === 5) return result;
  }
}

let warnings: jest.SpyInstance;

beforeEach(() => {
  jest.spyOn(Logger.prototype, 'error').mockImplementation();
  warnings = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
  jest.spyOn(Logger.prototype, 'log').mockImplementation();
});

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

describe('RateLimitGuard', () => {
  it('counts down over all routes and responses, then refuses', async () => {
    const { url } = await listen({ RATE_LIMIT_PER_MINUTE: '4' });
    const before = Math.floor(Date.now() / 1000);
    const responses = [];
    for (const route of ['one', 'other', 'missing', 'broken', 'one'])
      responses.push(await call(`${url}/${route}`, 'abcdefg'));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 404, 500, 429]);
    expect(responses.map(({ remaining }) => remaining)).toEqual(['3', '2', '1', '0', '0']);
    expect(new Set(responses.map(({ limit }) => limit))).toEqual(new Set(['4']));
    expect(new Set(responses.map(({ reset }) => reset)).size).toBe(1);
    expect(Number(responses[0]?.reset)).toBeGreaterThanOrEqual(before + 60);
    expect(Number(responses[0]?.reset)).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000) + 60);
    expect(responses.map(({ retryAfter }) => retryAfter).slice(0, 4)).toEqual([null, null, null, null]);
    expect(responses[4]?.retryAfter).toMatch(/^([1-9]|[1-5]\d|60)$/);
    expect(responses[4]?.body).toEqual({ detail: 'Rate limit exceeded' });
  });

  it('counts each key by itself', async () => {
    const { url } = await listen({ RATE_LIMIT_PER_MINUTE: '1' });
    expect(await call(`${url}/one`, 'abcdefg')).toMatchObject({ status: 200 });
    expect(await call(`${url}/one`, 'hijklmn')).toMatchObject({ status: 200 });
    expect(await call(`${url}/one`, 'abcdefg')).toMatchObject({ status: 429 });
  });

  it('neither counts nor marks a request without an account', async () => {
    const { url } = await listen({ RATE_LIMIT_PER_MINUTE: '1' });
    for (let n = 0; n < 3; n++)
      expect(await call(`${url}/one`)).toMatchObject({
        status: 200,
        limit: null,
        remaining: null,
        reset: null,
      });
  });

  it('says that it counts in the process where no Redis is configured', async () => {
    const { counter } = await listen({});
    expect(counter.state).toBe('memory');
  });
});

describeWithRedis('RateLimitGuard with Redis', () => {
  let address: RedisAddress;

  beforeAll(async () => {
    address = await openRedis();
  });

  afterAll(() => address.stop());

  it('passes exactly 100 of 1,000 requests sent at once to two instances', async () => {
    const env = { REDIS_URL: address.url, RATE_LIMIT_PER_MINUTE: '100' };
    const [first, second] = await Promise.all([listen(env), listen(env)]);
    const burst = (key: string) =>
      Promise.all(Array.from({ length: 1_000 }, (_, n) => call(`${(n % 2 ? first : second).url}/one`, key)));
    const responses = await undisturbed([first, second], burst);
    const passed = responses.filter(({ status }) => status === 200);
    const refused = responses.filter(({ status }) => status === 429);
    expect([passed.length, refused.length]).toEqual([100, 900]);
    const counts = passed.map(({ remaining }) => Number(remaining)).sort((a, b) => a - b);
    expect(counts).toEqual(Array.from({ length: 100 }, (_, n) => n));
    expect(new Set(responses.map(({ reset }) => reset)).size).toBe(1);
    for (const { retryAfter } of refused) expect(retryAfter).toMatch(/^([1-9]|[1-5]\d|60)$/);
  });
});

describeWithRedisServer('RateLimitGuard with a Redis that is lost', () => {
  it('lets each of two instances pass its own 100 of 500 requests', async () => {
    const server = await RedisServer.start();
    const env = { REDIS_URL: server.url, RATE_LIMIT_PER_MINUTE: '100' };
    const instances = await Promise.all([listen(env), listen(env)]);
    server.freeze();
    for (const { url, counter } of instances) {
      const responses = await Promise.all(Array.from({ length: 500 }, () => call(`${url}/one`, 'abcdefg')));
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(100);
      expect(responses.filter(({ status }) => status === 429)).toHaveLength(400);
      expect(counter.state).toBe('fallback');
    }
    await Promise.all(apps.splice(0).map((app) => app.close()));
    await server.stop();
  });
});
