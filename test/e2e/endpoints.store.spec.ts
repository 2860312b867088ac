import { ENDPOINTS_PER_READ } from '../../src/api/endpoints/endpoints.repository.js';
import { TestApp } from '../setup/app.js';
import { type Query, Tenant } from '../setup/tenant.js';

interface EndpointBody {
  id: number;
  method: string;
  path: string;
}

/** IDs that are valid and name nothing: unknown, past 32 bits, past 2^53, past 64 bits. */
const UNKNOWN_ID = [1_999_999_999, '4294967296', '9007199254740993', '99999999999999999999999999'];

describe('GET /v1/apps/{app_id}/endpoints', () => {
  let app: TestApp;
  let tenant: Tenant;

  beforeAll(async () => {
    app = await TestApp.start();
  });

  afterAll(() => app.stop());

  const startOver = async () => {
    tenant = await Tenant.create(app);
  };

  const list = async (query: Query = {}, of = tenant) =>
    (await of.page<EndpointBody>('endpoints', query)).data;
  const shown = async (query: Query = {}) =>
    (await list(query)).map(({ method, path }) => `${method} ${path}`);
  const meet = (...endpoints: string[]) =>
    tenant.write(
      ...endpoints.map((endpoint) => {
        const [method = '', path = ''] = endpoint.split(/ (.*)/s);
        return { method, path };
      }),
    );

  describe('200', () => {
    beforeEach(startOver);

    it('has id, method and path in this order, and nothing beside `data`', async () => {
      await meet('GET /v1/users/{user_id}');
      const { text, body } = await tenant.get('endpoints');
      expect(text).toBe(`{"data":[{"id":${body.data[0].id},"method":"GET","path":"/v1/users/{user_id}"}]}`);
      expect(body.data[0].id).toBeGreaterThanOrEqual(1);
    });

    it('has none before any was seen', async () => {
      expect((await tenant.get('endpoints')).text).toBe('{"data":[]}');
    });

    it('has all of more endpoints than one read of the store, each once and in order', async () => {
      const total = 2 * ENDPOINTS_PER_READ + 1;
      await app.store.command(`
        INSERT INTO endpoints_v1 (app_id, id, method, path, created_at)
        SELECT ${tenant.appId}, 1000000 + number, if(number % 2 = 0, 'GET', 'POST'),
          concat('/', leftPad(toString(intDiv(number, 3)), 6, '0')), now()
        FROM numbers(${total})`);
      const endpoints = await list();
      expect(endpoints).toHaveLength(total);
      const keys = endpoints.map(({ path, method, id }) => `${path} ${method} ${id}`);
      expect(keys).toEqual([...keys].sort());
      expect(new Set(keys).size).toBe(total);
      expect(await list({ method: 'POST' })).toHaveLength(ENDPOINTS_PER_READ);
    });

    it('is ordered by path, then method, in code-point order', async () => {
      // In UTF-16 the emoji would stand before the full-width tilde, and in most languages a before B.
      const ordered = [
        'GET /',
        'DELETE /B',
        'GET /B',
        'POST /B',
        'GET /a',
        'GET /a/b',
        'GET /a{id}',
        'GET /é',
        'GET /\uFF5E',
        'GET /\u{1F600}',
      ];
      await meet(...[...ordered].reverse());
      expect(await shown()).toEqual(ordered);
    });

    it('lists an endpoint once, however many requests it had, and none of another app', async () => {
      await meet('GET /a', 'GET /a', 'POST /a');
      await meet('GET /a');
      await (await tenant.sibling()).write({ path: '/other' });
      expect(await shown()).toEqual(['GET /a', 'POST /a']);
    });

    it('has no endpoint for requests that matched no route', async () => {
      await tenant.write({ path: null });
      expect(await shown()).toEqual([]);
    });

    it('keeps endpoints that are excluded, and those whose requests are counted only', async () => {
      await tenant.write({ path: '/a' }, { path: '/healthz', excluded_from_logs: true });
      await tenant.exclude('GET', '/a');
      expect(await shown()).toEqual(['GET /a', 'GET /healthz']);
    });
  });

  describe('app_env_id', () => {
    beforeAll(async () => {
      await startOver();
      await tenant.write(
        { env: 'prod', path: '/both' },
        { env: 'prod', path: '/prod' },
        { env: 'dev', path: '/both' },
        { env: 'dev', path: '/dev', excluded_from_logs: true },
        { env: 'test', method: 'POST', path: '/both' },
        { env: 'test', method: 'GET', path: '/both' },
        { env: 'test', method: 'POST', path: '/test' },
      );
    });

    it.each([
      ['prod', ['GET /both', 'GET /prod']],
      ['dev', ['GET /both', 'GET /dev']],
    ])('gives the endpoints seen in %s', async (env, expected) => {
      expect(await shown({ app_env_id: await tenant.envId(env) })).toEqual(expected);
    });

    it.each(UNKNOWN_ID)('gives an empty list for %s', async (app_env_id) => {
      expect(await shown({ app_env_id })).toEqual([]);
    });

    it("gives an empty list for another app's environment", async () => {
      const sibling = await tenant.sibling();
      await sibling.write({ env: 'prod', path: '/both' });
      expect(await shown({ app_env_id: await sibling.envId('prod') })).toEqual([]);
    });

    it('is combined with the other filters', async () => {
      const query = { app_env_id: await tenant.envId('test'), method: 'post', path: '/b*' };
      expect(await shown(query)).toEqual(['POST /both']);
    });
  });

  describe('method', () => {
    beforeAll(async () => {
      await startOver();
      await meet('GET /a', 'POST /a', 'PATCH /a', 'DELETE /a');
    });

    it.each([
      ['GET', ['GET /a']],
      ['get', ['GET /a']],
      ['GET,POST', ['GET /a', 'POST /a']],
      [' gEt ,\tpost ', ['GET /a', 'POST /a']],
      [',GET,,', ['GET /a']],
      ['GET,GET', ['GET /a']],
      ['GE', []],
      ['GET POST', []],
      ["GET','POST", []],
      ['', ['DELETE /a', 'GET /a', 'PATCH /a', 'POST /a']],
      [' , ', ['DELETE /a', 'GET /a', 'PATCH /a', 'POST /a']],
    ])('%j', async (method, expected) => {
      expect(await shown({ method })).toEqual(expected);
    });
  });

  describe('path', () => {
    const PATHS = ['/api/v1/users', '/api/v1/users/{id}', '/API/v1/users', '/api/v2', '/a%b', '/a_b', '/axb'];
    const ODD = ['/a\\b', '/a\\%b', '/a?b', '/a.b', "/it's", '/"q"', '/a+b', '/ü/ß', '/line\nbreak', '/[ab]'];

    beforeAll(async () => {
      await startOver();
      await meet(...[...PATHS, ...ODD].map((path) => `GET ${path}`));
    });

    it.each([
      ['/api/v1/*', ['/api/v1/users', '/api/v1/users/{id}']],
      ['/api/v1/users', ['/api/v1/users']],
      ['/api/v1', []],
      ['/API/*', ['/API/v1/users']],
      ['*users', ['/API/v1/users', '/api/v1/users']],
      ['*/{id}', ['/api/v1/users/{id}']],
      ['/api*users*', ['/api/v1/users', '/api/v1/users/{id}']],
      ['/api/***/users', ['/api/v1/users']],
      ['api', []],
      ['/a%b', ['/a%b']],
      ['/a%*', ['/a%b']],
      ['%', []],
      ['%*', []],
      ['/a_b', ['/a_b']],
      ['/a_*', ['/a_b']],
      ['/a\\b', ['/a\\b']],
      ['/a\\*', ['/a\\%b', '/a\\b']],
      ['/a\\%*', ['/a\\%b']],
      ['/a?b', ['/a?b']],
      ['*?*', ['/a?b']],
      ['/a.*', ['/a.b']],
      ["*'*", ["/it's"]],
      ['*"*', ['/"q"']],
      ['/a+b', ['/a+b']],
      ['/ü/*', ['/ü/ß']],
      ['/line*break', ['/line\nbreak']],
      ['/[ab]*', ['/[ab]']],
    ])('%j', async (path, expected) => {
      expect((await list({ path })).map((endpoint) => endpoint.path)).toEqual(expected);
    });

    it.each(['*', '', '**'])('is no restriction as %j', async (path) => {
      expect(await list({ path })).toHaveLength(PATHS.length + ODD.length);
    });
  });

  describe('404', () => {
    beforeAll(startOver);

    it.each(UNKNOWN_ID)('for the app %s', async (id) => {
      const response = await app.get(`/v1/apps/${id}/endpoints`, tenant.key);
      expect([response.status, response.text]).toEqual([404, '{"detail":"App not found"}']);
    });

    it("for another team's app", async () => {
      const { appId } = await Tenant.create(app);
      const response = await app.get(`/v1/apps/${appId}/endpoints`, tenant.key);
      expect([response.status, response.text]).toEqual([404, '{"detail":"App not found"}']);
    });
  });
});
