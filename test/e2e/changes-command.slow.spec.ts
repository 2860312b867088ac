import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { TestApp } from '../setup/app.js';
import { ProductProcess } from '../setup/product-process.js';
import { Tenant } from '../setup/tenant.js';

const HOUR_MS = 3_600_000;

/** The built command, against a service. */
describe('request-analytics changes', () => {
  let app: TestApp;
  let tenant: Tenant;
  const start = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 6 * HOUR_MS;
  const iso = (hours: number) => new Date(start + hours * HOUR_MS).toISOString();

  beforeAll(async () => {
    app = await TestApp.start();
    tenant = await Tenant.create(app);
    const at = (hours: number, path: string) => ({ timestamp: start + hours * HOUR_MS, env: 'prod', path });
    await tenant.write(at(1, '/a'), at(2, '/a'), at(3, '/a'), at(3, '/b'), { ...at(3, '/b'), env: 'test' });
    await app.admin.releases.mark(tenant.appId, '2.0', { at: start + 2 * HOUR_MS });
  });
  afterAll(() => app.stop());

  const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    ProductProcess.run(['changes', '--app', String(tenant.appId), ...args], {
      API_URL: `${app.url}/`,
      API_KEY: tenant.key,
      ...env,
    });

  it('prints what Explain Change answers: for times, a release and an environment', async () => {
    const prod = { filters: [{ field: 'env', op: 'eq', value: 'prod' }] };
    for (const [args, body] of [
      [['--since', iso(2), '--until', iso(4)], { since: iso(2), until: iso(4) }],
      [
        ['--since-release', '2.0', '--until', iso(4), '--env', 'prod', '--limit', '1'],
        { since_release: '2.0', until: iso(4), limit: 1, ...prod },
      ],
      [
        ['--since', iso(3), '--until', iso(4), '--baseline-since', iso(1), '--baseline-until', iso(2)],
        { since: iso(3), until: iso(4), baseline_since: iso(1), baseline_until: iso(2) },
      ],
    ] as const) {
      const { code, out, err } = await run(args);
      expect([code, err]).toEqual([0, []]);
      const answer = await tenant.post('changes', { measure: 'requests', ...body });
      expect(JSON.parse(out.join(''))).toEqual(answer.body);
      expect(answer.body.total.now).toBeGreaterThan(0);
    }
  });

  it('says why it has no answer, and never shows the key', async () => {
    const refused = async (args: readonly string[], env: NodeJS.ProcessEnv, reason: RegExp, code = 1) => {
      const ended = await run(args, env);
      expect([ended.code, ended.err.join('\n'), ended.out]).toEqual([
        code,
        expect.stringMatching(reason),
        [],
      ]);
      expect(ended.err.join()).not.toContain(tenant.key);
    };
    await refused(['--since-release', '3.0'], {}, /answered 422: since_release: .*no such release/);
    await refused(['--since', iso(1), '--since-release', '2.0'], {}, /cannot be used with/);
    await refused(['--measure', 'speed'], {}, /Allowed choices/);
    await refused([], { API_KEY: 'abcdefg.0123456789abcdefghijklmnopqrstuv' }, /answered 401/);
    await refused([], { API_KEY: '' }, /API_KEY/, 78);
    const proxy = createServer((_, response) => response.writeHead(502).end('<html>')).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const { port } = proxy.address() as AddressInfo;
    await refused([], { API_URL: `http://127.0.0.1:${port}` }, /answered 502: no answer of this service/);
    proxy.close();
    await refused([], { API_URL: `http://127.0.0.1:${port}` }, /cannot be reached \(ECONNREFUSED\)/);
  });
});
