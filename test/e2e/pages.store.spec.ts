import fc from 'fast-check';
import { TestApp } from '../setup/app.js';
import { type Query, Tenant } from '../setup/tenant.js';

/** More with `PROPERTY_RUNS`, as in a nightly run: each is several requests. */
const RUNS = Number(process.env.PROPERTY_RUNS ?? 5);

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const iso = (epochMs: number) => new Date(epochMs).toISOString();
const INVALID_TOKEN = {
  type: 'value_error',
  loc: ['query', 'next_token'],
  msg: 'Value error, invalid next_token',
};

/** 101 records for each operation: a request, a consumer and an hour of traffic each. */
const RECORDS = 101;
const end = Math.floor(Date.now() / HOUR) * HOUR;
const WINDOW = { start: iso(end - 6 * DAY), end: iso(end) };

let app: TestApp;

beforeAll(async () => {
  app = await TestApp.start();
});

afterAll(() => app.stop());

describe.each<[resource: string, query: Query, filters: Query]>([
  ['consumers', {}, { requests_since: '2020-01-01' }],
  [
    'request-logs',
    WINDOW,
    { app_env_id: 1, consumer_id: 1, method: 'GET', path: '/users/*', status_code: '2xx' },
  ],
  ['traffic', WINDOW, { app_env_id: 1, consumer_id: 1, interval: 'day', timezone: 'Asia/Kolkata' }],
])('pages of %s', (resource, query, filters) => {
  let tenant: Tenant;

  beforeAll(async () => {
    tenant = await Tenant.create(app);
    await tenant.write(...records());
  });

  const records = () =>
    Array.from({ length: RECORDS }, (_, n) => ({
      timestamp: end - (n + 1) * HOUR,
      consumer: { identifier: `consumer ${n}` },
    }));
  const page = (more: Query = {}, of = tenant) => of.page<object>(resource, { ...query, ...more });
  const getToken = async (more: Query = {}, of = tenant) =>
    (await page({ limit: 3, ...more }, of)).next_token!;
  const refusal = async (more: Query, of = tenant) => {
    const { status, body } = await of.get(resource, { ...query, ...more });
    return [status, ...(body.detail ?? [])];
  };

  it('say whether there are more, and have a token just then', async () => {
    const all = await tenant.get(resource, { ...query, limit: RECORDS });
    expect(Object.keys(all.body)).toEqual(['data', 'has_more']);
    expect(all.body.has_more).toBe(false);
    const firstPage = await tenant.get(resource, { ...query, limit: RECORDS - 1 });
    expect(Object.keys(firstPage.body)).toEqual(['data', 'has_more', 'next_token']);
    expect([firstPage.body.has_more, firstPage.body.data]).toEqual([
      true,
      all.body.data.slice(0, RECORDS - 1),
    ]);
    expect(firstPage.body.next_token).toMatch(/^[A-Za-z0-9_-]{1,1024}$/);
    const rest = await page({ next_token: firstPage.body.next_token });
    expect(rest).toEqual({ data: all.body.data.slice(RECORDS - 1), has_more: false });
  });

  it('hold 100 records by default, 1 at least and 1,000 at most', async () => {
    const sizes = async (more: Query = {}) => {
      const { data, has_more } = await page(more);
      return [data.length, has_more];
    };
    expect(await sizes()).toEqual([100, true]);
    expect(await sizes({ limit: 1 })).toEqual([1, true]);
    expect(await sizes({ limit: 1000 })).toEqual([RECORDS, false]);
  });

  it.each([0, 1001, -1, 'many', '', '1.5'])('are a 422 with the limit %j', async (limit) => {
    const [status, issue] = await refusal({ limit });
    expect([status, issue.loc]).toEqual([422, ['query', 'limit']]);
  });

  it('together have all records, with limits that change from page to page', async () => {
    const { data } = await page({ limit: 1000 });
    const limits = [1, 50, 2, 7, 1000];
    expect(await tenant.readAllPages(resource, query, (n) => limits[n]!)).toEqual(data);
    expect(await tenant.readAllPages(resource, query, () => 20)).toEqual(data);
  });

  it('can be asked for again, and with another key of the team', async () => {
    const next_token = await getToken();
    const first = await page({ next_token });
    expect(await page({ next_token })).toEqual(first);
    const { key } = await app.admin.keys.create(tenant.teamId);
    const response = await app.get(`/v1/apps/${tenant.appId}/${resource}`, key, { ...query, next_token });
    expect(response.body).toEqual(first);
  });

  describe('with a token that is not good', () => {
    it.each(['', 'x', 'null', '%00', '../../etc/passwd', 'A'.repeat(22), 'A'.repeat(100), '🚀'.repeat(60)])(
      '%j: 422',
      async (next_token) => {
        expect(await refusal({ next_token })).toEqual([
          422,
          { ...INVALID_TOKEN, input: next_token, ctx: { error: {} } },
        ]);
      },
    );

    it('longer than 1,024 characters: 422', async () => {
      const [status, issue] = await refusal({ next_token: 'A'.repeat(1025) });
      expect([status, issue.type, issue.loc]).toEqual([422, 'string_too_long', ['query', 'next_token']]);
    });

    it('altered in any one character, lengthened or shortened: 422', async () => {
      const token = await getToken();
      const characters = fc.constantFrom(
        ...Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=.'),
      );
      const positions = fc.oneof(fc.nat(token.length - 1), fc.constant(token.length - 1));
      const altered = fc
        .tuple(positions, characters, fc.constantFrom('replace', 'insert', 'remove'))
        .map(([at, character, how]) =>
          how === 'replace'
            ? token.slice(0, at) + character + token.slice(at + 1)
            : how === 'insert'
              ? token.slice(0, at) + character + token.slice(at)
              : token.slice(0, at) + token.slice(at + 1),
        )
        .filter((other) => other !== token);
      await fc.assert(
        fc.asyncProperty(altered, async (next_token) => {
          expect(await refusal({ next_token })).toMatchObject([422, INVALID_TOKEN]);
        }),
        { numRuns: RUNS },
      );
      expect(await refusal({ next_token: `${token}${token}` })).toMatchObject([422, INVALID_TOKEN]);
    });

    it.each(Object.entries(filters))('of another query, but for %s: 422', async (name, value) => {
      expect(await refusal({ next_token: await getToken(), [name]: value })).toMatchObject([
        422,
        INVALID_TOKEN,
      ]);
    });

    it('of another app of the team: 422', async () => {
      const sibling = await tenant.sibling();
      await sibling.write(...records());
      expect(await refusal({ next_token: await getToken() }, sibling)).toMatchObject([422, INVALID_TOKEN]);
      expect(await refusal({ next_token: await getToken({}, sibling) })).toMatchObject([422, INVALID_TOKEN]);
    });

    it('of another team, sent to our app or to theirs: 422', async () => {
      const stranger = await Tenant.create(app);
      await stranger.write(...records());
      const next_token = await getToken({}, stranger);
      expect(await refusal({ next_token })).toMatchObject([422, INVALID_TOKEN]);
      const path = `/v1/apps/${stranger.appId}/${resource}`;
      const { status, body } = await app.get(path, tenant.key, { ...query, next_token });
      expect([status, body.detail]).toMatchObject([422, [INVALID_TOKEN]]);
    });

    it('of another operation: 422', async () => {
      const others = ['consumers', 'request-logs', 'traffic'].filter((other) => other !== resource);
      for (const other of others) {
        const { next_token } = await tenant.page(other, {
          limit: 3,
          ...(other === 'consumers' ? {} : WINDOW),
        });
        expect(await refusal({ next_token: next_token! })).toMatchObject([422, INVALID_TOKEN]);
      }
    });
  });
});

describe('a page of request logs whose records are too large together', () => {
  /** A record of 394 KB: JSON writes each of these characters as six. */
  const LARGE = '\u0001'.repeat(65_500);
  const LARGE_RECORDS = 90;

  it('is shorter than the limit and leads on to the others, each once', async () => {
    const tenant = await Tenant.create(app);
    const written = [];
    const records = Array.from({ length: LARGE_RECORDS }, (_, n) => end - n * 60_000 - 1).flatMap(
      (timestamp) => [
        { timestamp, url: LARGE },
        { timestamp, url: '/small' },
      ],
    );
    for (let at = 0; at < records.length; at += 60)
      written.push(...(await tenant.write(...records.slice(at, at + 60))));
    const uuids: string[] = [];
    let pages = 0;
    for (let token: Query = {}; ; pages++) {
      const page = await tenant.logs({ ...WINDOW, limit: 1000, ...token });
      expect(JSON.stringify(page.data).length).toBeLessThan(16 * 1024 * 1024);
      uuids.push(...page.data.map(({ request_uuid }) => request_uuid));
      if (page.next_token === undefined) break;
      token = { next_token: page.next_token };
    }
    expect(pages).toBeGreaterThan(1);
    expect(uuids).toHaveLength(2 * LARGE_RECORDS);
    expect(new Set(uuids)).toEqual(new Set(written.map(({ request_uuid }) => request_uuid)));
  });
});

it('returns a request once that is in the store twice, with any limit', async () => {
  const tenant = await Tenant.create(app);
  const written = await tenant.write(...Array.from({ length: 20 }, (_, n) => ({ timestamp: end - n - 1 })));
  // As a store had them that was written without the ledger: the same rows under no token.
  await app.store.command(`
    INSERT INTO request_logs_v1 (app_id, timestamp, request_uuid, app_env_id, endpoint_id, consumer_id, method, status_code, record_json)
    SELECT app_id, timestamp, request_uuid, app_env_id, endpoint_id, consumer_id, method, status_code, record_json
    FROM request_logs_v1 WHERE app_id = ${tenant.appId}`);
  for (const limit of [1, 2, 3, 7, 39, 40, 1000]) {
    const uuids: string[] = [];
    for (let token: Query = {}; ;) {
      const page = await tenant.logs({ ...WINDOW, limit, ...token });
      uuids.push(...page.data.map(({ request_uuid }) => request_uuid));
      if (page.next_token === undefined) break;
      token = { next_token: page.next_token };
    }
    expect([limit, uuids]).toEqual([limit, written.map(({ request_uuid }) => request_uuid)]);
  }
});
