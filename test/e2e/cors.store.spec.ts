import { TestApp } from '../setup/app.js';
import { document } from '../setup/document.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';

const ORIGIN = 'https://dashboard.example.com';
const FOREIGN = 'https://dashboard.example.com.evil.example';
const PREFLIGHT = { 'Access-Control-Request-Method': 'GET', 'Access-Control-Request-Headers': 'api-key' };

async function withApp(origins: string, work: (app: TestApp, key: string) => Promise<void>) {
  const app = await TestApp.start({ CORS_ORIGINS: origins, RATE_LIMIT_PER_MINUTE: '5' });
  try {
    await work(app, (await app.team()).key);
  } finally {
    closeConnections();
    await app.stop();
  }
}

/** Names of the CORS headers of a response. */
const corsHeaders = (headers: object) =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));

describe('CORS', () => {
  it('is off by default', () =>
    withApp('', async (app, key) => {
      const headers = { 'Api-Key': key, Origin: ORIGIN };
      const response = await sendRaw(app.url, '/v1/team', { headers });
      expect([response.status, corsHeaders(response.headers), response.headers.vary]).toEqual([
        200,
        [],
        'Accept-Encoding',
      ]);
      const preflight = await sendRaw(app.url, '/v1/team', {
        method: 'OPTIONS',
        headers: { Origin: ORIGIN, ...PREFLIGHT },
      });
      expect([preflight.status, corsHeaders(preflight.headers)]).toEqual([401, []]);
    }));

  it('lets pages of the listed origins read responses and their headers, and no others', () =>
    withApp(`https://one.example, ${ORIGIN}`, async (app, key) => {
      const get = (origin: string, apiKey = key) =>
        sendRaw(app.url, '/v1/team', { headers: { 'Api-Key': apiKey, Origin: origin } });
      const allowed = await get(ORIGIN);
      expect(allowed.headers).toMatchObject({
        'access-control-allow-origin': ORIGIN,
        vary: expect.any(String),
      });
      expect(allowed.headers.vary).toContain('Origin');
      const exposed = String(allowed.headers['access-control-expose-headers']).split(',');
      expect(exposed).toEqual(expect.arrayContaining(['RateLimit', 'X-RateLimit-Remaining', 'Link', 'ETag']));
      expect(exposed.sort()).toEqual(Object.keys(document.components!.headers!).sort());
      // Errors too, or a page could not tell a wrong key from a broken network.
      const unauthorized = await get(ORIGIN, '');
      expect([unauthorized.status, unauthorized.headers['access-control-allow-origin']]).toEqual([
        401,
        ORIGIN,
      ]);
      for (const origin of [
        FOREIGN,
        'null',
        'http://dashboard.example.com',
        `${ORIGIN}:8443`,
        ORIGIN.toUpperCase(),
      ]) {
        const refused = await get(origin);
        expect([origin, corsHeaders(refused.headers)]).toEqual([origin, []]);
        expect(refused.headers.vary).toContain('Origin');
      }
    }));

  it('responds to preflights without a key and without counting them', () =>
    withApp(ORIGIN, async (app, key) => {
      const preflight = (origin: string, method = 'OPTIONS') =>
        sendRaw(app.url, '/v1/apps/1/metrics', {
          method,
          headers: { Origin: origin, 'Api-Key': key, ...PREFLIGHT },
        });
      for (let n = 0; n < 10; n += 1) {
        const response = await preflight(ORIGIN);
        expect([response.status, response.text]).toEqual([204, '']);
        expect(response.headers).toMatchObject({
          'access-control-allow-origin': ORIGIN,
          'access-control-allow-methods': 'GET,HEAD,POST',
          'access-control-allow-headers': expect.stringContaining('Api-Key'),
          'access-control-max-age': '600',
        });
        expect(response.headers).not.toHaveProperty('access-control-allow-credentials');
      }
      const first = await sendRaw(app.url, '/v1/team', { headers: { 'Api-Key': key } });
      expect(first.headers['x-ratelimit-remaining']).toBe('4');
      const refused = await preflight(FOREIGN);
      expect([refused.status, corsHeaders(refused.headers)]).toEqual([405, []]);
    }));

  it('leaves OPTIONS that is no preflight as it is', () =>
    withApp(ORIGIN, async (app) => {
      const response = await sendRaw(app.url, '/v1/team', { method: 'OPTIONS', headers: { Origin: ORIGIN } });
      expect(response.status).toBe(401);
    }));

  it('allows every origin with *', () =>
    withApp('*', async (app, key) => {
      const headers = { 'Api-Key': key, Origin: FOREIGN };
      const response = await sendRaw(app.url, '/v1/team', { headers });
      expect(response.headers['access-control-allow-origin']).toBe('*');
    }));
});
