import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { METRICS } from '../../src/api/app-metrics/metric-names.js';
import { TestApp, WITHOUT_CACHE } from '../setup/app.js';
import { ProductProcess } from '../setup/product-process.js';
import { Tenant } from '../setup/tenant.js';

const MINUTE_MS = 60_000;

/** The built command, against a service. */
describe('request-analytics check', () => {
  let app: TestApp;
  let tenant: Tenant;

  beforeAll(async () => {
    app = await TestApp.start(WITHOUT_CACHE);
    tenant = await Tenant.create(app);
    const timestamp = Date.now() - 5 * MINUTE_MS;
    await tenant.write(
      ...Array.from({ length: 40 }, (_, index) => ({
        timestamp,
        env: index < 30 ? 'prod' : 'staging',
        method: index % 2 === 0 ? 'GET' : 'POST',
        path: ['/v1/items/{id}', '/v1/100%', '/other'][index % 3]!,
        status_code: index < 4 ? 500 : 200,
        consumer: { identifier: index % 4 === 0 ? 'acme' : 'other' },
        response_time_ms: 10 * index,
      })),
      { timestamp: timestamp - 60 * MINUTE_MS, env: 'old' },
    );
  });
  afterAll(() => app.stop());

  const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    ProductProcess.run(['check', ...args], { API_URL: `${app.url}/`, API_KEY: tenant.key, ...env });

  const check = async (condition: string, ...args: readonly string[]) => {
    const { code, out, err } = await run(['--app', String(tenant.appId), condition, ...args]);
    expect(err).toEqual([]);
    expect(out).toHaveLength(1);
    return { code, ...(JSON.parse(out[0]!) as { holds: boolean; value: number; requests: number }) };
  };

  it('says whether the value of Query Metrics meets the condition, by its exit code and one line', async () => {
    const found = await check('error_rate < 0.2 over 1h');
    expect(found).toMatchObject({
      code: 0,
      holds: true,
      condition: 'error_rate < 0.2 over 1h',
      requests: 40,
    });
    const { since, until } = found as unknown as { since: string; until: string };
    expect(Date.parse(until) - Date.parse(since)).toBe(60 * MINUTE_MS);
    const [row] = await tenant.metrics({ since, until, metrics: ['error_rate', 'response_time_p95'] });
    expect(found.value).toBe(row!.error_rate);
    expect(found.value).toBe(0.1);
    expect(await check('error_rate<0.05 over 1h')).toMatchObject({ code: 1, holds: false, value: 0.1 });
    expect(await check('requests >= 41 over 1d')).toMatchObject({ code: 0, value: 41 });
    expect(await check('requests > 41 over 1d')).toMatchObject({ code: 1, value: 41 });
    expect(await check('response_time_p95 <= 1e3 over 1h')).toMatchObject({
      code: 0,
      value: row!.response_time_p95,
    });
    expect(await check('requests < 1 over 1h', '--env', 'old')).toMatchObject({ code: 0, value: 0 });
  });

  it.each([
    [['--env', 'staging'], 10],
    [['--env', 'prod', '--status', '5xx'], 4],
    [['--status', '200'], 36],
    [['--method', 'post'], 20],
    [['--path', '/v1/*'], 27],
    [['--path', '/v1/100%'], 13],
    [['--consumer', 'acme'], 10],
  ])('takes the filters of alerts: %j', async (filters, requests) => {
    expect(await check('requests > 0 over 1h', ...filters)).toMatchObject({ code: 0, requests });
  });

  it('knows each metric that is a number', async () => {
    const { code, err } = await run(['--app', String(tenant.appId), 'response_time_histogram > 1 over 1h']);
    expect(code).toBe(2);
    for (const metric of METRICS)
      if (metric !== 'response_time_histogram') expect(err.join()).toContain(`"${metric}"`);
  });

  it('ends with 2 where it cannot be told, and never shows the key', async () => {
    const refused = async (
      args: readonly string[],
      reason: RegExp,
      env: NodeJS.ProcessEnv = {},
      code = 2,
    ) => {
      const ended = await run(args, env);
      expect([ended.code, ended.err.join('\n'), ended.out]).toEqual([
        code,
        expect.stringMatching(reason),
        [],
      ]);
      expect(ended.err.join()).not.toContain(tenant.key);
    };
    const of = ['--app', String(tenant.appId)];
    const holds = 'error_rate < 0.2 over 1h';
    await refused([...of, 'error_rate < 0.2'], /must have the form/);
    await refused([...of, 'error_rate == 0.2 over 1h'], /must have the form/);
    await refused([...of, 'error_rate < 1.2.3 over 1h'], /value: /);
    await refused([...of, 'error_rate < 0.2 over 10s'], /window: must be a time such as/);
    await refused([...of, 'error_rate < 0.2 over 8d'], /window: must be 7d at most/);
    await refused([...of, 'speed < 0.2 over 1h'], /metric: /);
    await refused([...of, 'silence < 1 over 1h'], /silence is not a metric of Query Metrics/);
    await refused([...of, holds, '--status', '9xx'], /status: must be a status/);
    await refused([...of, holds, '--last-week'], /unknown option/);
    await refused([holds], /required option '--app/);
    await refused(of, /missing required argument/);
    await refused([...of, holds, '--min-requests', '41'], /has 40 requests, fewer than --min-requests/);
    await refused([...of, holds, '--env', 'old'], /has 0 requests, and no error_rate/);
    await refused([...of, holds, '--consumer', 'nobody'], /no consumer nobody/);
    await refused(['--app', '999999', holds], /answered 404: App not found/);
    await refused([...of, holds], /answered 401/, { API_KEY: 'abcdefg.0123456789abcdefghijklmnopqrstuv' });
    await refused([...of, holds], /API_KEY/, { API_KEY: '' }, 78);
    const proxy = createServer((_, response) => response.end('<html>')).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const API_URL = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    await refused([...of, holds], /not one of this service/, { API_URL });
    proxy.close();
    await refused([...of, holds], /cannot be reached \(ECONNREFUSED\)/, { API_URL });
  });
});
