import { DateTime } from 'luxon';
import { trafficRetainedFrom } from '../../src/config/retention.js';
import { toLogRow } from '../../src/write/row-encoder.js';
import { buildRequest } from '../factories/request.factory.js';
import { TestApp } from '../setup/app.js';
import { holdClock, releaseClock } from '../setup/clock.js';
import { COUNTS_TABLES } from '../setup/rollups.js';
import { type Query, Tenant, type TrafficBody } from '../setup/tenant.js';

const SECOND = 1_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const LOG_TABLES = ['request_logs_v1', 'request_details_v1'];
const TRAFFIC_TABLES = COUNTS_TABLES.filter((table) => !table.includes('minute'));
/** Kept for 13 months as well. */
const OTHER_TRAFFIC_TABLES = [
  'error_counts_per_15m_v1',
  'instance_resources_v1',
  'instance_versions_v1',
  'instances_v1',
];
const MINUTES_KEPT_MS = 32 * DAY;

const iso = (epochMs: number) => new Date(epochMs).toISOString();

/** Nothing older than the retention is returned, whether or not it has been deleted yet: here it has not. */
describe('retention', () => {
  let app: TestApp;
  let tenant: Tenant;
  let now: number;

  beforeAll(async () => {
    app = await TestApp.start();
    for (const table of [...LOG_TABLES, 'spans_v1', ...TRAFFIC_TABLES])
      await app.store.command(`SYSTEM STOP TTL MERGES ${table}`);
  });

  beforeEach(async () => {
    now = holdClock();
    tenant = await Tenant.create(app);
  });

  afterEach(releaseClock);
  afterAll(() => app.stop());

  const rowsIn = async (table: string) => {
    const sql = `SELECT toUInt32(count()) AS n FROM ${table} WHERE app_id = {app_id:UInt32}`;
    const [row] = await app.store.rows<{ n: number }>('test.count', sql, { app_id: tenant.appId });
    return row!.n;
  };

  describe('of request logs: 15 days', () => {
    const LIMIT = 15 * DAY;

    /** Past the landing table, which does not log what is too old; resolves to the UUIDs, by age. */
    const store = async (...ages: number[]) => {
      const ids = { app_env_id: 1, endpoint_id: 0, consumer_id: 0 };
      const requests = ages.map((age) => buildRequest({ timestamp: now - age, url: String(age) }));
      const rows = requests.map((request) => toLogRow(tenant.appId, request, ids));
      for (const table of LOG_TABLES) {
        const values = rows.map(
          ({ app_id, timestamp, request_uuid, captured_json: captured_json, ...others }) => {
            const found = { app_id, timestamp, request_uuid };
            return JSON.stringify(
              table.includes('details') ? { ...found, captured_json } : { ...found, ...others },
            );
          },
        );
        await app.store.insert(table, values);
        expect(await rowsIn(table)).toBe(ages.length);
      }
      return new Map(requests.map(({ url, request_uuid }) => [Number(url), request_uuid]));
    };
    const shown = async (query = {}) =>
      (await tenant.logs({ start: '2000-01-01', ...query })).data.map(({ url }) => Number(url));

    it('shows what is exactly 15 days old, and nothing older, without an error', async () => {
      await store(LIMIT - 1, LIMIT, LIMIT + 1, LIMIT + DAY, 400 * DAY);
      expect(await shown()).toEqual([LIMIT - 1, LIMIT]);
      expect(await shown({ start: iso(now - LIMIT - 1) })).toEqual([LIMIT - 1, LIMIT]);
      expect(await shown({ start: '0001-01-01', end: '9999-12-31' })).toEqual([LIMIT - 1, LIMIT]);
      const { text } = await tenant.post('request-logs', { since: '2000-01-01', fields: ['url'] });
      const exported = text.split('\n').slice(0, -1);
      expect(exported.map((line) => Number((JSON.parse(line) as { url: string }).url)).sort()).toEqual([
        LIMIT - 1,
        LIMIT,
      ]);
    });

    it('returns an empty page for a window that lies before it', async () => {
      await store(LIMIT + 1, LIMIT + DAY);
      const query = { start: iso(now - LIMIT - 2 * DAY), end: iso(now - LIMIT) };
      expect((await tenant.get('request-logs', query)).text).toBe('{"data":[],"has_more":false}');
    });

    it('has no details of what is older', async () => {
      const uuids = await store(LIMIT, LIMIT + 1, LIMIT + DAY);
      const statuses = [LIMIT, LIMIT + 1, LIMIT + DAY].map(async (age) => {
        const { status, text } = await tenant.get(`request-logs/${uuids.get(age)!}`);
        return status === 200 ? status : text;
      });
      const gone = '{"detail":"Request log not found"}';
      expect(await Promise.all(statuses)).toEqual([200, gone, gone]);
    });

    it('has no spans of what is older', async () => {
      const span = { app_id: tenant.appId, app_env_id: 1, trace_id: 'a'.repeat(32), span_id: 'b'.repeat(16) };
      const rest = { kind: 'CLIENT', status: 'OK', duration_ns: '1', attributes: '{}', events: '[]' };
      const rows = [LIMIT, LIMIT + 1].map((age) =>
        JSON.stringify({ ...span, ...rest, name: String(age), start_time_ns: `${now - age}000000` }),
      );
      await app.store.insert('logged_spans', rows);
      const { text } = await tenant.post('traces', { since: '2000-01-01', fields: ['name'] });
      const lines = text.split('\n').slice(0, -1);
      expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([{ name: String(LIMIT) }]);
    });

    it('also cuts the later pages of a walk that has begun before', async () => {
      await store(LIMIT - 4 * HOUR, LIMIT - 3 * HOUR, LIMIT - 2 * HOUR, LIMIT - HOUR);
      const { data, next_token } = await tenant.logs({ start: '2000-01-01', limit: 1 });
      holdClock(now + 2.5 * HOUR);
      const rest = await tenant.logs({ next_token: next_token! });
      expect([...data, ...rest.data].map(({ url }) => Number(url))).toEqual([
        LIMIT - 4 * HOUR,
        LIMIT - 3 * HOUR,
      ]);
    });

    it('does not log what is already too old when it arrives, but counts it', async () => {
      await tenant.write({ timestamp: now - LIMIT - 60 * SECOND });
      for (const table of LOG_TABLES) expect(await rowsIn(table)).toBe(0);
      const query = { interval: 'day', start: iso(now - LIMIT - 2 * DAY) };
      expect((await tenant.traffic(query)).data).toMatchObject([{ requests: 1 }]);
    });
  });

  describe('of traffic: 13 months', () => {
    const consumer = { identifier: 'anna' };
    const QUERIES = [
      { interval: 'hour', timezone: 'UTC' },
      { interval: 'day', timezone: 'UTC' },
      { interval: 'hour', timezone: 'Asia/Kathmandu' },
      { interval: 'day', timezone: 'Asia/Kolkata' },
      { interval: 'hour', timezone: 'UTC', consumer: true },
      { interval: 'day', timezone: 'America/New_York', consumer: true },
    ];
    const traffic = async (
      { consumer: hasConsumer = false, ...query }: (typeof QUERIES)[number],
      start: string,
    ) => {
      const consumer_id: Query = hasConsumer ? { consumer_id: await tenant.consumerId('anna') } : {};
      return tenant.readAllPages<TrafficBody>('traffic', { ...query, ...consumer_id, start }, () => 1000);
    };

    it.each(QUERIES)('shows nothing older in %j, and all that is younger', async (query) => {
      const from = DateTime.fromMillis(now, { zone: 'UTC' }).minus({ months: 13 }).toMillis();
      const old = [from - 1, from - HOUR, from - DAY, from - 3 * DAY, from - 400 * DAY];
      const young = [from + 2 * DAY, from + 10 * DAY, now - 1];
      const records = [...old, ...young].map((timestamp) => ({ timestamp, consumer }));
      await tenant.write(...records);
      for (const table of TRAFFIC_TABLES) expect(await rowsIn(table)).toBeGreaterThanOrEqual(6);
      const shown = await traffic(query, '2000-01-01');
      expect(shown.reduce((sum, { requests }) => sum + requests, 0)).toBe(young.length);
      for (const { period_start } of shown) expect(Date.parse(period_start)).toBeGreaterThanOrEqual(from);
      expect(await traffic(query, iso(from - DAY))).toEqual(shown);
    });

    it.each([{}, { interval: 'month' }, { interval: 'day' }, { interval: 'hour' }])(
      'has metrics of nothing older with %j, and of all that is younger',
      async (query) => {
        const from = DateTime.fromMillis(now, { zone: 'UTC' }).minus({ months: 13 }).toMillis();
        const old = [from - 1, from - HOUR, from - DAY, from - 400 * DAY];
        const young = [from + 40 * DAY, now - 1];
        await tenant.write(...[...old, ...young].map((timestamp) => ({ timestamp })));
        const rows = await tenant.metrics({ since: '2000-01-01', metrics: ['requests'], ...query });
        expect(rows.reduce((sum, { requests }) => sum + Number(requests), 0)).toBe(young.length);
      },
    );

    it('shows a period once all of it is younger', async () => {
      const from = DateTime.fromMillis(now, { zone: 'UTC' }).minus({ months: 13 });
      const next = from.startOf('hour').plus({ hours: 1 });
      await tenant.write({ timestamp: next.toMillis() }, { timestamp: next.toMillis() - HOUR - 1 });
      const shown = await traffic({ interval: 'hour', timezone: 'UTC' }, '2000-01-01');
      expect(shown.map(({ period_start }) => Date.parse(period_start))).toEqual([next.toMillis()]);
    });

    it('returns an empty page for a window that lies before it', async () => {
      await tenant.write({ timestamp: Date.parse('2001-01-02T03:04:05Z') });
      const query = { start: '2001-01-01', end: '2001-02-01', interval: 'day' };
      expect((await tenant.get('traffic', query)).text).toBe('{"data":[],"has_more":false}');
    });
  });

  describe('of the tables', () => {
    /** The engine's own deletion time of rows at these times, in milliseconds since the epoch. */
    const deletedAt = async (table: string, times: readonly number[]) => {
      const [definition] = await app.store.rows<{ ttl: string }>(
        'test.ttl',
        `SELECT extract(create_table_query, 'TTL (.*?) SETTINGS') AS ttl FROM system.tables
         WHERE name = {table:String} AND database = currentDatabase()`,
        { table },
      );
      const at = definition!.ttl.includes('bucket')
        ? `toDateTime(fromUnixTimestamp64Milli(ms, 'UTC'), 'UTC') AS bucket`
        : `fromUnixTimestamp64Milli(ms, 'UTC') AS timestamp, timestamp AS started_at, timestamp AS last_seen`;
      const rows = await app.store.rows<{ at: number }>(
        'test.ttl',
        `SELECT toUInt32(${definition!.ttl}) AS at
         FROM (SELECT ${at} FROM (SELECT arrayJoin({times:Array(Int64)}) AS ms)) ORDER BY 1`,
        { times: [...times] },
      );
      return rows.map((row) => row.at * 1_000);
    };

    it.each([...LOG_TABLES, 'errors_v1'])('keeps rows of %s for as long as they are shown', async (table) => {
      const times = [0, 1, 500, 999, 1_000].map((ms) => Date.UTC(2026, 1, 28, 23, 59, 59) + ms);
      const deleted = await deletedAt(table, times);
      for (const [index, time] of times.entries())
        expect(deleted[index]).toBeGreaterThanOrEqual(time + 15 * DAY);
    });

    it('keeps rows of minutes for 32 days', async () => {
      const buckets = [Date.UTC(2026, 1, 28, 23, 59), Date.UTC(2026, 2, 1)];
      const deleted = await deletedAt('counts_per_minute_v1', buckets);
      expect(deleted).toEqual(buckets.map((bucket) => bucket + MINUTES_KEPT_MS));
    });

    it.each([...TRAFFIC_TABLES, ...OTHER_TRAFFIC_TABLES])(
      'keeps rows of %s for as long as they are shown',
      async (table) => {
        const days = Array.from({ length: 3 * 365 }, (_, n) => Date.UTC(2023, 5, 1) + n * DAY);
        const deleted = await deletedAt(table, days);
        for (const [index, bucket] of days.entries()) {
          const lastShown = [0, 1, 2, 3, 4, 5].map((more) => bucket + 395 * DAY + more * DAY);
          const shown = lastShown.filter((at) => trafficRetainedFrom(at) <= bucket);
          expect(deleted[index]).toBeGreaterThan(Math.max(...shown));
        }
      },
    );
  });
});
