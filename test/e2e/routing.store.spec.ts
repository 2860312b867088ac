import { readdirSync } from 'node:fs';
import { METHODS } from 'node:http';
import { TestApp } from '../setup/app.js';
import { REQUIRED_HEADERS, AUTHENTICATED_HEADERS, detail, seen } from '../setup/contract.js';
import { allOperations, fill, operations } from '../setup/document.js';
import {
  type RawRequest,
  closeConnections,
  exchangeBytes,
  exchangeOne,
  formatRequest,
  sendRaw,
} from '../setup/raw-http.js';
import { Tenant } from '../setup/tenant.js';

/** The files of Swagger's package that the page needs, and the licences of two of them. */
const PAGE = new Set([
  'favicon-16x16.png',
  'favicon-32x32.png',
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-bundle.js.LICENSE.txt',
  'swagger-ui-standalone-preset.js',
  'swagger-ui-standalone-preset.js.LICENSE.txt',
]);

let app: TestApp;
let tenant: Tenant;
let uuid: string;

beforeAll(async () => {
  app = await TestApp.start();
  tenant = await Tenant.create(app);
  const [log] = await tenant.write({});
  uuid = log!.request_uuid;
});

afterAll(async () => {
  closeConnections();
  await app.stop();
});

const call = (target: string, request: RawRequest = {}) =>
  exchangeOne(app.url, formatRequest(target, request), request.method);
const withKey = (target: string, request: RawRequest = {}) =>
  call(target, { ...request, headers: { 'Api-Key': tenant.key, ...request.headers } });

describe('HEAD', () => {
  const NOT_COMPARED = {
    date: '',
    'x-request-id': '',
    'x-ratelimit-remaining': '',
    'x-ratelimit-reset': '',
    ratelimit: '',
    'keep-alive': '',
  };

  it.each(operations)('of $id has the headers of GET, and no body', async ({ path }) => {
    const existing = fill(path, { app_id: tenant.appId, request_uuid: uuid });
    const missing = fill(path, { app_id: 999_999, request_uuid: uuid });
    const faulty = fill(path, { app_id: 0, request_uuid: 'x' });
    for (const target of [existing, missing, faulty])
      for (const headers of [{}, { 'Api-Key': tenant.key }] as Record<string, string>[]) {
        const [get, head] = [
          await call(target, { headers }),
          await call(target, { method: 'HEAD', headers }),
        ];
        expect(head.status).toBe(get.status);
        expect({ ...head.headers, ...NOT_COMPARED }).toEqual({ ...get.headers, ...NOT_COMPARED });
        expect(head.headers['content-length']).toBe(String(Buffer.byteLength(get.text, 'latin1')));
        expect(await exchangeBytes(app.url, formatRequest(target, { method: 'HEAD', headers }))).toMatch(
          /\r\n\r\n$/,
        );
      }
  });
});

describe('404 and 405', () => {
  const OTHERS = METHODS.filter((method) => !['GET', 'HEAD', 'CONNECT'].includes(method));
  const notAllowed = { status: 405, text: detail('Method Not Allowed') };
  const allow = { allow: 'GET, HEAD' };

  it('405: every other method on every operation, known or not to the app', async () => {
    for (const { path } of operations) {
      const hasPost = allOperations.some((other) => other.path === path && other.method === 'post');
      const allowed = hasPost ? { allow: 'GET, HEAD, POST' } : allow;
      for (const method of OTHERS.filter((other) => !hasPost || other !== 'POST')) {
        const target = fill(path, { app_id: 'x', request_uuid: 'x' });
        const response = seen(await sendRaw(app.url, target, { method, headers: { 'Api-Key': tenant.key } }));
        expect([target, method, response]).toEqual([
          target,
          method,
          { ...notAllowed, headers: { ...AUTHENTICATED_HEADERS, ...allowed } },
        ]);
      }
    }
  });

  it.each(['/', '/health/live', '/health/ready', '/openapi.json', '/docs'])(
    '405: another method on %s',
    async (path) => {
      for (const method of OTHERS)
        expect(seen(await sendRaw(app.url, path, { method }))).toEqual({
          ...notAllowed,
          headers: { ...REQUIRED_HEADERS, ...allow },
        });
    },
  );

  it.each([
    '/v1',
    '/v1/',
    '/v1/nothing',
    '/v1/Team',
    '/v1/team/',
    '/v1//team',
    '/v1/./team',
    '/v1/x/../team',
    '/v1/%74eam',
    '/v1/team%2F',
    '/v1/%',
    '/v1/%ff',
    '/v1/%00',
    '/v1/apps//traffic',
    '/v1/apps/1',
    '/v1/apps/1/Traffic',
    '/v1/apps/1/traffic/',
    '/v1/apps/1/request-logs/',
    `/v1/apps/1/request-logs/${'0'.repeat(32)}/x`,
    '/v1/__proto__',
    '/v1/constructor',
    '/v1/teams',
    'http://test/v1/nothing',
  ])('404 with a key: %s', async (target) => {
    for (const method of ['GET', 'POST', 'OPTIONS', 'TRACE']) {
      const found = await withKey(target, { method });
      expect(seen(found)).toEqual({ status: 404, text: detail('Not Found'), headers: AUTHENTICATED_HEADERS });
      expect(await call(target, { method })).toMatchObject({
        status: 401,
        text: detail('Not authenticated'),
      });
    }
  });

  it.each([
    '//',
    '//v1/team',
    '/V1/team',
    '/v1team',
    '/v1%2Fteam',
    '/%76%31/team',
    '/v2/team',
    '/%',
    '/%ff',
    '/%00',
    '/nothing',
    '/__proto__',
    '/health',
    '/health/live/',
    '/Health/live',
    '/docs/nothing',
    '/docs//',
    '/docs/./',
    '/docs/index.html',
    '/docs/index%2ehtml',
    '/docs/docs/swagger-ui-init.js',
    ...readdirSync('node_modules/swagger-ui-dist')
      .filter((file) => !PAGE.has(file))
      .map((file) => `/docs/${file}`),
    '/docs/%70ackage.json',
    '/docs/..%2f..%2fpackage.json',
    '/docs/%2e%2e/%2e%2e/package.json',
    '/docs/%',
    '/docs-json',
    '/openapi.json/',
    '/openapi.yaml',
    '/favicon.ico',
    'http://test//',
  ])('404: %s, key or none', async (target) => {
    for (const method of ['GET', 'DELETE', 'OPTIONS'])
      for (const asked of [call, withKey])
        expect(seen(await asked(target, { method }))).toEqual({
          status: 404,
          text: detail('Not Found'),
          headers: REQUIRED_HEADERS,
        });
  });
});

describe('GET /', () => {
  it.each(['/', '/?x=/v1/team', 'http://test', 'http://test/', 'http://test?x=/v1/team'])(
    'is the dashboard when %s is requested, with a key or without',
    async (target) => {
      for (const asked of [call, withKey])
        for (const method of ['GET', 'HEAD']) {
          const { status, headers } = await asked(target, { method });
          expect([method, status, headers['content-type'], headers['x-ratelimit-limit']]).toEqual([
            method,
            200,
            'text/html; charset=utf-8',
            undefined,
          ]);
          expect(headers).toMatchObject({
            'x-content-type-options': 'nosniff',
            'x-request-id': REQUIRED_HEADERS['x-request-id'],
          });
        }
    },
  );
});

describe('the files of /docs', () => {
  it.each([...PAGE])('%s is served', async (file) => {
    const found = await call(`/docs/${file}`);
    expect([found.status, found.headers['x-content-type-options']]).toEqual([200, 'nosniff']);
  });
});
