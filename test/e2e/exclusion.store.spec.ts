import { createAdmin } from '../../src/ops/admin/admin.js';
import { RequestsWriter } from '../../src/write/requests.writer.js';
import { buildRequest } from '../factories/request.factory.js';
import { TestApp, WITHOUT_CACHE } from '../setup/app.js';
import { eventually } from '../setup/eventually.js';
import { type LogBody, type Query, Tenant } from '../setup/tenant.js';

const HOUR = 3_600_000;
const iso = (epochMs: number) => new Date(epochMs).toISOString();

/** Each way to ask for traffic is read from another of the store's tables. */
const TRAFFIC: [string, Query][] = [
  ['UTC days', { interval: 'day' }],
  ['UTC hours', { interval: 'hour' }],
  ['hours that begin between those of UTC', { interval: 'hour', timezone: 'Asia/Kathmandu' }],
  ['one consumer', { interval: 'day', consumer_id: 'anna' }],
];

describe('an excluded endpoint', () => {
  let app: TestApp;
  let tenant: Tenant;
  const at = Date.now() - 30 * HOUR;
  const window = { start: iso(at - HOUR), end: iso(at + HOUR) };
  const consumer = { identifier: 'anna' };

  beforeAll(async () => {
    app = await TestApp.start(WITHOUT_CACHE);
  });

  beforeEach(async () => {
    tenant = await Tenant.create(app);
    await tenant.write(
      { timestamp: at, consumer, method: 'GET', path: '/secret', url: 'secret', response_size_bytes: 1 },
      {
        timestamp: at,
        consumer,
        method: 'POST',
        path: '/secret',
        url: 'other method',
        response_size_bytes: 20,
      },
      {
        timestamp: at,
        consumer,
        method: 'GET',
        path: '/secret/{id}',
        url: 'other path',
        response_size_bytes: 300,
      },
      { timestamp: at, consumer, method: 'GET', path: null, url: 'no path', response_size_bytes: 4000 },
    );
  });

  afterAll(() => app.stop());

  const OTHERS = ['no path', 'other method', 'other path'];
  const ALL = [...OTHERS, 'secret'];
  const shown = async (query: Query = window) => (await tenant.logs(query)).data.map(({ url }) => url).sort();
  const sent = async (query: Query) => {
    const consumer_id = query.consumer_id && (await tenant.consumerId(String(query.consumer_id)));
    const { data } = await tenant.traffic({ ...window, ...query, ...(consumer_id && { consumer_id }) });
    return data.reduce((sum, { bytes_sent }) => sum + bytes_sent, 0);
  };

  it('is left out of the request logs, and comes back', async () => {
    expect(await shown()).toEqual(ALL);
    await tenant.exclude('GET', '/secret');
    expect(await shown()).toEqual(OTHERS);
    expect(await shown({ ...window, path: '/secret' })).toEqual(['other method']);
    await tenant.exclude('GET', '/secret', false);
    expect(await shown()).toEqual(ALL);
  });

  it('has no request details, and has them again', async () => {
    const { data } = await tenant.logs(window);
    const responses = async () =>
      Object.fromEntries(
        await Promise.all(
          data.map(async ({ url, request_uuid }) => {
            const { status, text } = await tenant.get(`request-logs/${request_uuid}`);
            return [url, status === 404 ? text : status] as const;
          }),
        ),
      );
    const all = { 'no path': 200, 'other method': 200, 'other path': 200, secret: 200 };
    expect(await responses()).toEqual(all);
    await tenant.exclude('GET', '/secret');
    expect(await responses()).toEqual({ ...all, secret: '{"detail":"Request log not found"}' });
    await tenant.exclude('GET', '/secret', false);
    expect(await responses()).toEqual(all);
  });

  it.each(TRAFFIC)('is left out of the traffic in %s, and comes back', async (_, query) => {
    expect(await sent(query)).toBe(4321);
    await tenant.exclude('GET', '/secret');
    expect(await sent(query)).toBe(4320);
    await tenant.exclude('POST', '/secret');
    expect(await sent(query)).toBe(4300);
    await tenant.exclude('GET', '/secret', false);
    expect(await sent(query)).toBe(4301);
  });

  it('leaves no empty periods behind in the traffic', async () => {
    await tenant.write({ timestamp: at - 5 * HOUR, path: '/secret' });
    const query = { start: iso(at - 6 * HOUR), end: iso(at - 4 * HOUR) };
    expect((await tenant.traffic(query)).data).toHaveLength(1);
    await tenant.exclude('GET', '/secret');
    expect((await tenant.traffic(query)).data).toEqual([]);
  });

  it('is left out of what arrives later, too', async () => {
    await tenant.exclude('GET', '/secret');
    await tenant.write({
      timestamp: at,
      consumer,
      path: '/secret',
      url: 'later',
      response_size_bytes: 50_000,
    });
    expect(await shown()).toEqual(OTHERS);
    for (const [, query] of TRAFFIC) expect(await sent(query)).toBe(4320);
    await tenant.exclude('GET', '/secret', false);
    expect(await shown()).toEqual([...ALL, 'later'].sort());
    for (const [, query] of TRAFFIC) expect(await sent(query)).toBe(54_321);
  });

  it('is left out of the pages that are still to come', async () => {
    await tenant.write(...Array.from({ length: 6 }, (_, n) => ({ timestamp: at - n - 1, path: '/secret' })));
    await tenant.write({ timestamp: at - 10, path: '/last', url: 'last' });
    const records = await tenant.readAllPages<LogBody>('request-logs', window, async (page) => {
      if (page === 2) await tenant.exclude('GET', '/secret');
      return 3;
    });
    const shown = records.filter(({ method, path }) => method === 'GET' && path === '/secret');
    expect(shown).toHaveLength(3);
    expect(records.at(-1)?.url).toBe('last');
  });

  it('is excluded in its own app alone', async () => {
    const sibling = await tenant.sibling();
    await sibling.write({ timestamp: at, path: '/secret', url: 'of the sibling' });
    await tenant.exclude('GET', '/secret');
    expect((await sibling.logs(window)).data.map(({ url }) => url)).toEqual(['of the sibling']);
  });

  it('stays in List Endpoints under its ID, and leaves consumers as they were', async () => {
    const look = async () => [(await tenant.get('endpoints')).text, (await tenant.get('consumers')).text];
    const before = await look();
    await tenant.exclude('GET', '/secret');
    expect(await look()).toEqual(before);
    expect(before[0]).toContain('"method":"GET","path":"/secret"}');
  });
});

describe('a pattern of excluded endpoints', () => {
  let app: TestApp;
  let tenant: Tenant;

  beforeAll(async () => {
    app = await TestApp.start(WITHOUT_CACHE);
  });

  beforeEach(async () => {
    tenant = await Tenant.create(app);
    await tenant.write(
      ...['/static/a_b', '/static/a/b', '/Static/a', '/static', '/users'].map((path) => ({
        path,
        url: path,
      })),
      { method: 'POST', path: '/static/a_b', url: 'POST /static/a_b' },
    );
  });

  afterAll(() => app.stop());

  const exclude = (method: string, path: string, excluded = true) =>
    app.admin.endpoints.setPatternExcluded(tenant.appId, method, path, excluded);
  const shown = async (of = tenant) => (await of.logs()).data.map(({ url }) => url).sort();
  const counted = async () => (await tenant.traffic()).data.reduce((sum, { requests }) => sum + requests, 0);
  const metered = async () =>
    (await tenant.metrics({ since: iso(Date.now() - HOUR), metrics: ['requests'] })).reduce(
      (sum, { requests }) => sum + Number(requests),
      0,
    );
  const ALL = ['/Static/a', '/static', '/static/a/b', '/static/a_b', '/users', 'POST /static/a_b'];

  it('leaves out those that are there in each reading, and takes them back', async () => {
    expect([await shown(), await counted(), await metered()]).toEqual([ALL, 6, 6]);
    expect(await exclude('get', '/static/*')).toEqual({
      method: 'GET',
      path: '/static/*',
      endpoints: 2,
      excluded: true,
    });
    expect([await shown(), await counted(), await metered()]).toEqual([
      ['/Static/a', '/static', '/users', 'POST /static/a_b'],
      4,
      4,
    ]);
    expect(await exclude('GET', '/static/*', false)).toMatchObject({ endpoints: 2, excluded: false });
    expect([await shown(), await counted(), await metered()]).toEqual([ALL, 6, 6]);
  });

  it.each([
    ['*', '/static/*', ['/Static/a', '/static', '/users']],
    ['P*', '*', ALL.slice(0, -1)],
    ['GET', '*_b', ['/Static/a', '/static', '/static/a/b', '/users', 'POST /static/a_b']],
    ['GET', '/st%*', ALL],
    ['GET', String.raw`\\*`, ALL],
  ])('matches the whole of method and path: %s %s', async (method, path, expected) => {
    await exclude(method, path);
    expect(await shown()).toEqual(expected);
  });

  it('leaves out those that come later, also by another writer, and nothing of another app', async () => {
    const sibling = await tenant.sibling();
    await exclude('GET', '/later/*');
    await RequestsWriter.create(app.store).write(tenant.appId, [
      buildRequest({ path: '/later/x', timestamp: Date.now() - 1_000 }),
    ]);
    await sibling.write({ path: '/later/x', url: 'of the sibling' });
    expect(await shown()).toEqual(ALL);
    expect(await shown(sibling)).toEqual(['of the sibling']);
    await exclude('GET', '/later/*', false);
    expect(await shown()).toHaveLength(ALL.length + 1);
  });

  it('is listed, and an endpoint that it excludes is taken back with it alone', async () => {
    await exclude('GET', '/static/*');
    await tenant.exclude('GET', '/users');
    const { excluded_patterns, endpoints } = await app.admin.endpoints.list(tenant.appId);
    expect(excluded_patterns).toEqual([{ method: 'GET', path: '/static/*' }]);
    const excluded = endpoints.filter((endpoint) => endpoint.excluded);
    expect(excluded.map(({ path }) => path)).toEqual(['/static/a/b', '/static/a_b', '/users']);
    await expect(tenant.exclude('GET', '/static/a/b', false)).rejects.toThrow(
      "GET /static/a/b is excluded by a pattern: include --method 'GET' --path '/static/*'",
    );
    await expect(exclude('GET', '/static*', false)).rejects.toThrow('has no excluded pattern GET /static*');
  });

  it('has a limited length, and an app a limited number of them', async () => {
    await expect(exclude('GET', `/${'x'.repeat(256)}*`)).rejects.toThrow('at most 256 characters');
    for (let n = 0; n < 50; n++) await exclude('GET', `/${n}/*`);
    await expect(exclude('GET', '/more/*')).rejects.toThrow('has 50 excluded patterns');
    await exclude('GET', '/7/*');
    await exclude('GET', '/7/*', false);
    await exclude('GET', '/more/*');
  });
});

describe('with the cache that servers use', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await TestApp.start({ CACHE_TTL_MS: '100' });
  });

  afterAll(() => app.stop());

  it('takes effect within the 10 seconds of the contract, and is removed within them', async () => {
    const tenant = await Tenant.create(app);
    await tenant.write({ path: '/secret' });
    const count = async () => (await tenant.logs()).data.length;
    expect(await count()).toBe(1);
    await tenant.exclude('GET', '/secret');
    await eventually(async () => (await count()) === 0);
    await tenant.exclude('GET', '/secret', false);
    await eventually(async () => (await count()) === 1);
  });

  it('so does an expected error', async () => {
    const tenant = await Tenant.create(app);
    const [log] = await tenant.write({ path: '/gone', status_code: 404 });
    const since = new Date(log!.timestamp).toISOString();
    const admin = createAdmin(app.store);
    const count = async () => (await tenant.metrics({ since, metrics: ['client_errors'] }))[0]!.client_errors;
    expect(await count()).toBe(1);
    for (const isExpected of [true, false]) {
      await admin.endpoints.setExpectedError(tenant.appId, 'GET', '/gone', 404, isExpected);
      await eventually(async () => (await count()) === (isExpected ? 0 : 1));
    }
  });
});
