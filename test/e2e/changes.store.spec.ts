import fc from 'fast-check';
import { DIMENSIONS, MEASURES } from '../../src/api/changes/measure-change.js';
import { Random } from '../../src/shared/random.js';
import type { RequestRecord } from '../../src/records/request-record.js';
import { TestApp } from '../setup/app.js';
import { Tenant } from '../setup/tenant.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const REQUESTS = 600;
const RUNS = 60;

type Measure = (typeof MEASURES)[number];
interface Values {
  now: number | null;
  before: number | null;
  change: number | null;
  share: number | null;
  requests: number;
  requests_before: number;
}
interface Group extends Values {
  dimension: (typeof DIMENSIONS)[number];
  method?: string | null;
  path?: string | null;
  consumer_id?: number | null;
  status_code?: number;
}
interface Explained {
  window: { since: string; until: string } | null;
  baseline: { since: string; until: string } | null;
  slow_from_ms: number | null;
  total: Values;
  data: Group[];
  others: { dimension: string; groups: number; share: number | null }[];
}

const iso = (epochMs: number) => new Date(epochMs).toISOString();

describe('POST /v1/apps/{app_id}/changes', () => {
  let app: TestApp;
  let tenant: Tenant;
  let records: RequestRecord[];
  const consumers = new Map<string, number>();
  const start = Math.floor(Date.now() / HOUR) * HOUR - 3 * DAY;

  beforeAll(async () => {
    app = await TestApp.start();
    tenant = await Tenant.create(app);
    const random = new Random(7);
    const pick = <Value>(values: readonly Value[]) => values[random.integer(0, values.length - 1)]!;
    records = await tenant.write(
      ...Array.from({ length: REQUESTS }, (_, index) => ({
        timestamp: start + random.integer(0, DAY - 1) + (index % 3 === 0 ? 0 : DAY),
        method: pick(['GET', 'POST']),
        path: pick(['/a', '/b', '/c', null]),
        consumer: pick([{ identifier: 'anna' }, { identifier: 'bob' }, null]),
        status_code: pick([200, 200, 201, 404, 422, 500, 503]),
        // The second day is slower.
        response_time_ms: pick([null, 3, 20, 150, index % 3 === 0 ? 200 : 900]),
      })),
    );
    for (const identifier of ['anna', 'bob']) consumers.set(identifier, await tenant.consumerId(identifier));
  });

  afterAll(() => app.stop());

  const explain = async (body: object, of = tenant): Promise<Explained> => {
    const { status, text } = await of.post('changes', body);
    expect([text, status]).toEqual([text, 200]);
    return JSON.parse(text) as Explained;
  };

  /** What the measure counts, by the records themselves. */
  const counts = (measure: Measure, { status_code }: RequestRecord) =>
    measure === 'requests' ||
    (measure !== 'server_errors' && status_code >= 400 && status_code < 500) ||
    (measure !== 'client_errors' && status_code >= 500);
  const nameOf = (group: Omit<Group, keyof Values>) =>
    JSON.stringify([group.method, group.path, group.consumer_id, group.status_code]);
  const groupOf = (dimension: Group['dimension'], { method, path, consumer, status_code }: RequestRecord) =>
    nameOf(
      dimension === 'endpoint'
        ? { dimension, method: path === null ? null : method, path }
        : dimension === 'consumer'
          ? { dimension, consumer_id: consumer ? consumers.get(consumer.identifier)! : null }
          : { dimension, status_code },
    );

  it(`counts and shares as the requests themselves do, in ${RUNS} windows`, async () => {
    const hours = fc.integer({ min: 0, max: 47 });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...MEASURES.filter((measure) => measure !== 'response_time')),
        fc.tuple(hours, hours, hours, hours),
        async (measure, [a, b, c, d]) => {
          const bounds = (hour: number, other: number) => [
            start + Math.min(hour, other) * HOUR,
            start + (Math.max(hour, other) + 1) * HOUR,
          ];
          const [[since, until], [baseline_since, baseline_until]] = [bounds(a, b), bounds(c, d)] as [
            [number, number],
            [number, number],
          ];
          const times = { since, until, baseline_since, baseline_until };
          const body = Object.fromEntries(Object.entries(times).map(([name, time]) => [name, iso(time)]));
          const { total, data, others } = await explain({ measure, ...body, limit: 50 });
          const of = (from: number, to: number) =>
            records.filter(({ timestamp }) => timestamp >= from && timestamp < to);
          const [now, before] = [of(since, until), of(baseline_since, baseline_until)];
          const count = (all: RequestRecord[]) => all.filter((request) => counts(measure, request)).length;
          const expected = (inNow: RequestRecord[], inBefore: RequestRecord[]) => ({
            now: count(inNow),
            before: count(inBefore),
            change: count(inNow) - count(inBefore),
            requests: inNow.length,
            requests_before: inBefore.length,
          });
          expect(total).toMatchObject(expected(now, before));
          expect(others).toEqual([]);
          for (const dimension of DIMENSIONS) {
            const names = new Set([...now, ...before].map((request) => groupOf(dimension, request)));
            const truth = [...names].flatMap((name) => {
              const mine = (all: RequestRecord[]) =>
                all.filter((request) => groupOf(dimension, request) === name);
              const values = expected(mine(now), mine(before));
              const share = Number((values.change / total.change!).toPrecision(4));
              return values.change === 0
                ? []
                : [{ name, ...values, share: total.change === 0 ? null : share }];
            });
            const groups = data
              .filter((group) => group.dimension === dimension)
              .map(({ now, before, change, share, requests, requests_before, ...group }) => ({
                name: nameOf(group),
                now,
                before,
                change,
                share,
                requests,
                requests_before,
              }));
            const sort = (all: typeof groups) =>
              all.toSorted((group, other) => group.name.localeCompare(other.name));
            expect(sort(groups)).toEqual(sort(truth));
            const sizes = groups.map(({ change }) => Math.abs(change!));
            expect(sizes).toEqual(sizes.toSorted((size, other) => other - size));
          }
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('has shares that add up in every dimension, those beyond the limit included', async () => {
    for (const measure of MEASURES) {
      const { total, data, others } = await explain({ measure, since: iso(start + DAY), limit: 1 });
      expect(total.share).toBe(1);
      for (const dimension of DIMENSIONS) {
        const shares = [...data, ...others].filter((group) => group.dimension === dimension);
        const sum = shares.reduce((all, { share }) => all + share!, 0);
        expect([measure, dimension, sum]).toEqual([measure, dimension, expect.closeTo(1, 2)]);
      }
    }
  });

  it('counts for response times only requests that have one', async () => {
    const other = await Tenant.create(app);
    const many = (n: number, path: string, hours: number, response_time_ms: number | null) =>
      Array.from({ length: n }, () => ({ timestamp: start + hours * HOUR, path, response_time_ms }));
    await other.write(...many(100, '/x', 0, 100), ...many(100, '/y', 0, null), ...many(10, '/z', 0, 100));
    await other.write(...many(50, '/x', 1, 1_000), ...many(50, '/x', 1, 100), ...many(300, '/y', 1, null));
    const window = { since: iso(start + HOUR), until: iso(start + 2 * HOUR) };
    const { data, slow_from_ms } = await explain({ measure: 'response_time', ...window }, other);
    expect(slow_from_ms).toBe(101);
    expect(data.filter(({ dimension }) => dimension === 'endpoint')).toEqual([
      expect.objectContaining({ path: '/x', share: 1, requests: 100, requests_before: 100 }),
    ]);
  });

  it('compares with as long before by default, and says which windows are kept', async () => {
    const since = iso(start + DAY);
    const [window, baseline] = [
      { since, until: iso(start + 2 * DAY) },
      { since: iso(start), until: since },
    ];
    expect(await explain({ measure: 'requests', ...window })).toMatchObject({ window, baseline });
    const old = await explain({ measure: 'requests', since: '2001-01-01', until: '2001-01-02' });
    expect(old).toMatchObject({ window: null, baseline: null, data: [], total: { now: 0, share: null } });
    // Local times are those of the timezone.
    const local = { since: '2026-01-02T00:00', until: '2026-01-03T00:00', timezone: 'Asia/Kathmandu' };
    const utc = { since: '2026-01-01T18:15:00Z', until: '2026-01-02T18:15:00Z' };
    const strip = ({ window, baseline }: Explained) => [window, baseline];
    expect(strip(await explain({ measure: 'requests', ...local }))).toEqual(
      strip(await explain({ measure: 'requests', ...utc })),
    );
  });

  it('compares the time since a release with as long before it, in the environments of the filters', async () => {
    const other = await Tenant.create(app);
    const at = (hours: number, env: string) => ({ timestamp: start + hours * HOUR, env });
    await other.write(at(1, 'prod'), at(3, 'prod'), at(3, 'test'), at(5, 'prod'), at(7, 'test'));
    const mark = (version: string, env: string, hours: number) =>
      app.admin.releases.mark(other.appId, version, { env, at: start + hours * HOUR });
    await mark('2', 'test', 2);
    await mark('2', 'prod', 4);
    const until = iso(start + 6 * HOUR);
    const since = async (body: object) => {
      const { window, baseline, total } = await explain({ measure: 'requests', until, ...body }, other);
      return [window!.since, window!.until, baseline!.since, baseline!.until, total.now, total.before];
    };
    const hours = (...list: number[]) => list.map((hour) => iso(start + hour * HOUR));
    expect(await since({ since_release: '2' })).toEqual([...hours(2, 6, -2, 2), 3, 1]);
    const filters = [{ field: 'env', op: 'in', value: ['prod'] }];
    expect(await since({ since_release: '2', filters })).toEqual([...hours(4, 6, 2, 4), 1, 1]);
    const named = { since: iso(start + 4 * HOUR), filters };
    expect(await explain({ measure: 'errors', until, ...named }, other)).toEqual(
      await explain({ measure: 'errors', until, since_release: '2', filters }, other),
    );
    expect(
      await since({
        since_release: '2',
        filters,
        baseline_since: iso(start),
        baseline_until: iso(start + HOUR * 2),
      }),
    ).toEqual([...hours(4, 6, 0, 2), 1, 1]);
    const refused = async (body: object) => {
      const { status, body: answer } = await other.post('changes', { measure: 'requests', ...body });
      return [status, answer.detail.map(({ loc, msg }: { loc: string[]; msg: string }) => [loc[1], msg])];
    };
    expect(await refused({ since_release: '3' })).toEqual([
      422,
      [['since_release', 'Value error, the app has no such release']],
    ]);
    expect(
      await refused({ since_release: '2', filters: [{ field: 'env', op: 'eq', value: 'dev' }] }),
    ).toEqual([422, [['since_release', 'Value error, the app has no such release']]]);
    expect(await refused({ since_release: '2', until: iso(start) })).toEqual([
      422,
      [['since_release', 'Value error, since must be before until']],
    ]);
    expect(await refused({ since_release: '2', baseline_until: '1999-01-01' })).toEqual([
      422,
      [['baseline_since', 'Value error, baseline_since must be before baseline_until']],
    ]);
  });

  it('filters as Query Metrics does', async () => {
    const body = { measure: 'requests', since: iso(start + DAY), until: iso(start + 2 * DAY), limit: 50 };
    const { data } = await explain({ ...body, filters: [{ field: 'path', op: 'eq', value: '/a' }] });
    expect(new Set(data.flatMap(({ dimension, path }) => (dimension === 'endpoint' ? path : [])))).toEqual(
      new Set(['/a']),
    );
  });

  it.each<[object, string, string]>([
    [{}, 'measure', 'missing'],
    [{ measure: 'speed', since: '2026-11-01' }, 'measure', 'literal_error'],
    [{ measure: 'errors' }, 'since', 'missing'],
    [{ measure: 'errors', since: '2026-11-02', until: '2026-11-01' }, 'since', 'value_error'],
    [
      { measure: 'errors', since: '2026-11-02', baseline_until: '1999-01-01' },
      'baseline_since',
      'value_error',
    ],
    [{ measure: 'errors', since: '2026-11-02', since_release: '2' }, 'since_release', 'value_error'],
    [{ measure: 'errors', since_release: 2 }, 'since_release', 'string_type'],
    [{ measure: 'errors', since_release: 'x'.repeat(129) }, 'since_release', 'string_too_long'],
    [{ measure: 'errors', since: '2026-11-02', limit: 51 }, 'limit', 'less_than_equal'],
    [{ measure: 'errors', since: '2026-11-02', timezone: 'Mars' }, 'timezone', 'value_error'],
  ])('returns 422 for %j', async (body, member, type) => {
    const { status, body: answer } = await tenant.post('changes', body);
    expect([status, answer.detail]).toEqual([
      422,
      expect.arrayContaining([expect.objectContaining({ type, loc: ['body', member] })]),
    ]);
  });

  it("returns 404 for another team's app, and 405 for a GET", async () => {
    const stranger = await Tenant.create(app);
    const body = { measure: 'requests', since: '2026-11-01' };
    expect((await app.post(`/v1/apps/${tenant.appId}/changes`, stranger.key, body)).status).toBe(404);
    const { status, headers } = await tenant.get('changes');
    expect([status, headers.allow]).toEqual([405, 'POST']);
  });
});
