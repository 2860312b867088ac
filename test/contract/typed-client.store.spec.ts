import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { TestApp } from '../setup/app.js';
import { compile } from '../setup/compile.js';
import { Tenant } from '../setup/tenant.js';
import { type Everything, readEverything } from './client/read-everything.js';

const HOUR_MS = 3_600_000;
const METHODS = ['GET', 'POST', 'PUT', 'DELETE'];
const GENERATOR = 'node_modules/openapi-typescript/bin/cli.js';
const READER = readFileSync('test/contract/client/read-everything.ts', 'utf8');

describe('a client whose types are generated from the document', () => {
  const CALL = `
    import createClient from 'openapi-fetch';
    import type { paths } from '../../../src/entry/dashboard/generated/schema.d.js';
    const client = createClient<paths>();
    const path = { app_id: 1 };
    `;
  const WRONG = {
    'a path that is not served': `await client.GET('/v1/teams');`,
    'a method that is not served': `await client.POST('/v1/team');`,
    'a path parameter left out': `await client.GET('/v1/apps/{app_id}/traffic', { params: {} });`,
    'an interval that is none': `await client.GET('/v1/apps/{app_id}/traffic', { params: { path, query: { interval: 'week' } } });`,
    'a text for a number': `await client.GET('/v1/apps/{app_id}/traffic', { params: { path, query: { limit: '1' } } });`,
    'an unknown parameter': `await client.GET('/v1/apps/{app_id}/traffic', { params: { path, query: { from: '' } } });`,
    'a null used as a text': `
      const { data } = await client.GET('/v1/apps/{app_id}/request-logs', { params: { path } });
      export const length = data?.data[0]?.path.length;`,
    'a token used without a check': `
      const { data } = await client.GET('/v1/apps/{app_id}/consumers', { params: { path } });
      export const token: string = data!.next_token;`,
  };
  let said: Record<string, string[]>;
  beforeAll(() => {
    const wrong = Object.entries(WRONG).map(([name, source]) => [name, CALL + source]);
    said = compile('test/contract/client', {
      walker: READER,
      ...(Object.fromEntries(wrong) as typeof WRONG),
    });
  });

  it('has the types that openapi-typescript makes of the document', () => {
    const files = [
      'test/contract/openapi.json',
      '--check',
      '--output',
      'src/entry/dashboard/generated/schema.d.ts',
    ];
    const { status, stderr } = spawnSync(process.execPath, [GENERATOR, ...files], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, expect.any(String)]);
  });

  it('compiles the walker', () => {
    expect(said.walker).toEqual([]);
  });

  it.each(Object.keys(WRONG))('does not compile %s', (name) => {
    expect(said[name]).toHaveLength(1);
  });
});

describe('the walker', () => {
  let app: TestApp;
  let tenant: Tenant;
  let read: Everything;

  beforeAll(async () => {
    app = await TestApp.start();
    tenant = await Tenant.create(app);
    const now = Date.now();
    const requests = Array.from({ length: 240 }, (_, n) => ({
      timestamp: now - 60_000 - Math.floor((n * 20 * HOUR_MS) / 240),
      method: METHODS[n % 4]!,
      path: `/things/${n % 6}`,
      status_code: [200, 404, 500][n % 3]!,
      consumer: n % 5 === 0 ? null : { identifier: `consumer-${n % 7}`, group: n % 2 ? 'Odd' : 'Even' },
    }));
    await tenant.write(...requests);
    await tenant.sibling();
    read = await readEverything(app.url, tenant.key, 7);
  });

  afterAll(async () => {
    await app.stop();
  });

  it('reads every page of everything, each record once', () => {
    const [shop, other] = read.apps as [Everything['apps'][number], Everything['apps'][number]];
    expect(read.team).toEqual({ id: tenant.teamId, name: 'Acme' });
    expect([shop.app.id, shop.app.envs.map(({ name }) => name)]).toEqual([tenant.appId, ['prod']]);
    expect(shop.endpoints).toHaveLength(12);
    expect(new Set(shop.consumers.map(({ identifier }) => identifier)).size).toBe(7);
    expect(shop.consumers).toHaveLength(7);
    expect(shop.requestLogs).toHaveLength(240);
    expect(new Set(shop.requestLogs.map(({ request_uuid }) => request_uuid)).size).toBe(240);
    expect(shop.traffic.reduce((sum, { requests }) => sum + requests, 0)).toBe(240);
    expect(shop.newest).toMatchObject({ ...shop.requestLogs[0], logs: [], spans: [], exception: null });
    expect(other).toMatchObject({
      endpoints: [],
      consumers: [],
      requestLogs: [],
      traffic: [],
      newest: undefined,
    });
    expect(read.requests).toBeGreaterThan(2 + 240 / 7);
  });

  it('distinguishes errors from responses', async () => {
    await expect(readEverything(app.url, 'no key', 7)).rejects.toThrow(
      'The service refused: "Invalid API key"',
    );
    await expect(readEverything(app.url, tenant.key, 0)).rejects.toThrow('greater_than_equal');
  });
});
