import type { Server } from 'node:http';
import { ClickHouseError } from '@clickhouse/client';
import { Controller, Get, type INestApplication, Logger, Module, Param } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import { QueryTimedOut, StoreUnavailable, toStoreError } from '../../store/client/clickhouse.errors.js';
import { ApiExceptionFilter } from './exception.filter.js';

const SECRET = 'the inside';
const engineError = (code: string) =>
  toStoreError(new ClickHouseError({ message: SECRET, code, type: SECRET }));

const FAILURES: Record<string, () => unknown> = {
  unavailable: () => new StoreUnavailable(SECRET),
  overloaded: () => engineError('202'),
  refused: () => toStoreError(Object.assign(new Error(SECRET), { code: 'ECONNREFUSED' })),
  damaged: () => engineError('40'),
  timeout: () => new QueryTimedOut(SECRET),
  slow: () => engineError('159'),
  bug: () => new TypeError(SECRET),
  syntax: () => engineError('62'),
  text: () => SECRET,
  nothing: () => undefined,
};

@Controller()
class FailingController {
  @Get(':failure')
  fail(@Param('failure') failure: string) {
    throw FAILURES[failure]?.();
  }
}

@Module({ controllers: [FailingController] })
class FailingModule {}

describe('ApiExceptionFilter', () => {
  let app: INestApplication<Server>;

  beforeEach(() => {
    jest.spyOn(Logger.prototype, 'error').mockImplementation();
    jest.spyOn(Logger.prototype, 'warn').mockImplementation();
  });

  beforeAll(async () => {
    const module = await Test.createTestingModule({ imports: [FailingModule] }).compile();
    app = module.createNestApplication({ logger: false });
    app.useGlobalFilters(new ApiExceptionFilter());
    await app.init();
  });

  afterAll(() => app.close());

  it.each([
    ['unavailable', 503, 'Service temporarily unavailable', '1'],
    ['overloaded', 503, 'Service temporarily unavailable', '1'],
    ['refused', 503, 'Service temporarily unavailable', '1'],
    ['damaged', 503, 'Service temporarily unavailable', '1'],
    ['timeout', 504, 'Query timed out', undefined],
    ['slow', 504, 'Query timed out', undefined],
    ['bug', 500, 'Internal Server Error', undefined],
    ['syntax', 500, 'Internal Server Error', undefined],
    ['text', 500, 'Internal Server Error', undefined],
    ['nothing', 500, 'Internal Server Error', undefined],
  ])('maps %s to %i and nothing of the inside', async (failure, status, detail, retryAfter) => {
    const response = await request(app.getHttpServer()).get(`/${failure}`);
    expect([response.status, response.text]).toEqual([status, JSON.stringify({ detail })]);
    expect(response.headers['retry-after']).toBe(retryAfter);
    expect(JSON.stringify(response.headers)).not.toContain(SECRET);
  });

  it('reports damage at level error', async () => {
    const logged = jest.spyOn(Logger.prototype, 'error');
    await request(app.getHttpServer()).get('/damaged');
    expect(logged).toHaveBeenLastCalledWith('stored data is damaged (40)');
  });

  it('keeps what went wrong for the log', async () => {
    const logged = jest.spyOn(Logger.prototype, 'error');
    await request(app.getHttpServer()).get('/bug');
    expect(logged).toHaveBeenLastCalledWith(expect.stringContaining(SECRET));
  });
});
