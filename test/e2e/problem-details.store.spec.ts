import { TestApp } from '../setup/app.js';
import { type HttpResponse, conforms } from '../setup/conforms.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';
import { Tenant } from '../setup/tenant.js';

const PROBLEM = 'application/problem+json';
const UNKNOWN_KEY = `zzzzzzz.${'z'.repeat(32)}`;
const LIMIT = 40;

let app: TestApp;
let tenant: Tenant;
let spentKey: string;
let freeKey: string;

beforeAll(async () => {
  app = await TestApp.start({ RATE_LIMIT_PER_MINUTE: String(LIMIT) });
  tenant = await Tenant.create(app);
  spentKey = (await app.team()).key;
  freeKey = (await app.team('free')).key;
  for (let n = 0; n < LIMIT; n += 1) await sendRaw(app.url, '/v1/team', { headers: { 'Api-Key': spentKey } });
});

afterAll(async () => {
  closeConnections();
  await app.stop();
});

interface Call {
  path: string;
  method?: string;
  key?: string | null;
  body?: string;
}

async function call({ path, method = 'GET', key = tenant.key, body }: Call, accept?: string) {
  const headers = {
    ...(key !== null && { 'Api-Key': key }),
    ...(accept !== undefined && { Accept: accept }),
  };
  const response = await sendRaw(app.url, path, { method, headers, ...(body !== undefined && { body }) });
  if (method !== 'DELETE') conforms(path.split('?', 1)[0]!, method)(response);
  return response;
}

const isProblem = ({ headers }: HttpResponse) => String(headers['content-type']).startsWith(PROBLEM);
const metrics = () => `/v1/apps/${tenant.appId}/metrics`;
const ERRORS: [string, number, string, () => Call][] = [
  ['no key', 401, 'Unauthorized', () => ({ path: '/v1/team', key: null })],
  ['an unknown key', 401, 'Unauthorized', () => ({ path: '/v1/team', key: UNKNOWN_KEY })],
  ['a free plan', 403, 'Forbidden', () => ({ path: '/v1/team', key: freeKey })],
  ['an unknown path', 404, 'Not Found', () => ({ path: '/v1/nothing' })],
  ['an unknown app', 404, 'Not Found', () => ({ path: '/v1/apps/999999/endpoints' })],
  ['a path outside of the API', 404, 'Not Found', () => ({ path: '/nothing', key: null })],
  ['another method', 405, 'Method Not Allowed', () => ({ path: '/v1/team', method: 'DELETE' })],
  [
    'a body that is too large',
    413,
    'Payload Too Large',
    () => ({ path: metrics(), method: 'POST', body: ' '.repeat(70_000) }),
  ],
  ['a spent limit', 429, 'Too Many Requests', () => ({ path: '/v1/team', key: spentKey })],
];

describe('an error as problem details', () => {
  it.each(ERRORS)('%s: %i %s', async (_, status, title, sent) => {
    const plain = await call(sent());
    const { detail } = JSON.parse(plain.text) as { detail: string };
    const problem = await call(sent(), PROBLEM);
    expect([problem.status, problem.headers['content-type']]).toEqual([status, PROBLEM]);
    expect(JSON.parse(problem.text)).toEqual({ type: 'about:blank', title, status, detail });
    const kept = ['www-authenticate', 'allow', 'retry-after', 'cache-control', 'vary'];
    for (const name of kept)
      expect([name, problem.headers[name] === undefined]).toEqual([name, plain.headers[name] === undefined]);
  });

  it('has the issues of a 422 in a member of its own', async () => {
    const path = '/v1/apps/0/traffic?limit=0&timezone=Nowhere';
    const { detail } = JSON.parse((await call({ path })).text) as { detail: unknown[] };
    expect(detail).toHaveLength(3);
    const problem = await call({ path }, PROBLEM);
    expect(JSON.parse(problem.text)).toEqual({
      type: 'about:blank',
      title: 'Unprocessable Entity',
      status: 422,
      detail: expect.any(String),
      errors: detail,
    });
  });

  it.each([
    [PROBLEM, true],
    [`${PROBLEM}, application/json`, true],
    [`application/json;q=0.9, ${PROBLEM}`, true],
    [`text/csv, ${PROBLEM};q=0.1`, true],
    [`${PROBLEM}, */*`, true],
    [`${PROBLEM}; charset=utf-8`, true],
    [`application/json; charset=utf-8, ${PROBLEM}`, false],
    [`application/json, ${PROBLEM}`, false],
    [`${PROBLEM};q=0.5, application/json`, false],
    [`${PROBLEM};q=0`, false],
    ['application/*', false],
    ['*/*', false],
    ['text/html', false],
    ['', false],
    ['no media type ; at , all', false],
  ])('is sent when Accept prefers it: %s is %p', async (accept, expected) => {
    const response = await call({ path: '/v1/nothing' }, accept);
    expect(isProblem(response)).toBe(expected);
    if (!expected) expect(response.text).toBe('{"detail":"Not Found"}');
    expect(response.headers.vary).toContain('Accept');
  });

  it('has no body for HEAD', async () => {
    const response = await call({ path: '/v1/nothing', method: 'HEAD' }, PROBLEM);
    expect([response.status, response.text, isProblem(response)]).toEqual([404, '', true]);
  });

  it('leaves other responses as they are', async () => {
    const response = await call({ path: '/v1/team' }, PROBLEM);
    expect([response.status, response.headers['content-type']]).toEqual([
      200,
      'application/json; charset=utf-8',
    ]);
  });
});
