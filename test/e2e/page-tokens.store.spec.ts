import { TestApp } from '../setup/app.js';
import { holdClock, releaseClock } from '../setup/clock.js';
import { type LogBody, type PageBody, type Query, Tenant, type TrafficBody } from '../setup/tenant.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const iso = (epochMs: number) => new Date(epochMs).toISOString();
const floorToHour = (epochMs: number) => Math.floor(epochMs / HOUR) * HOUR;
const end = floorToHour(Date.now());
const INVALID_TOKEN = {
  type: 'value_error',
  loc: ['query', 'next_token'],
  msg: 'Value error, invalid next_token',
};

describe('next_token', () => {
  let app: TestApp;
  let tenant: Tenant;

  beforeAll(async () => {
    app = await TestApp.start();
  });

  beforeEach(async () => {
    tenant = await Tenant.create(app);
  });

  afterEach(releaseClock);
  afterAll(() => app.stop());

  it('is good for the same query in other words', async () => {
    await tenant.write(...Array.from({ length: 3 }, () => ({ method: 'GET', status_code: 404 })));
    const query = { method: 'GET,POST', status_code: '404,2xx', limit: 2 };
    const { next_token } = await tenant.logs(query);
    const rest = await tenant.logs({
      method: ' post,get,',
      status_code: '2xx,404,2xx',
      next_token: next_token!,
    });
    expect(rest.data).toHaveLength(1);
    await tenant.write({ consumer: { identifier: 'a' } }, { consumer: { identifier: 'b' } });
    const consumers = await tenant.consumers({ requests_since: '2020-01-01', limit: 1 });
    const more = { requests_since: '2020-01-01T02:00+02:00', next_token: consumers.next_token! };
    expect((await tenant.consumers(more)).data).toHaveLength(1);
  });

  it('is not said to be invalid where another parameter is', async () => {
    await tenant.write({}, {});
    const { next_token } = await tenant.logs({ status_code: '2xx', limit: 1 });
    const { status, body } = await tenant.get('request-logs', { status_code: 'x', next_token: next_token! });
    const locations = body.detail.map(({ loc }: { loc: string[] }) => loc.join('.'));
    expect([status, locations]).toEqual([422, ['query.status_code']]);
  });

  it('stays short with the longest filters', async () => {
    const path = `/${'🚀'.repeat(1022)}*`;
    await tenant.write({ path: path.slice(0, -1) }, { path: path.slice(0, -1) });
    const method = 'GET,'.repeat(16);
    const status_code = Array.from({ length: 32 }, (_, n) => String(200 + n)).join();
    const { next_token } = await tenant.logs({ path, method, status_code, limit: 1 });
    expect(next_token!.length).toBeLessThanOrEqual(1024);
    expect((await tenant.logs({ path, method, status_code, next_token: next_token! })).data).toHaveLength(1);
  });

  describe.each(['request-logs', 'traffic'])('of %s', (resource) => {
    const times = (pages: PageBody<object>[]) =>
      pages
        .flatMap(({ data }) => data as (LogBody & TrafficBody)[])
        .map((record) => Date.parse(record.timestamp || record.period_start))
        .sort((a, b) => a - b);

    it('fixes a window that was left to the defaults: "now" does not slide', async () => {
      const now = holdClock();
      const first = floorToHour(now - DAY) + (resource === 'traffic' ? 0 : HOUR);
      const written = [first, first + HOUR, first + 2 * HOUR];
      await tenant.write(...written.map((timestamp) => ({ timestamp })));
      const begun = await tenant.page<object>(resource, { limit: 1 });
      holdClock(now + 3 * HOUR);
      await tenant.write({ timestamp: now + 2 * HOUR });
      const rest = await tenant.page<object>(resource, { next_token: begun.next_token! });
      expect(rest.has_more).toBe(false);
      expect(times([begun, rest])).toEqual(written);
      // A walk that begins now sees the new one, and no longer what is out of its own window.
      const edge = resource === 'traffic' ? floorToHour(now + 3 * HOUR - DAY) : now + 3 * HOUR - DAY;
      const added = resource === 'traffic' ? floorToHour(now + 2 * HOUR) : now + 2 * HOUR;
      expect(times([await tenant.page<object>(resource)])).toEqual([
        ...written.filter((at) => at >= edge),
        added,
      ]);
    });

    it('needs no window beside it, may have its own repeated in any spelling, and no other', async () => {
      const at = end - 2 * DAY;
      await tenant.write(...[0, 1, 2, 3].map((hour) => ({ timestamp: at + hour * HOUR })));
      const query = { start: iso(at), end: iso(at + 3 * HOUR) };
      const { next_token } = await tenant.page<object>(resource, { ...query, limit: 1 });
      const next = (more: Query) => tenant.get(resource, { next_token: next_token!, ...more });
      const expected = await next({});
      expect([expected.status, expected.body.data.length]).toEqual([200, 2]);
      const inDelhi = (epochMs: number) => iso(epochMs + 5.5 * HOUR).replace('Z', '+05:30');
      const same: Query[] = [query, { start: query.start }, { end: query.end }, { start: inDelhi(at) }];
      for (const more of same) expect((await next(more)).text).toBe(expected.text);
      const second = await tenant.page<object>(resource, { next_token: next_token!, limit: 1 });
      const last = await tenant.page<object>(resource, { ...query, next_token: second.next_token! });
      expect(last.data).toHaveLength(1);
      const other: Query[] = [
        { start: iso(at + 1) },
        { end: iso(at + 4 * HOUR) },
        { ...query, end: iso(at + HOUR) },
      ];
      for (const more of other) {
        const { status, body } = await next(more);
        expect([status, body.detail.at(-1)]).toMatchObject([422, INVALID_TOKEN]);
      }
    });

    it('of a walk with defaults takes no window beside it', async () => {
      await tenant.write({ timestamp: end - 2 * HOUR }, { timestamp: end - 3 * HOUR });
      const { next_token } = await tenant.page<object>(resource, { limit: 1 });
      for (const more of [{ start: iso(end - 4 * HOUR) }, { end: iso(end) }] as Query[]) {
        const { status, body } = await tenant.get(resource, { next_token: next_token!, ...more });
        expect([status, body.detail[0].loc]).toEqual([422, ['query', 'next_token']]);
      }
    });
  });
});
