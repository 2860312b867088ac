import { TestApp } from '../setup/app.js';
import { REQUIRED_HEADERS, V1_HEADERS, AUTHENTICATED_HEADERS, detail, seen } from '../setup/contract.js';
import {
  type RawRequest,
  closeConnections,
  exchangeBytes,
  exchangeOne,
  formatRequest,
  parseResponses,
  sendRaw,
} from '../setup/raw-http.js';
import { Tenant } from '../setup/tenant.js';

const MEGABYTE = 2 ** 20;

let app: TestApp;
let tenant: Tenant;

beforeAll(async () => {
  app = await TestApp.start();
  tenant = await Tenant.create(app);
});

afterAll(async () => {
  closeConnections();
  await app.stop();
});

const response = (bytes: string) => exchangeOne(app.url, bytes);
const call = (target: string, request: RawRequest = {}, version?: string) =>
  exchangeOne(app.url, formatRequest(target, request, version), request.method);

describe('X-Request-Id', () => {
  const longest = `${'~'.repeat(127)}!`;
  const targets = [
    '/v1/team',
    '/v1/nothing',
    '/docs',
    '/docs/swagger-ui.css',
    '/docs/nothing',
    '/openapi.json',
    '/health/live',
    '/health/ready',
    '/',
    '/nothing',
    '/%',
    'http://test/v1/team',
  ];

  it.each(targets)('is on %s, kept or made', async (target) => {
    for (const method of ['GET', 'HEAD', 'POST']) {
      for (const kept of ['a', 'R-1/2;=', longest]) {
        const { headers } = await call(target, { method, headers: { 'X-Request-Id': kept } });
        expect(headers['x-request-id']).toBe(kept);
      }
      for (const refused of ['', 'a b', `${longest}a`, '\xe9', 'a\tb']) {
        const { headers } = await call(target, { method, headers: { 'X-Request-Id': refused } });
        expect([refused, headers['x-request-id']]).toEqual([refused, REQUIRED_HEADERS['x-request-id']]);
      }
    }
  });

  it('is on what the parser of HTTP refuses, kept where it could be read', async () => {
    const broken = 'GET /v1/team HTTP/1.1\r\nX-Request-Id: mine\r\nno header\r\n\r\n';
    expect(await response(broken)).toMatchObject({ status: 400, headers: { 'x-request-id': 'mine' } });
    const long = formatRequest('/', { headers: { 'X-Request-Id': 'mine', Long: 'x'.repeat(MEGABYTE) } });
    expect(await response(long)).toMatchObject({
      status: 431,
      headers: { 'x-request-id': expect.any(String) },
    });
  });

  it('is a new one when two were sent', async () => {
    const { headers } = await response('GET / HTTP/1.0\r\nX-Request-Id: a\r\nX-Request-Id: b\r\n\r\n');
    expect(headers['x-request-id']).toEqual(REQUIRED_HEADERS['x-request-id']);
  });
});

describe('what is still a request', () => {
  const team = () => ({
    status: 200,
    text: JSON.stringify({ id: tenant.teamId, name: 'Acme' }),
    headers: AUTHENTICATED_HEADERS,
  });

  it.each<[string, () => string]>([
    ['the absolute form', () => formatRequest('http://elsewhere:8080/v1/team?x=1', keyed())],
    ['a fragment', () => formatRequest('/v1/team#/nothing', keyed())],
    [
      'a query that no parser could read',
      () => formatRequest('/v1/team?%&=&&%ff=%ff&a[b=c&__proto__[x]=1', keyed()),
    ],
    ['HTTP/1.0', () => formatRequest('/v1/team', keyed(), '1.0')],
    ['HTTP/1.0 without a host', () => `GET /v1/team HTTP/1.0\r\nApi-Key: ${tenant.key}\r\n\r\n`],
    ['a host with a port', () => formatRequest('/v1/team', keyed({ Host: 'a.example:8080' }))],
    ['an address as host', () => formatRequest('/v1/team', keyed({ Host: '[::1]:3000' }))],
    ['an empty host', () => formatRequest('/v1/team', keyed({ Host: '' }))],
    ['a header in another case', () => formatRequest('/v1/team', { headers: { 'API-KEY': tenant.key } })],
    [
      'blanks around the key',
      () => formatRequest('/v1/team', { headers: { 'Api-Key': `  ${tenant.key}\t` } }),
    ],
    ['an unknown expectation', () => formatRequest('/v1/team', keyed({ Expect: 'a-miracle' }))],
    ['a wish to talk another protocol', () => formatRequest('/v1/team', keyed({ Upgrade: 'websocket' }))],
    ['a body', () => `${formatRequest('/v1/team', keyed({ 'Content-Length': '5' }))}{"a":`],
    [
      'a body in chunks',
      () => `${formatRequest('/v1/team', keyed({ 'Transfer-Encoding': 'chunked' }))}1\r\n{\r\n0\r\n\r\n`,
    ],
    ['a URL of 60 KB', () => formatRequest(`/v1/team?x=${'x'.repeat(60_000)}`, keyed())],
  ])('%s', async (_, bytes) => {
    expect(seen(await response(bytes()))).toEqual(team());
  });

  const keyed = (headers: Record<string, string> = {}) => ({
    headers: { 'Api-Key': tenant.key, ...headers },
  });

  it('a POST with an unread megabyte, and the next request on the same connection', async () => {
    for (let n = 0; n < 3; n += 1)
      expect(
        await sendRaw(app.url, '/v1/team', { method: 'POST', body: 'x'.repeat(MEGABYTE), ...keyed() }),
      ).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  });

  it('several at once on a connection, answered in order, also before what is none', async () => {
    const open = { Connection: 'keep-alive', 'Api-Key': tenant.key };
    const received = await exchangeBytes(
      app.url,
      formatRequest('/v1/apps', { headers: { ...open, 'X-Request-Id': 'first' } }) +
        formatRequest('/v1/team', { method: 'HEAD', headers: open }) +
        formatRequest('/v1/nothing', { headers: { Connection: 'keep-alive' } }) +
        formatRequest('/v1/team', { headers: open }) +
        'garbage\r\n\r\n',
    );
    const responses = parseResponses(received, ['GET', 'HEAD']);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 401, 200, 400]);
    expect(responses.map(({ headers }) => headers['x-request-id'] === 'first')).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});

describe('what is no request', () => {
  const bad = { status: 400, text: detail('Bad Request'), headers: REQUIRED_HEADERS };
  const tooLarge = {
    status: 431,
    text: detail('Request Header Fields Too Large'),
    headers: REQUIRED_HEADERS,
  };

  it.each<[string, string]>([
    ['a NUL in the path', formatRequest('/v1/te\0am')],
    ['a NUL in the query', formatRequest('/v1/team?x=\0')],
    ['raw UTF-8 in the path', formatRequest('/v1/apps/\xc3\xa9')],
    ['a blank in the path', formatRequest('/v1/te am')],
    ['a relative path', formatRequest('v1/team')],
    ['a query alone', formatRequest('?x')],
    ['an unknown method', formatRequest('/v1/team', { method: 'FETCH' })],
    ['a method in lower case', formatRequest('/v1/team', { method: 'get' })],
    ['another version', formatRequest('/v1/team', {}, '3.0')],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a control character in a header', formatRequest('/v1/team', { headers: { X: 'a\x01b' } })],
    ['a header without a name', 'GET /v1/team HTTP/1.1\r\nHost: x\r\n: x\r\n\r\n'],
    ['a folded header', 'GET /v1/team HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n'],
    [
      'two lengths',
      formatRequest('/', { method: 'POST', headers: { 'Content-Length': '1', 'content-length': '2' } }),
    ],
    ['a length below zero', formatRequest('/', { method: 'POST', headers: { 'Content-Length': '-1' } })],
  ])('400: %s', async (_, bytes) => {
    expect(seen(await response(bytes))).toEqual(bad);
  });

  it.each<[string, string]>([
    ['HTTP/1.1 without a host', ''],
    ['two hosts', 'Host: a.example\r\nHost: b.example\r\n'],
    ['the same host twice', 'Host: a.example\r\nhost: a.example\r\n'],
    ['a host with a path', 'Host: a.example/v1\r\n'],
    ['a host with a user', 'Host: user@a.example\r\n'],
    ['two hosts in one', 'Host: a.example, b.example\r\n'],
    ['a host with a port that is none', 'Host: a.example:http\r\n'],
  ])('400: %s', async (_, hosts) => {
    const found = await response(`GET /v1/team HTTP/1.1\r\n${hosts}Connection: close\r\n\r\n`);
    expect(seen(found)).toEqual({ ...bad, headers: V1_HEADERS });
  });

  it('400: two hosts in HTTP/1.0', async () => {
    const found = await response('GET /nothing HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n');
    expect(seen(found)).toEqual(bad);
  });

  it.each<[string, string]>([
    ['a URL of 10 MB', formatRequest(`/v1/team?x=${'x'.repeat(10 * MEGABYTE)}`)],
    ['a path of 10 MB', formatRequest(`/v1/${'x'.repeat(10 * MEGABYTE)}`)],
    ['a parameter of 10 MB', formatRequest(`/v1/apps/${'1'.repeat(10 * MEGABYTE)}/traffic`)],
    ['a URL a little too long', formatRequest(`/v1/team?x=${'x'.repeat(66_000)}`)],
    ['a header of 10 MB', formatRequest('/v1/team', { headers: { 'Api-Key': 'x'.repeat(10 * MEGABYTE) } })],
  ])('431: %s', async (_, bytes) => {
    expect(seen(await response(bytes))).toEqual(tooLarge);
  });

  it('405: a tunnel', async () => {
    const found = await call('example.com:443', { method: 'CONNECT', headers: { 'X-Request-Id': 'mine' } });
    const headers = { ...REQUIRED_HEADERS, allow: 'GET, HEAD', 'x-request-id': 'mine' };
    expect(seen(found)).toEqual({ status: 405, text: detail('Method Not Allowed'), headers });
  });
});
