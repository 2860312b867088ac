import { randomUUID } from 'node:crypto';
import { TestApp, WITHOUT_CACHE } from '../setup/app.js';
import { holdClock, releaseClock } from '../setup/clock.js';
import { type HttpResponse, conforms } from '../setup/conforms.js';
import { V1_HEADERS, AUTHENTICATED_HEADERS, detail, seen } from '../setup/contract.js';
import { fill, operations } from '../setup/document.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';
import { Tenant } from '../setup/tenant.js';

const DAY_MS = 86_400_000;
const LIMIT = 100;
const UNKNOWN_KEY = `zzzzzzz.${'z'.repeat(32)}`;
/**
 * Issues of every later step at once: a path and a query that are no integers, of an app that is not there.
 */
const FAULTY = '/v1/apps/0/traffic?limit=0';

let app: TestApp;
let tenant: Tenant;
let log: { request_uuid: string };

beforeAll(async () => {
  app = await TestApp.start({
    ...WITHOUT_CACHE,
    RATE_LIMIT_PER_MINUTE: String(LIMIT),
    TOKEN_SECRET: 'the secret of these contract tests',
  });
  tenant = await Tenant.create(app);
  log = (await tenant.write({ consumer: { identifier: 'bob' } }))[0]!;
});

afterAll(async () => {
  closeConnections();
  await app.stop();
});

/** Asks with a key, or without one, and holds the response against the document on the way. */
async function call(
  path: string,
  key?: string,
  method = 'GET',
  headers: Record<string, string> = {},
): Promise<HttpResponse> {
  const response = await sendRaw(app.url, path, {
    method,
    headers: { ...headers, ...(key && { 'Api-Key': key }) },
  });
  if (method === 'GET' || method === 'HEAD') conforms(path.split('?', 1)[0]!, method)(response);
  return response;
}

/** A key that has used up its window. */
async function spentKey(plan: 'free' | 'premium' = 'premium'): Promise<string> {
  const { key } = await app.team(plan);
  for (let n = 0; n < LIMIT; n += 1) await call('/v1/team', key);
  return key;
}

async function expiredKey() {
  return (await app.admin.keys.create(tenant.teamId, { expiresAt: Date.now() - 1 })).key;
}

async function revokedKey() {
  const { key, identifier } = await app.admin.keys.create(tenant.teamId);
  await app.admin.keys.revoke(identifier);
  return key;
}

const altered = (key: string) => key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a');

describe('401 (docs/contract.md#errors)', () => {
  const challenge = { ...V1_HEADERS, 'www-authenticate': 'APIKey' };

  it.each<[string, Record<string, string>]>([
    ['no key', {}],
    ['an empty key', { 'Api-Key': '' }],
    ['a key in another header', { Authorization: `Bearer ${UNKNOWN_KEY}` }],
  ])('%s is not authenticated', async (_, headers) => {
    const expected = { status: 401, text: detail('Not authenticated'), headers: challenge };
    expect(seen(await call('/v1/team', undefined, 'GET', headers))).toEqual(expected);
  });

  it.each<[string, () => string | Promise<string>]>([
    ['that is unknown', () => UNKNOWN_KEY],
    ['that has no form of a key', () => "' OR 1=1 --"],
    ['that is of the longest kind', () => 'k'.repeat(30_000)],
    ['with another secret', () => altered(tenant.key)],
    ['with the identifier alone', () => tenant.key.slice(0, 8)],
    ['that was revoked', revokedKey],
    ['that has expired', expiredKey],
    ['that was sent twice', () => `${tenant.key}, ${tenant.key}`],
  ])('a key %s is invalid', async (_, getKey) => {
    const expected = { status: 401, text: detail('Invalid API key'), headers: challenge };
    expect(seen(await call('/v1/team', await getKey()))).toEqual(expected);
  });

  it('takes a key that expires later', async () => {
    const { key } = await app.admin.keys.create(tenant.teamId, { expiresAt: Date.now() + DAY_MS });
    expect(await call('/v1/team', key)).toMatchObject({ status: 200 });
  });
});

describe('403 (docs/contract.md#errors)', () => {
  const text = detail('API access requires the Premium plan');

  it('rejects another plan on every operation, counts it, and says how much is left', async () => {
    const { key } = await app.team('free');
    const ids = { app_id: tenant.appId, request_uuid: log.request_uuid };
    for (const [index, { path }] of operations.entries()) {
      const headers = { ...AUTHENTICATED_HEADERS, 'x-ratelimit-remaining': String(LIMIT - 1 - index) };
      expect(seen(await call(fill(path, ids), key))).toEqual({ status: 403, text, headers });
    }
  });

  it('stands before the rate limit', async () => {
    const headers = { ...AUTHENTICATED_HEADERS, 'x-ratelimit-remaining': '0' };
    expect(seen(await call('/v1/team', await spentKey('free')))).toEqual({ status: 403, text, headers });
  });
});

describe('404 (docs/contract.md#errors)', () => {
  afterEach(releaseClock);
  const response = (text: string) => ({ status: 404, text: detail(text), headers: AUTHENTICATED_HEADERS });
  const below = operations.filter(({ path }) => path.includes('{app_id}'));

  it.each(below)('$id: an app that is unknown, or of another team', async ({ path }) => {
    const other = await Tenant.create(app);
    for (const app_id of [other.appId, 999_999, 2 ** 31, '9223372036854775808', '9'.repeat(4300)]) {
      const target = fill(path, { app_id, request_uuid: log.request_uuid });
      expect([app_id, seen(await call(target, tenant.key))]).toEqual([app_id, response('App not found')]);
    }
  });

  it('a request that is unknown, or of another app', async () => {
    const sibling = await tenant.sibling();
    for (const [appId, uuid] of [
      [tenant.appId, randomUUID()],
      [sibling.appId, log.request_uuid],
    ]) {
      const path = `/v1/apps/${appId}/request-logs/${uuid}`;
      expect(seen(await call(path, tenant.key))).toEqual(response('Request log not found'));
    }
  });

  it('a request that is older than the retention', async () => {
    const { key } = await app.admin.keys.create(tenant.teamId);
    const path = `/v1/apps/${tenant.appId}/request-logs/${log.request_uuid}`;
    expect(await call(path, key)).toMatchObject({ status: 200 });
    holdClock(Date.now() + 15 * DAY_MS);
    expect(seen(await call(path, key))).toEqual(response('Request log not found'));
  });
});

describe('422 (docs/contract.md#validation)', () => {
  it('reports every issue, path first, as FastAPI writes it', async () => {
    const issue = '"msg":"Input should be greater than or equal to 1","input":"0","ctx":{"ge":1}}';
    const text =
      `{"detail":[{"type":"greater_than_equal","loc":["path","app_id"],${issue},` +
      `{"type":"greater_than_equal","loc":["query","limit"],${issue}]}`;
    expect(seen(await call(FAULTY, tenant.key))).toEqual({
      status: 422,
      text,
      headers: AUTHENTICATED_HEADERS,
    });
  });
});

describe('429 (docs/contract.md#errors, docs/contract.md#rate-limit)', () => {
  it('comes behind the 100th request of a window, with the seconds to wait', async () => {
    const { key } = await app.team();
    const before = Math.floor(Date.now() / 1000);
    const responses: HttpResponse[] = [];
    for (let n = 0; n <= LIMIT; n += 1) responses.push(await call('/v1/team', key));
    const [first, last] = [responses[0]!, responses[LIMIT]!];
    expect(responses.slice(0, LIMIT).map(({ status }) => status)).toEqual(Array(LIMIT).fill(200));
    expect(responses.map(({ headers }) => Number(headers['x-ratelimit-remaining']))).toEqual([
      ...Array.from({ length: LIMIT }, (_, n) => LIMIT - 1 - n),
      0,
    ]);
    const reset = Number(first.headers['x-ratelimit-reset']);
    expect(reset - before).toBeGreaterThanOrEqual(60);
    expect(reset - before).toBeLessThanOrEqual(62);
    const wait = Number(last.headers['retry-after']);
    expect(Math.abs(reset - Date.now() / 1000 - wait)).toBeLessThanOrEqual(2);
    const headers = {
      ...AUTHENTICATED_HEADERS,
      'x-ratelimit-limit': '100',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(reset),
      'retry-after': expect.stringMatching(/^([1-9]|[1-5]\d|60)$/),
    };
    expect(seen(last)).toEqual({ status: 429, text: detail('Rate limit exceeded'), headers });
  });
});

describe('the order of the checks (docs/contract.md#order)', () => {
  it('is key, plan, rate limit, parameters, app', async () => {
    const [free, spentFree, spent] = [await app.team('free'), await spentKey('free'), await spentKey()];
    const { key } = await app.team();
    const unknownApp = '/v1/apps/999999/traffic';
    const counted = [
      [FAULTY, undefined, 401],
      [FAULTY, UNKNOWN_KEY, 401],
      [FAULTY, free.key, 403],
      [FAULTY, spentFree, 403],
      [FAULTY, spent, 429],
      [unknownApp, spent, 429],
      ['/v1/nothing', spent, 429],
      [FAULTY, key, 422],
      [`${unknownApp}?limit=0`, key, 422],
      [`${unknownApp}?next_token=x`, key, 422],
      [unknownApp, key, 404],
    ] as const;
    for (const [path, key, status] of counted)
      expect([path, key, (await call(path, key)).status]).toEqual([path, key, status]);
  });

  it('counts every request with a valid key, with any outcome', async () => {
    const { key } = await app.team();
    const asked = [
      ['/v1/team', 'GET', 200],
      ['/v1/team', 'HEAD', 200],
      [`/v1/apps/${tenant.appId}/traffic`, 'GET', 404],
      [FAULTY, 'GET', 422],
      ['/v1/team', 'POST', 405],
      ['/v1/team', 'OPTIONS', 405],
      ['/v1/nothing', 'GET', 404],
      ['/v1', 'DELETE', 404],
    ] as const;
    for (const [index, [path, method, status]] of asked.entries()) {
      const { status: given, headers } = await call(path, key, method);
      const remaining = String(LIMIT - 1 - index);
      expect([path, method, given, headers['x-ratelimit-remaining']]).toEqual([
        path,
        method,
        status,
        remaining,
      ]);
    }
  });

  it('neither counts nor marks a request without a valid key', async () => {
    for (const key of [undefined, UNKNOWN_KEY, altered(tenant.key)]) {
      const { headers } = await call('/v1/team', key);
      expect(Object.keys(headers).filter((name) => name.startsWith('x-ratelimit'))).toEqual([]);
    }
  });
});

// The last, because the store does not come back.
describe('503 (docs/contract.md#errors)', () => {
  it('serves every operation, and readiness, while the store cannot be reached', async () => {
    await app.store.close();
    const text = detail('Service temporarily unavailable');
    const headers = { ...V1_HEADERS, 'retry-after': expect.stringMatching(/^[1-9]\d*$/) };
    const ids = { app_id: tenant.appId, request_uuid: log.request_uuid };
    for (const { path } of operations)
      expect(seen(await call(fill(path, ids), tenant.key))).toEqual({ status: 503, text, headers });
    expect(await call('/health/ready')).toMatchObject({ status: 503, text });
    expect(await call('/health/live')).toMatchObject({ status: 200 });
  });
});
