import { TestApp } from '../setup/app.js';
import { allOperations, fill } from '../setup/document.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';
import { Tenant } from '../setup/tenant.js';

/** A parameter that has no effect stays without effect, but is named. */
describe('X-Ignored-Parameters', () => {
  let app: TestApp;
  let tenant: Tenant;
  let values: Record<string, string | number>;

  beforeAll(async () => {
    app = await TestApp.start();
    tenant = await Tenant.create(app);
    const [log] = await tenant.write({});
    values = { app_id: tenant.appId, request_uuid: log!.request_uuid };
  });

  afterAll(async () => {
    closeConnections();
    await app.stop();
  });

  async function send(method: string, target: string, body?: object) {
    const response = await fetch(app.url + target, {
      method: method.toUpperCase(),
      headers: { 'Api-Key': tenant.key },
      ...(body && { body: JSON.stringify(body) }),
    });
    const ignored = response.headers.get('x-ignored-parameters');
    return { status: response.status, ignored, text: await response.text() };
  }

  const BODIES: Record<string, object> = {
    exportRequestLogs: { since: '2020-01-01' },
    queryMetrics: { since: '2020-01-01', metrics: ['requests'] },
    queryTraces: { since: '2020-01-01' },
    queryErrors: { since: '2020-01-01', until: '2020-02-01' },
    explainChange: { measure: 'requests', since: '2020-01-01', until: '2020-02-01' },
  };

  it.each(allOperations)(
    'is in responses of $id, and nothing else is changed',
    async ({ id, method, path }) => {
      const target = fill(path, values);
      const body = BODIES[id];
      const without = await send(method, target, body);
      const named = await send(method, `${target}?nothing_of_this=1`, body && { ...body, envv: 'x' });
      const member = body ? ', envv' : '';
      expect([named.status, named.ignored]).toEqual([
        200,
        expect.stringMatching(`^nothing_of_this${member}`),
      ]);
      expect([without.status, without.ignored, without.text]).toEqual([200, null, named.text]);
    },
  );

  it('is in errors as well', async () => {
    const of = (appId: number) => `/v1/apps/${appId}/traffic`;
    expect(await send('get', `${of(999_999)}?since=2026-01-01`)).toMatchObject({
      status: 404,
      ignored: 'since (did you mean start?)',
    });
    expect(await send('get', `${of(tenant.appId)}?env=prod&limit=x`)).toMatchObject({
      status: 422,
      ignored: 'env (did you mean app_env_id?)',
    });
  });

  it.each(['%0d%0aX-Injected:%201', '%F0%9F%98%80', '%00', '%ff', '__proto__', 'a'.repeat(6_000)])(
    'lets no name break out of it: %.20s',
    async (name) => {
      const headers = { 'Api-Key': tenant.key };
      const response = await sendRaw(app.url, `/v1/team?${name}=1`, { headers });
      expect([response.status, response.headers['x-injected']]).toEqual([200, undefined]);
      expect(String(response.headers['x-ignored-parameters'] ?? '')).toMatch(/^[ -~]{0,40}$/);
    },
  );

  it('is bounded for a body of thousands of members, with lone surrogates too', async () => {
    const members = Array.from({ length: 3_000 }, (_, index) => `"\\ud800${index}":1`).join(',');
    const response = await fetch(`${app.url}/v1/apps/${tenant.appId}/metrics`, {
      method: 'POST',
      headers: { 'Api-Key': tenant.key },
      body: `{"since":"2020-01-01","metrics":["requests"],${members}}`,
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-ignored-parameters')).toMatch(/^\?0, \?1, [^]*, 2990 more$/);
  });
});

describe('X-Hint', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  it.each<[string, (key: string) => Record<string, string>, string, string | null]>([
    ['no key', () => ({}), 'Not authenticated', null],
    ['a wrong key', () => ({ 'Api-Key': `Abc1234.${'x'.repeat(32)}` }), 'Invalid API key', null],
    [
      'a key as bearer',
      (key) => ({ Authorization: `Bearer ${key}` }),
      'Not authenticated',
      'Send the API key in the header Api-Key, not as Authorization: Bearer',
    ],
    [
      'a write token',
      () => ({ 'Api-Key': `apt_${'x'.repeat(24)}` }),
      'Invalid API key',
      'This is a write token, with which applications send data: reading needs an API key',
    ],
  ])('of %s leaves the body of the contract as it is', async (_, headers, detail, hint) => {
    const { key } = await app.team();
    const response = await fetch(`${app.url}/v1/team`, { headers: headers(key) });
    expect([response.status, await response.text(), response.headers.get('x-hint')]).toEqual([
      401,
      JSON.stringify({ detail }),
      hint,
    ]);
    expect(response.headers.get('www-authenticate')).toBe('APIKey');
  });
});
