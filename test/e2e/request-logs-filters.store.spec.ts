import request from 'supertest';
import { buildRequest } from '../factories/request.factory.js';
import { TestApp } from '../setup/app.js';
import { type Query, Tenant } from '../setup/tenant.js';

/** IDs that are valid and name nothing: unknown, past 32 bits, past 2^53, past 64 bits. */
const UNKNOWN_ID = [1_999_999_999, '4294967296', '9007199254740993', '99999999999999999999999999'];

describe('filters of GET /v1/apps/{app_id}/request-logs', () => {
  let app: TestApp;
  let tenant: Tenant;

  beforeAll(async () => {
    app = await TestApp.start();
  });

  afterAll(() => app.stop());

  /** What was found, by the name that each request has as its URL. */
  const found = async (query: Query) => (await tenant.logs(query)).data.map(({ url }) => url).sort();

  describe('together', () => {
    const wanted = {
      env: 'prod',
      consumer: { identifier: 'anna' },
      method: 'POST',
      path: '/orders/{id}',
      status_code: 404,
      url: 'wanted',
    };
    const start = Date.now() - 3_600_000;
    let ids: { app_env_id: number; consumer_id: number };

    beforeAll(async () => {
      tenant = await Tenant.create(app);
      await tenant.write(
        ...[
          wanted,
          { ...wanted, url: 'env', env: 'dev' },
          { ...wanted, url: 'consumer', consumer: { identifier: 'ben' } },
          { ...wanted, url: 'no consumer', consumer: null },
          { ...wanted, url: 'method', method: 'PUT' },
          { ...wanted, url: 'path', path: '/orders' },
          { ...wanted, url: 'no path', path: null },
          { ...wanted, url: 'status', status_code: 200 },
        ].map((members) => buildRequest({ ...members, timestamp: start })),
        buildRequest({ ...wanted, url: 'window', timestamp: start - 1 }),
      );
      ids = { app_env_id: await tenant.envId('prod'), consumer_id: await tenant.consumerId('anna') };
    });

    const filters = () => ({
      ...ids,
      method: 'post,patch',
      path: '/orders/*',
      status_code: '5xx,404',
      start: new Date(start).toISOString(),
    });

    it('leave only what passes them all', async () => {
      expect(await found(filters())).toEqual(['wanted']);
    });

    it.each([
      ['app_env_id', ['env', 'wanted']],
      ['consumer_id', ['consumer', 'no consumer', 'wanted']],
      ['method', ['method', 'wanted']],
      ['path', ['no path', 'path', 'wanted']],
      ['status_code', ['status', 'wanted']],
      ['start', ['wanted', 'window']],
    ] as const)('each count: without %s, more are left', async (name, expected) => {
      const others = Object.entries(filters()).filter(([other]) => other !== name);
      expect(await found(Object.fromEntries(others))).toEqual(expected);
    });
  });

  describe.each(['app_env_id', 'consumer_id'])('%s', (name) => {
    beforeAll(async () => {
      tenant = await Tenant.create(app);
      await tenant.write({ env: 'prod', consumer: { identifier: 'anna' } }, { consumer: null });
    });

    it.each(UNKNOWN_ID)('gives an empty page, and no error, for %s', async (id) => {
      const { status, text } = await tenant.get('request-logs', { [name]: id });
      expect([status, text]).toEqual([200, '{"data":[],"has_more":false}']);
    });

    it('returns an empty page for an ID of another app', async () => {
      const sibling = await tenant.sibling();
      await sibling.write({ env: 'prod', consumer: { identifier: 'anna' } });
      const ids = { app_env_id: await sibling.envId('prod'), consumer_id: await sibling.consumerId('anna') };
      expect(await found({ [name]: ids[name as keyof typeof ids] })).toEqual([]);
    });

    it.each([0, -1, 'x', ''])('is a 422 as %j', async (id) => {
      const { status, body } = await tenant.get('request-logs', { [name]: id });
      expect([status, body.detail[0].loc]).toEqual([422, ['query', name]]);
    });
  });

  describe('method', () => {
    beforeAll(async () => {
      tenant = await Tenant.create(app);
      await tenant.write(...['GET', 'POST', 'PUT'].map((method) => ({ method, url: method })));
    });

    it.each([
      ['GET', ['GET']],
      ['get', ['GET']],
      [' get , Post ', ['GET', 'POST']],
      [',,PUT,', ['PUT']],
      ['GE', []],
      ["GET','PUT", []],
      ['', ['GET', 'POST', 'PUT']],
      [',', ['GET', 'POST', 'PUT']],
    ])('%j', async (method, expected) => {
      expect(await found({ method })).toEqual(expected);
    });

    it('counts once where it is repeated: the last', async () => {
      const response = await request(app.url)
        .get(`/v1/apps/${tenant.appId}/request-logs?method=GET&limit=none&method=PUT&limit=5`)
        .set('Api-Key', tenant.key);
      expect([response.status, response.body.data.map(({ url }: { url: string }) => url)]).toEqual([
        200,
        ['PUT'],
      ]);
    });
  });

  describe('path', () => {
    beforeAll(async () => {
      tenant = await Tenant.create(app);
      const paths = [
        '/api/users',
        '/api/users/{id}',
        '/API/users',
        '/a%b',
        '/a_b',
        '/axb',
        '/a\\b',
        '/a?b',
        '/a"b',
      ];
      await tenant.write(...paths.map((path) => ({ path, url: path })), { path: null, url: 'none' });
    });

    it.each([
      ['/api/users', ['/api/users']],
      ['/api/*', ['/api/users', '/api/users/{id}']],
      ['*users', ['/API/users', '/api/users']],
      ['/Api/*', []],
      ['users', []],
      ['/a%b', ['/a%b']],
      ['/a%*', ['/a%b']],
      ['/a_*', ['/a_b']],
      ['/a\\*', ['/a\\b']],
      ['/a?b', ['/a?b']],
      ['/a?*', ['/a?b']],
      ['/a"*', ['/a"b']],
      ["' OR '1'='1", []],
      ['/a*b', ['/a"b', '/a%b', '/a?b', '/a\\b', '/a_b', '/axb']],
      ['none', []],
    ])('%j', async (path, expected) => {
      expect(await found({ path })).toEqual(expected);
    });

    it('when empty is no filter', async () => {
      expect(await found({ path: '' })).toHaveLength(10);
    });
  });

  describe('status_code', () => {
    beforeAll(async () => {
      tenant = await Tenant.create(app);
      const codes = [101, 200, 204, 301, 400, 404, 499, 500, 503];
      await tenant.write(...codes.map((status_code) => ({ status_code, url: String(status_code) })));
    });

    it.each([
      ['404', ['404']],
      ['4xx', ['400', '404', '499']],
      ['2xx,404', ['200', '204', '404']],
      ['404,2xx', ['200', '204', '404']],
      ['404,4xx,404', ['400', '404', '499']],
      ['1xx,3xx,503', ['101', '301', '503']],
      ['200,500', ['200', '500']],
      ['000,999', []],
      ['0xx,9xx', []],
    ])('%s', async (status_code, expected) => {
      expect(await found({ status_code })).toEqual(expected);
    });

    it.each(['', '4', '4xX', '40x', 'xx4', '404,', ',404', '404, 500', '٤٠٤', '200\n'])(
      'is a 422 as %j',
      async (status_code) => {
        const { status, body } = await tenant.get('request-logs', { status_code });
        expect([status, body.detail[0].type]).toEqual([422, 'string_pattern_mismatch']);
      },
    );
  });
});
