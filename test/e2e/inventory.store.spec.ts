import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { DocumentedOperation, Endpoint } from '../../src/api/endpoints/endpoints.dto.js';
import { ALL_SCOPES } from '../../src/platform/http/account.js';
import { EMPTY_CAPTURE, type Header, toCaptureJson } from '../../src/records/capture.js';
import type { RequestRecord } from '../../src/records/request-record.js';
import { finish } from '../../src/shared/async/slices.js';
import { listOperations } from '../../src/sources/decoding/api-document.js';
import { type Client, TestService } from '../collector/setup/collector.js';
import { buildLogItem } from '../collector/setup/messages.js';
import { OtlpSender, serverSpan, traces } from '../collector/setup/otlp.js';
import { callTool, connectClient, readRows } from '../setup/mcp.js';
import { type Query, Tenant } from '../setup/tenant.js';

const DAY = 24 * 3_600_000;
/** More with `PROPERTY_RUNS`, as in a nightly run. */
const RUNS = Number(process.env.PROPERTY_RUNS ?? 10);
const SUNSET = 'Wed, 30 Jun 2027 23:59:59 GMT';

let service: TestService;
let client: Client;
let tenant: Tenant;

beforeAll(async () => {
  service = await TestService.start({ COLLECTOR_RATE_LIMIT_PER_MINUTE: '10000' });
});
afterAll(() => service.stop());
beforeEach(async () => {
  client = await service.tenant();
  ({ tenant } = client);
});

async function read(query: Query = {}) {
  const response = await tenant.get('endpoints', { include: 'inventory', ...query });
  expect([response.status, response.text]).toEqual([200, response.text]);
  const { data, never_called } = response.body as { data: Endpoint[]; never_called: DocumentedOperation[] };
  return { data, never_called };
}
const startup = (openapi: object, { version = '1', env = 'prod', paths = [] as object[] } = {}) =>
  client.send(
    'startup',
    { message_uuid: randomUUID(), client: 'js:express', openapi, versions: { app: version }, paths },
    env,
  );
const importDocument = (document: object, env?: string) =>
  service.api.admin.documents.import(tenant.appId, env, {
    document: JSON.stringify(document),
    routes: JSON.stringify(finish(listOperations(document as Readonly<Record<string, unknown>>))),
  });
const withHeaders = (...response_headers: Header[]): Partial<RequestRecord> => ({
  captured_json: toCaptureJson({ ...EMPTY_CAPTURE, response_headers }),
});
const document = (paths: object, servers: string[] = []) => ({
  openapi: '3.1.0',
  info: { title: 'Shop', version: '1' },
  servers: servers.map((url) => ({ url })),
  paths,
});
const name = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;

describe('GET /v1/apps/{app_id}/endpoints?include=inventory', () => {
  it('compares operations within an endpoint by the endpoint', async () => {
    await startup(document({ '/mcp': { post: { operationId: 'mcp' } }, '/rpc': { post: {} } }));
    await tenant.write(
      { method: 'POST', path: '/mcp#tools/call/{x}' },
      { method: 'POST', path: '/mcp/#initialize' },
    );
    const { data, never_called } = await read();
    expect(data.map(({ path, documented, operation_id }) => [path, documented, operation_id])).toEqual([
      ['/mcp#tools/call/{x}', true, 'mcp'],
      ['/mcp/#initialize', true, 'mcp'],
    ]);
    expect(never_called.map(name)).toEqual(['POST /rpc']);
  });

  it('compares what was called with the document that the app sent', async () => {
    const getUser = { operationId: 'getUser', summary: 'Get a user', tags: ['users'], deprecated: true };
    await startup(
      document({
        '/users/{user_id}': { get: { ...getUser, 'x-sunset': '2027-01-31' } },
        '/users': { post: {} },
      }),
    );
    const at = Date.now() - 3 * DAY;
    await tenant.write(
      { path: '/users/{id}', timestamp: at, consumer: { identifier: 'anna' } },
      { path: '/users/{id}', timestamp: at - DAY, consumer: { identifier: 'bob' } },
      { path: '/users/{id}', timestamp: at - 2 * DAY, consumer: { identifier: 'bob' } },
      { path: '/users/{id}', timestamp: at - 40 * DAY, consumer: { identifier: 'old' } },
      { path: '/debug', timestamp: at - 40 * DAY },
    );
    const { data, never_called } = await read();
    expect(data).toEqual([
      {
        id: expect.any(Number) as number,
        method: 'GET',
        path: '/debug',
        documented: false,
        operation_id: null,
        summary: null,
        tags: [],
        deprecated: false,
        sunset: null,
        last_request_at: new Date(at - 40 * DAY).toISOString(),
        requests_30d: 0,
        consumers_30d: 0,
      },
      {
        id: expect.any(Number) as number,
        method: 'GET',
        path: '/users/{id}',
        documented: true,
        operation_id: 'getUser',
        summary: 'Get a user',
        tags: ['users'],
        deprecated: true,
        sunset: '2027-01-31T00:00:00.000Z',
        last_request_at: new Date(at).toISOString(),
        requests_30d: 3,
        consumers_30d: 2,
      },
    ]);
    expect(never_called).toEqual([
      {
        method: 'POST',
        path: '/users',
        operation_id: null,
        summary: null,
        tags: [],
        deprecated: false,
        sunset: null,
      },
    ]);
  });

  it('says nothing of documentation without a document, and has summaries of the start', async () => {
    await client.send('startup', {
      message_uuid: randomUUID(),
      client: 'js:express',
      paths: [{ method: 'GET', path: '/users/:id', summary: 'Get a user' }],
    });
    const { data, never_called } = await read();
    expect(data).toMatchObject([{ documented: null, summary: 'Get a user', last_request_at: null }]);
    expect(never_called).toEqual([]);
  });

  it.each(['/users/:id', '/users/{id}', '/users/<int:id>', '/users/[id]', '/users/{user_id}/'])(
    'matches %s with a parameter of another name',
    async (path) => {
      await startup(document({ '/users/{some-name}': { get: {} } }), { paths: [{ method: 'GET', path }] });
      expect((await read()).data).toMatchObject([{ documented: true }]);
    },
  );

  it('counts the base path of servers, unless a proxy takes it away', async () => {
    await importDocument(document({ '/a': { get: {} }, '/b': { get: {} } }, ['https://x.example/v1', '/v2']));
    expect((await read()).never_called.map(name)).toEqual(['GET /v1/a', 'GET /v1/b']);
    await tenant.write({ path: '/a' });
    expect((await read()).never_called.map(name)).toEqual(['GET /b']);
    await tenant.write({ path: '/v1/a' }, { path: '/v3/b' });
    const { data, never_called } = await read();
    expect(data.map((endpoint) => [name(endpoint), endpoint.documented])).toEqual([
      ['GET /a', false],
      ['GET /v1/a', true],
      ['GET /v3/b', false],
    ]);
    expect(never_called.map(name)).toEqual(['GET /v1/b']);
  });

  it('has the newest document of each environment, also after a roll-back', async () => {
    const [old, current] = [document({ '/old': { get: {} } }), document({ '/new': { get: {} } })];
    await startup(old, { version: '1' });
    await startup(current, { version: '2' });
    await startup(document({ '/dev': { get: {} } }), { version: '3', env: 'dev' });
    expect((await read()).never_called.map(name)).toEqual(['GET /dev', 'GET /new']);
    await startup(old, { version: '1' });
    expect((await read()).never_called.map(name)).toEqual(['GET /dev', 'GET /old']);
    const app_env_id = await tenant.envId('prod');
    expect((await read({ app_env_id })).never_called.map(name)).toEqual(['GET /old']);
  });

  it('has an imported document before the one that was sent, until it is replaced', async () => {
    await startup(document({ '/a': { get: { summary: 'sent' } }, '/b': { get: {} } }));
    expect(await importDocument(document({ '/a': { get: { summary: 'imported' } } }))).toBe(true);
    expect(await importDocument(document({ '/a': { get: { summary: 'imported' } } }))).toBe(false);
    expect((await read()).never_called).toMatchObject([{ summary: 'imported' }, { path: '/b' }]);
    await importDocument(document({}));
    expect((await read()).never_called).toMatchObject([{ summary: 'sent' }, { path: '/b' }]);
    await importDocument(document({ '/prod': { get: {} } }), 'prod');
    await expect(importDocument(document({}), 'no-such')).rejects.toThrow('has no environment no-such');
    expect((await read()).never_called.map(name)).toEqual(['GET /a', 'GET /b', 'GET /prod']);
  });

  it('filters endpoints and operations alike', async () => {
    const both = { get: {}, post: {} };
    await startup(document({ '/v1/a': both, '/v2/a': both, '/v1/b/{x}': both }));
    await tenant.write({ path: '/v1/a' }, { path: '/v2/a' }, { path: '/v1/b/{id}', method: 'POST' });
    const { data, never_called } = await read({ path: '/v1/*', method: 'post' });
    expect(data.map(name)).toEqual(['POST /v1/b/{id}']);
    expect(never_called.map(name)).toEqual(['POST /v1/a']);
    expect((await read({ path: '*b*x}' })).never_called.map(name)).toEqual(['GET /v1/b/{x}']);
    expect((await read({ path: '/v1/b/{x}' })).data).toEqual([]);
  });

  it('leaves out the requests of excluded endpoints, which were not never called', async () => {
    await startup(document({ '/a': { get: {} } }));
    await tenant.write({ path: '/a', consumer: { identifier: 'anna' } });
    await tenant.exclude('GET', '/a');
    const { data, never_called } = await read();
    expect(data).toMatchObject([{ last_request_at: null, requests_30d: 0, consumers_30d: 0 }]);
    expect(never_called).toEqual([]);
  });

  it('shows a key of one consumer its own requests, and no operations of others', async () => {
    await startup(document({ '/a': { get: { summary: 'A' } }, '/b': { get: {} }, '/c': { get: {} } }));
    await tenant.write(
      { path: '/a', consumer: { identifier: 'anna' }, timestamp: Date.now() - DAY },
      { path: '/a', consumer: { identifier: 'bob' } },
      { path: '/b', consumer: { identifier: 'bob' } },
    );
    const scopes = { ...ALL_SCOPES, appIds: [tenant.appId], consumer: 'anna' };
    const { key } = await service.api.admin.keys.create(tenant.teamId, { scopes });
    const { body } = await service.api.get(`/v1/apps/${tenant.appId}/endpoints`, key, {
      include: 'inventory',
    });
    expect(body.never_called).toEqual([]);
    expect(body.data).toMatchObject([{ path: '/a', summary: 'A', requests_30d: 1, consumers_30d: 1 }]);
    expect(body.data).toHaveLength(1);
    expect(Date.parse(body.data[0].last_request_at)).toBeLessThanOrEqual(Date.now() - DAY);
  });

  it("shows another team's key nothing", async () => {
    await startup(document({ '/a': { get: {} } }));
    const { key } = await Tenant.create(service.api);
    const answer = await service.api.get(`/v1/apps/${tenant.appId}/endpoints`, key, { include: 'inventory' });
    expect([answer.status, answer.text]).toEqual([404, '{"detail":"App not found"}']);
  });

  it('is not there without `include`, and no other word is known', async () => {
    await startup(document({ '/a': { get: {} } }));
    await tenant.write({ path: '/a' });
    const { text, body } = await tenant.get('endpoints');
    expect(text).toBe(`{"data":[{"id":${body.data[0].id},"method":"GET","path":"/a"}]}`);
    const { status, body: answer } = await tenant.get('endpoints', { include: 'all' });
    expect([status, answer.detail[0].loc]).toEqual([422, ['query', 'include']]);
  });
});

describe('what responses say of their end', () => {
  const isDeprecated = async (query: Query = {}) =>
    (await read(query)).data.map(({ path, deprecated, sunset }) => [path, deprecated, sunset]);

  it('is that of the newest response of the last 30 days, in each environment', async () => {
    await tenant.write(
      { path: '/a', ...withHeaders(['Deprecation', '@1688169599'], ['Sunset', SUNSET]) },
      {
        path: '/a',
        timestamp: Date.now() - DAY,
        ...withHeaders(['Sunset', 'Thu, 01 Jan 2026 00:00:00 GMT']),
      },
      { path: '/a', env: 'dev' },
      { path: '/later', ...withHeaders(['Deprecation', `@${Math.floor((Date.now() + DAY) / 1000)}`]) },
      { path: '/long-ago', timestamp: Date.now() - 31 * DAY, ...withHeaders(['Deprecation', 'true']) },
      { path: null, ...withHeaders(['Deprecation', 'true']) },
    );
    expect(await isDeprecated()).toEqual([
      ['/a', true, '2027-06-30T23:59:59.000Z'],
      ['/later', false, null],
      ['/long-ago', false, null],
    ]);
    const app_env_id = await tenant.envId('dev');
    expect(await isDeprecated({ app_env_id })).toEqual([['/a', false, null]]);
  });

  it('comes from client libraries and from OpenTelemetry', async () => {
    await client.sendLog([
      buildLogItem({
        request: { path: '/hub' },
        response: { headers: [['deprecation', '@1688169599']] },
      }),
    ]);
    const sender = await OtlpSender.create(service, client);
    const span = serverSpan({
      'http.route': '/otlp',
      'url.path': '/otlp',
      'http.response.header.deprecation': ['@1688169599'],
      'http.response.header.sunset': [SUNSET],
    });
    await sender.deliver('traces', traces([span]));
    expect(await isDeprecated()).toEqual([
      ['/hub', true, null],
      ['/otlp', true, '2027-06-30T23:59:59.000Z'],
    ]);
  });

  it('is found by agents with those who still call, and so is what nobody calls', async () => {
    await startup(document({ '/v1/a': { get: {} }, '/v2/a': { get: { summary: 'New' } } }));
    const deprecated = withHeaders(['Deprecation', '@1688169599'], ['Sunset', SUNSET]);
    await tenant.write(
      { path: '/v1/a', consumer: { identifier: 'anna' }, ...deprecated },
      { path: '/v1/a', consumer: { identifier: 'bob' }, ...deprecated },
      { path: '/x' },
    );
    const mcp = await connectClient(service.api.url, { 'Api-Key': tenant.key });
    const find = async (args: object) => readRows(await callTool(mcp, 'find', args));
    expect(await find({ kind: 'deprecated' })).toMatchObject([
      {
        name: '/v1/a',
        detail: expect.stringMatching(
          /^GET, 2 requests of 2 consumers in 30 days, last .*, sunset 2027-06-30/,
        ) as string,
      },
    ]);
    expect(await find({ kind: 'undocumented' })).toMatchObject([{ name: '/x' }]);
    expect(await find({ kind: 'never_called', query: 'V2' })).toMatchObject([
      { id: null, name: '/v2/a', detail: 'GET, New' },
    ]);
    await mcp.close();
  });
});

describe('hostile documents', () => {
  it.each([
    [
      'of a million paths',
      { paths: Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`/${n}`, {}])) },
    ],
    [
      'of too many operations',
      { paths: Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`/${n}`, { get: {} }])) },
    ],
    ['with circles', { paths: { '/a': { $ref: '#/paths/~1a' } } }],
    ['of wrong types', { paths: [7], servers: 'x' }],
    [
      'with the names of members of objects',
      { paths: { ['__proto__']: { get: {} }, constructor: { get: {} } } },
    ],
  ])('%s describe nothing, and hold nobody up', async (_, hostile) => {
    const began = performance.now();
    const sent = startup(hostile);
    const other = await service.api.get('/v1/team', tenant.key);
    expect(other.status).toBe(200);
    expect((await sent).status).toBe(202);
    expect(performance.now() - began).toBeLessThan(20_000);
    expect((await read()).never_called).toEqual([]);
  });

  it('of 10,000 operations are compared with 10,000 endpoints', async () => {
    const paths = Array.from({ length: 10_000 }, (_, n) => `/p${n}/{id}`);
    const bases = Array.from({ length: 10 }, (_, n) => `/b${n}`);
    await importDocument(document(Object.fromEntries(paths.map((path) => [path, { get: {} }])), bases));
    await service.api.store.command(`
      INSERT INTO endpoints_v1 (app_id, id, method, path, created_at)
      SELECT ${tenant.appId}, 1000000 + number, 'GET', concat('/b', toString(number % 10), '/p', toString(number), '/{x}'), now()
      FROM numbers(10001)`);
    const { data, never_called } = await read();
    expect(data).toHaveLength(10_001);
    expect(data.filter(({ documented }) => documented === true)).toHaveLength(10_000);
    expect(never_called).toHaveLength(10_000);
  });
});

describe('the inventory', () => {
  const segment = fc.constantFrom('users', 'orders', null, null);
  const route = fc.record({
    method: fc.constantFrom('GET', 'POST'),
    segments: fc.array(segment, { minLength: 1, maxLength: 3 }),
  });
  const base = fc.constantFrom([], ['v1'], ['api', 'v2']);
  const questions = fc.record({
    documented: fc.array(fc.record({ route, deprecated: fc.boolean() }), { maxLength: 6 }),
    bases: fc.uniqueArray(base, { maxLength: 2, selector: (prefix) => prefix.join('/') }),
    called: fc.array(
      fc.record({ base, route, daysAgo: fc.nat(60), consumer: fc.constantFrom('a', 'b', 'c', null) }),
      { maxLength: 12 },
    ),
    parameter: fc.constantFrom('id', 'user_id', 'x'),
  });

  it(`is that of a naive comparison of segments, ${RUNS} times`, async () => {
    await fc.assert(
      fc.asyncProperty(questions, async ({ documented, bases, called, parameter }) => {
        tenant = (await service.tenant()).tenant;
        const write = (segments: readonly (string | null)[], parameter_: string) =>
          `/${segments.map((part, n) => part ?? `{${parameter_}${n}}`).join('/')}`;
        const paths: Record<string, Record<string, { deprecated: boolean }>> = {};
        for (const {
          route: { method, segments },
          deprecated,
        } of documented) {
          const path = write(segments, 'p');
          paths[path] = { ...paths[path], [method.toLowerCase()]: { deprecated } };
        }
        await importDocument(
          document(
            paths,
            bases.map((prefix) => `/${prefix.join('/')}`),
          ),
        );
        const now = Date.now();
        await tenant.write(
          ...called.map(({ base: prefix, route: { method, segments }, daysAgo, consumer }) => ({
            method,
            path: write([...prefix, ...segments], parameter),
            timestamp: now - daysAgo * DAY - 60_000,
            consumer: consumer === null ? null : { identifier: consumer },
          })),
        );

        // Segments are compared one by one; an array has the base and the rest.
        const isSame = (a: readonly (string | null)[], b: readonly (string | null)[]) =>
          a.length === b.length && a.every((part, n) => part === b[n]);
        const all = called.map((call) => ({ ...call, segments: [...call.base, ...call.route.segments] }));
        const isMet = (prefix: readonly (string | null)[]) =>
          prefix.length === 0 || all.some(({ segments }) => isSame(segments.slice(0, prefix.length), prefix));
        const given = bases.length === 0 ? [[]] : bases;
        const met = given.filter(isMet);
        const used = met.length > 0 ? met : all.length > 0 ? [[]] : given.slice(0, 1);
        const operations = Object.entries(paths).flatMap(([path, item]) =>
          Object.entries(item).map(([method, { deprecated }]) => ({
            method: method.toUpperCase(),
            deprecated,
            patterns: used.map((prefix) => [
              ...prefix,
              ...path
                .slice(1)
                .split('/')
                .map((part) => (part.startsWith('{') ? null : part)),
            ]),
          })),
        ) as { method: string; deprecated: boolean; patterns: (string | null)[][] }[];
        const isOf = (operation: (typeof operations)[number], call: (typeof all)[number]) =>
          operation.method === call.route.method &&
          operation.patterns.some((pattern) => isSame(pattern, call.segments));

        const { data, never_called } = await read();
        const expected = new Map<string, object>();
        const recent = Math.floor((now - 30 * DAY) / 3_600_000) * 3_600_000;
        for (const call of all) {
          const key = `${call.route.method} ${write(call.segments, parameter)}`;
          const same = all.filter(
            (other) => other.route.method === call.route.method && isSame(other.segments, call.segments),
          );
          const counted = same.filter(({ daysAgo }) => now - daysAgo * DAY - 60_000 >= recent);
          const operation = operations.find((candidate) => isOf(candidate, call));
          expected.set(key, {
            documented: operations.length === 0 ? null : operation !== undefined,
            deprecated: operation?.deprecated ?? false,
            requests_30d: counted.length,
            consumers_30d: new Set(counted.flatMap(({ consumer }) => consumer ?? [])).size,
            last_request_at: new Date(
              Math.max(...same.map(({ daysAgo }) => now - daysAgo * DAY - 60_000)),
            ).toISOString(),
          });
        }
        expect(new Map(data.map((endpoint) => [name(endpoint), endpoint]))).toEqual(
          new Map([...expected].map(([key, endpoint]) => [key, expect.objectContaining(endpoint)])),
        );
        const uncalled = operations.filter((operation) => !all.some((call) => isOf(operation, call)));
        expect(
          never_called.map(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, '*')}`).sort(),
        ).toEqual(
          uncalled
            .map(
              ({ method, patterns: [first] }) => `${method} /${first!.map((part) => part ?? '*').join('/')}`,
            )
            .sort(),
        );
      }),
      { numRuns: RUNS },
    );
  }, 120_000);
});
