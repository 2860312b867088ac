import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { planPeriods } from '../../src/api/app-metrics/metric-periods.js';
import { buildStatement } from '../../src/api/app-metrics/metrics-statement.js';
import { TestApp } from '../setup/app.js';
import { readArrow } from '../setup/arrow.js';
import { queryParquet, readParquet } from '../setup/duckdb.js';
import { postFor, postOnly } from '../setup/post-file.js';
import { Tenant } from '../setup/tenant.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const COUNTS = ['requests', 'bytes_received', 'bytes_sent', 'client_errors', 'server_errors', 'error_rate'];
const TIMES = [
  'response_time_p50',
  'response_time_p75',
  'response_time_p90',
  'response_time_p95',
  'response_time_p99',
];
const ALL = ['requests', 'requests_per_minute', ...COUNTS.slice(1), ...TIMES, 'apdex'];

const CLIENT_METRICS = ALL.filter((name) => name !== 'apdex');
const GROUPS = ['env', 'consumer_id', 'method', 'path', 'status_code'];
/** As the public command-line client makes it. */
const CLIENT_TABLE = `CREATE TABLE metrics (
  app_id INTEGER NOT NULL, period_start TIMESTAMPTZ NOT NULL, period_end TIMESTAMPTZ NOT NULL, env VARCHAR,
  consumer_id BIGINT, method VARCHAR, path VARCHAR, status_code INTEGER, requests BIGINT, requests_per_minute DOUBLE,
  bytes_received BIGINT, bytes_sent BIGINT, client_errors BIGINT, server_errors BIGINT, error_rate DOUBLE,
  response_time_p50 INTEGER, response_time_p75 INTEGER, response_time_p90 INTEGER, response_time_p95 INTEGER,
  response_time_p99 INTEGER)`;

/** Most tests ask several times; those that change a mark wait until the cache has it no more. */
const CACHE_MS = 500;
const waitForCache = () => sleep(CACHE_MS);

const iso = (epochMs: number) => new Date(epochMs).toISOString();
const seconds = (epochMs: number) => iso(epochMs).replace(/\.\d{3}Z$/, 'Z');

describe('POST /v1/apps/{app_id}/metrics', () => {
  let app: TestApp;
  let tenant: Tenant;
  /** A UTC midnight some days ago, and the two days from it. */
  const midnight = Math.floor(Date.now() / DAY) * DAY - 5 * DAY;
  const window = { since: iso(midnight), until: iso(midnight + 2 * DAY) };

  beforeAll(async () => {
    app = await TestApp.start({ CACHE_TTL_MS: String(CACHE_MS) });
  });

  afterAll(() => app.stop());

  const createTenant = async () => {
    tenant = await Tenant.create(app);
  };

  const markExpected = async (endpointId: number, statusCode: number, marked = true) => {
    await app.store.insert('endpoint_expected_errors_v1', [
      JSON.stringify({ app_id: tenant.appId, endpoint_id: endpointId, status_code: statusCode, marked }),
    ]);
    await waitForCache();
  };
  const endpointId = async (path: string) => {
    const { body } = await tenant.get('endpoints', { path });
    return body.data[0].id as number;
  };

  describe('200', () => {
    beforeEach(createTenant);

    it('has a line for each period and group, members in their order, whole seconds', async () => {
      const at = midnight + 3 * HOUR;
      await tenant.write(
        { timestamp: at, response_time_ms: 100, request_size_bytes: 7, response_size_bytes: 500 },
        { timestamp: at + 1, response_time_ms: 3_000, status_code: 500 },
        { timestamp: at + 2, response_time_ms: 700, status_code: 404, path: null },
      );
      const { text, headers } = await tenant.post('metrics', {
        ...window,
        metrics: [...ALL].reverse(),
        interval: 'hour',
        group_by: ['status_code', 'path', 'method', 'consumer_id', 'env', 'path'],
      });
      const period = `"period_start":"${seconds(at)}","period_end":"${seconds(at + HOUR)}","env":"prod","consumer_id":null`;
      const times = (ms: number) => TIMES.map((name) => `"${name}":${ms}`).join();
      expect(text).toBe(
        `{${period},"method":"GET","path":"/users/{id}","status_code":200,"requests":1,` +
          '"requests_per_minute":0.016666666666666666,"bytes_received":7,"bytes_sent":500,"client_errors":0,' +
          `"server_errors":0,"error_rate":0,${times(101)},"apdex":1}\n` +
          `{${period},"method":"GET","path":"/users/{id}","status_code":500,"requests":1,` +
          '"requests_per_minute":0.016666666666666666,"bytes_received":0,"bytes_sent":100,"client_errors":0,' +
          `"server_errors":1,"error_rate":1,${times(3018)},"apdex":0}\n` +
          `{${period},"method":null,"path":null,"status_code":404,"requests":1,` +
          '"requests_per_minute":0.016666666666666666,"bytes_received":0,"bytes_sent":100,"client_errors":1,' +
          `"server_errors":0,"error_rate":1,${times(707)},"apdex":0.5}\n`,
      );
      expect(headers['content-type']).toBe('application/x-ndjson');
      expect(headers['x-percentile-accuracy']).toBe('0.011 +1ms');
    });

    it('says no accuracy where there are no percentiles', async () => {
      const { headers } = await tenant.post('metrics', { ...window, metrics: COUNTS });
      expect(headers).not.toHaveProperty('x-percentile-accuracy');
    });

    it('has one row for the window without an interval, to the minute, and now as its end', async () => {
      const since = Date.now() - 3 * DAY;
      await tenant.write(
        { timestamp: since + HOUR },
        { timestamp: Date.now() - 10 },
        { timestamp: since - 2 * MINUTE },
      );
      const [row, ...others] = await tenant.metrics({ since: iso(since), metrics: ['requests'] });
      expect([row!.period_start, row!.requests, others]).toEqual([
        seconds(Math.floor(since / MINUTE) * MINUTE),
        2,
        [],
      ]);
      const end = Date.parse(row!.period_end as string);
      expect([end % MINUTE, end >= Date.now() - MINUTE, end <= Date.now() + MINUTE]).toEqual([0, true, true]);
    });

    it('rounds a window that begins before there are minutes to the quarter-hour', async () => {
      const since = Date.now() - 60 * DAY;
      await tenant.write({ timestamp: since });
      const [row] = await tenant.metrics({ since: iso(since), until: iso(since + 1), metrics: ['requests'] });
      const start = Math.floor(since / (15 * MINUTE)) * 15 * MINUTE;
      expect(row).toEqual({
        period_start: seconds(start),
        period_end: seconds(start + 15 * MINUTE),
        requests: 1,
      });
    });

    it('cuts a window to what is retained: 13 months, and by the minute 32 days', async () => {
      await tenant.write(
        { timestamp: Date.now() - 300 * DAY },
        { timestamp: Date.now() - 33 * DAY },
        { timestamp: midnight },
      );
      const since = '1970-01-01T00:00:00Z';
      const sum = async (interval?: string) => {
        const rows = await tenant.metrics({ since, metrics: ['requests'], ...(interval && { interval }) });
        return rows.reduce((total, { requests }) => total + (requests as number), 0);
      };
      expect([await sum(), await sum('month'), await sum('hour'), await sum('minute')]).toEqual([3, 3, 3, 1]);
      expect(await tenant.metrics({ since, until: '1980-01-01', metrics: ['requests'] })).toEqual([]);
    });

    it('counts the running period by its minutes until now, and at least one', async () => {
      const at = Date.now() - 10;
      await tenant.write({ timestamp: at });
      const [row] = await tenant.metrics({
        since: iso(at),
        until: iso(Date.now() + DAY),
        metrics: ['requests_per_minute'],
        interval: 'minute',
      });
      expect(row).toMatchObject({ requests_per_minute: 1 });
      const [month] = await tenant.metrics({
        since: iso(at),
        until: iso(Date.now() + DAY),
        metrics: ['requests_per_minute'],
        interval: 'month',
      });
      const start = Date.parse(month!.period_start as string);
      const expected = 1 / Math.max(1, (Date.now() - start) / MINUTE);
      expect(month!.requests_per_minute).toBeGreaterThanOrEqual(expected * 0.999);
    });

    it('leaves out excluded endpoints in the past, until they come back', async () => {
      await tenant.write({ timestamp: midnight, path: '/a' }, { timestamp: midnight, path: '/b' });
      const requests = async () => (await tenant.metrics({ ...window, metrics: ['requests'] }))[0]?.requests;
      await tenant.exclude('GET', '/a');
      expect(await requests()).toBe(1);
      await tenant.exclude('GET', '/a', false);
      await waitForCache();
      expect(await requests()).toBe(2);
    });

    it('groups by months, whatever their lengths', async () => {
      const today = new Date();
      const months = Array.from({ length: 12 }, (_, n) =>
        Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - 12 + n),
      );
      await tenant.write(...months.map((timestamp) => ({ timestamp })));
      const query = { since: iso(months[0]!), interval: 'month', metrics: ['requests'] };
      const rows = await tenant.metrics(query);
      expect(rows.map(({ period_start }) => period_start)).toEqual(months.map(seconds));
    });

    it('has no period of sizes alone', async () => {
      await tenant.write({ timestamp: midnight });
      // As a process reports them that counts sizes in another minute.
      const sizes = { requests: 0, bytes_received: 5, bytes_sent: 5, bins: [] };
      const ids = { app_id: tenant.appId, app_env_id: 1, endpoint_id: 0, consumer_id: 0 };
      await app.store.insert('request_counts', [
        JSON.stringify({ ...ids, ...sizes, timestamp: midnight + 3 * HOUR }),
      ]);
      const rows = await tenant.metrics({ ...window, metrics: ['requests'], interval: 'hour' });
      expect(rows).toMatchObject([{ requests: 1 }]);
    });

    it('counts expected errors as successes, in the past too, until the mark is removed', async () => {
      await tenant.write(
        { timestamp: midnight, path: '/a', status_code: 404 },
        { timestamp: midnight, path: '/a', status_code: 500 },
        { timestamp: midnight, path: '/b', status_code: 404 },
      );
      const errors = async () => {
        const [row] = await tenant.metrics({
          ...window,
          metrics: ['client_errors', 'server_errors', 'error_rate'],
        });
        return [row!.client_errors, row!.server_errors, row!.error_rate];
      };
      expect(await errors()).toEqual([2, 1, 1]);
      const id = await endpointId('/a');
      await markExpected(id, 404);
      expect(await errors()).toEqual([1, 1, 2 / 3]);
      const [failed] = await tenant.metrics({
        ...window,
        metrics: ['requests', 'error_rate'],
        filters: [
          { field: 'status_code', op: 'gte', value: 400 },
          { field: 'path', op: 'eq', value: '/a' },
        ],
      });
      expect(failed).toMatchObject({ requests: 2, error_rate: 0.5 });
      await markExpected(id, 404, false);
      expect(await errors()).toEqual([2, 1, 1]);
    });

    it('has null errors where no status is known, else those of the requests that have one', async () => {
      await tenant.write({ timestamp: midnight, status_code: 404 });
      const id = await endpointId('/users/{id}');
      const unknown = {
        app_id: tenant.appId,
        timestamp: midnight + HOUR,
        app_env_id: await tenant.envId('prod'),
        endpoint_id: id,
        consumer_id: 0,
        status_code: 0,
        requests: 4,
        bytes_received: 0,
        bytes_sent: 0,
        bins: [],
      };
      await app.store.insert('request_counts', [JSON.stringify(unknown)]);
      const metrics = [
        'requests',
        'client_errors',
        'server_errors',
        'error_rate',
        'response_time_p50',
        'apdex',
      ];
      const rows = await tenant.metrics({ ...window, metrics, interval: 'hour' });
      expect(rows.map(({ period_start, period_end, ...row }) => row)).toEqual([
        { requests: 1, client_errors: 1, server_errors: 0, error_rate: 1, response_time_p50: 12, apdex: 1 },
        {
          requests: 4,
          client_errors: null,
          server_errors: null,
          error_rate: null,
          response_time_p50: null,
          apdex: null,
        },
      ]);
      const { text } = await tenant.post('metrics', { ...window, metrics, interval: 'hour', format: 'csv' });
      const edges = (at: number) => `"${seconds(at)}","${seconds(at + HOUR)}"`;
      expect(text.split('\r\n')).toEqual([
        `period_start,period_end,${metrics.join()}`,
        `${edges(midnight)},1,1,0,1,12,1`,
        `${edges(midnight + HOUR)},4,,,,,`,
        '',
      ]);
      expect(await tenant.metrics({ ...window, metrics: ['requests', 'error_rate'] })).toMatchObject([
        { requests: 5, error_rate: 1 },
      ]);
      expect(
        (await tenant.metrics({ ...window, metrics: ['requests'], group_by: ['status_code'] })).map(
          (row) => row.status_code,
        ),
      ).toEqual([404, null]);
    });

    it('counts what has no consumer once', async () => {
      await tenant.write(
        { timestamp: midnight, consumer: { identifier: 'anna' }, response_time_ms: 100 },
        { timestamp: midnight, response_time_ms: 200 },
      );
      const [{ consumer_id: anna }] = (await tenant.metrics({
        ...window,
        metrics: ['requests'],
        group_by: ['consumer_id'],
      })) as [{ consumer_id: number }];
      const metrics = ['requests', 'response_time_p50', 'response_time_p99'];
      const rows = (body: object) => tenant.metrics({ ...window, metrics, ...body });
      const [its, others] = [
        { requests: 1, response_time_p50: 101, response_time_p99: 101 },
        { requests: 1, response_time_p50: 201, response_time_p99: 201 },
      ];
      expect(await rows({ group_by: ['consumer_id'] })).toMatchObject([
        { consumer_id: anna, ...its },
        { consumer_id: null, ...others },
      ]);
      const filtered = (op: string, value?: number) =>
        rows({ filters: [{ field: 'consumer_id', op, ...(value !== undefined && { value }) }] });
      expect(await filtered('is_null')).toMatchObject([others]);
      expect(await filtered('neq', anna)).toMatchObject([others]);
      expect(await filtered('is_not_null')).toMatchObject([its]);
      expect(await filtered('eq', anna)).toMatchObject([its]);
    });

    it('reads apdex against its threshold', async () => {
      await tenant.write(
        ...[90, 110, 390, 410].map((response_time_ms) => ({ timestamp: midnight, response_time_ms })),
      );
      const apdex = async (apdex_threshold_ms?: number) =>
        (
          await tenant.metrics({
            ...window,
            metrics: ['apdex'],
            ...(apdex_threshold_ms && { apdex_threshold_ms }),
          })
        )[0]!.apdex;
      expect([await apdex(), await apdex(100), await apdex(50), await apdex(3_600_000)]).toEqual([
        1, 0.5, 0.25, 1,
      ]);
    });

    it('has 13 months by the hour of a zone whose hours are not those of UTC', async () => {
      await tenant.write({ timestamp: midnight });
      const all = { since: '2000-01-01', timezone: 'Australia/Lord_Howe', interval: 'hour' };
      const [row, ...others] = await tenant.metrics({ ...all, metrics: ['requests', 'apdex'] });
      expect([row, others]).toEqual([
        expect.objectContaining({ period_start: expect.stringMatching(/:[03]0:00Z$/), requests: 1 }),
        [],
      ]);
    });

    it('groups by path what a filter leaves of endpoints with the same path', async () => {
      await tenant.write(
        ...['GET', 'GET', 'POST', 'POST', 'POST'].map((method) => ({
          timestamp: midnight,
          method,
          path: '/orders',
          response_time_ms: method === 'GET' ? 10 : 500,
        })),
      );
      const rows = await tenant.metrics({
        ...window,
        metrics: ['requests', 'response_time_p50'],
        group_by: ['path'],
        filters: [{ field: 'method', op: 'eq', value: 'POST' }],
      });
      expect(rows).toMatchObject([
        { path: '/orders', requests: 3, response_time_p50: expect.closeTo(500, -1) },
      ]);
    });

    it('has no rows where there was nothing', async () => {
      const { text, status } = await tenant.post('metrics', { ...window, metrics: ALL });
      expect([status, text]).toEqual([200, '']);
    });

    it.each([
      [{ since: '2020-01-01', until: '2020-02-01' }],
      [{ since: '2020-01-01', until: '2020-02-01', interval: 'day' }],
      [{ since: '9020-01-01', until: '9020-02-01', interval: 'minute' }],
    ])('has no rows of a window beyond all data, by each group and filter: %j', async (beyond) => {
      const filters = [
        { field: 'env', op: 'neq', value: 'none' },
        { field: 'consumer_id', op: 'is_not_null' },
        { field: 'path', op: 'like', value: '/%' },
        { field: 'status_code', op: 'gte', value: 400 },
      ];
      for (const query of [{}, { group_by: GROUPS }, { filters }, { group_by: GROUPS, filters }]) {
        const { text, status } = await tenant.post('metrics', { ...beyond, ...query, metrics: ALL });
        expect([status, text]).toEqual([200, '']);
      }
    });

    it.each([
      [{ since: '2026-11-01T00:00:00Z', metrics: ['requests'] }, 'application/json'],
      [{ since: '2026-11-01T00:00:00Z', metrics: ['requests'] }, 'text/plain'],
      [
        {
          since: '2026-11-01T00:00:00.123456789+00:00',
          metrics: ['requests', 'requests'],
          until: null,
          format: null,
          group_by: null,
        },
        '',
      ],
      [
        {
          since: '2026-11-01',
          metrics: ['requests'],
          unknown: { a: [] },
          filters: [],
          timezone: 'europe/berlin',
        },
        '',
      ],
    ])('takes %j announced as %j', async (body, type) => {
      const response = await tenant.post('metrics', body).set('Content-Type', type);
      expect([response.status, response.text]).toEqual([200, '']);
    });
  });

  describe('a whole app', () => {
    beforeAll(async () => {
      await createTenant();
      await tenant.write({ timestamp: midnight }, { timestamp: midnight, path: '/b' });
    });

    it.each([
      ['hours', 'hour', 'UTC', ['hour']],
      ['days', 'day', 'UTC', ['day']],
      ['days of Kolkata', 'day', 'Asia/Kolkata', ['hour', '15m']],
    ] as const)('is read from its sums for %s', async (_, interval, timezone, grains) => {
      const now = Date.now();
      const range = { since: midnight - DAY, until: midnight + 2 * DAY, now };
      const query = {
        ...planPeriods({ ...range, interval, timezone, byConsumer: false }),
        format: 'ndjson' as const,
        // The projection has no statuses.
        metrics: ['client_errors' as const, 'response_time_p50' as const],
        groupBy: [],
        apdexThresholdMs: 500,
        expectedErrors: [],
        now,
      };
      expect(query.sources.map(({ grain }) => grain)).toEqual(grains);
      const { sql, params, projections } = buildStatement(query, { sql: '', params: {} });
      expect(projections).toBe(true);
      const plan = await app.store.rows<{ explain: string }>('test.plan', `SELECT * FROM (EXPLAIN ${sql})`, {
        ...params,
        app_id: tenant.appId,
      });
      const reads = plan.flatMap(({ explain }) => /ReadFromMergeTree \((.*)\)/.exec(explain)?.[1] ?? []);
      expect(reads.filter((read) => read === 'sums_of_app')).toHaveLength(1);
      expect(reads.filter((read) => /counts_per_(?:hour|day)/.test(read))).toHaveLength(1);
      expect(reads).toHaveLength(2 * grains.length);
    });
  });

  describe('apdex', () => {
    // 500 is in the middle of its bin, 3708 near the lower end, and 3789 near the upper one.
    const cases: [number, Record<string, number>][] = [
      [500, { 499: 1, 500: 1, 505: 1, 506: 0.5, 2000: 0.5, 2021: 0.5, 2022: 0 }],
      [3708, { 3708: 1, 3789: 1, 3790: 0.5, 14_832: 0.5, 15_156: 0.5, 15_157: 0 }],
      [3789, { 3789: 1, 3790: 0.5, 15_156: 0.5, 15_157: 0 }],
    ];

    beforeAll(async () => {
      await createTenant();
      const times = new Set(cases.flatMap(([, expected]) => Object.keys(expected)));
      await tenant.write(
        ...[...times].map((time) => ({
          timestamp: midnight,
          response_time_ms: Number(time),
          path: `/${time}`,
        })),
      );
    });

    it.each(cases)(
      'counts what is above a bound by less than 2.2 % as within, if the bins say so: %d ms',
      async (apdex_threshold_ms, expected) => {
        const rows = await tenant.metrics({
          ...window,
          metrics: ['apdex'],
          group_by: ['path'],
          apdex_threshold_ms,
        });
        expect(
          Object.fromEntries(rows.map(({ path, apdex }) => [String(path).slice(1), apdex])),
        ).toMatchObject(expected);
      },
    );
  });

  describe('filters', () => {
    beforeAll(async () => {
      await createTenant();
      await tenant.write(
        {
          timestamp: midnight,
          method: 'GET',
          path: '/a/100%',
          status_code: 200,
          consumer: { identifier: 'anna' },
        },
        { timestamp: midnight, method: 'POST', path: '/a/{id}', status_code: 404, env: 'dev' },
        { timestamp: midnight, method: 'GET', path: null, status_code: 503, consumer: { identifier: 'bob' } },
      );
    });

    it.each([
      [[{ field: 'path', op: 'eq', value: '/a/{id}' }], [404]],
      [[{ field: 'path', op: 'neq', value: '/a/{id}' }], [200, 503]],
      [[{ field: 'path', op: 'in', value: ['/a/{id}', '/a/100%', 'x'] }], [200, 404]],
      [[{ field: 'path', op: 'in', value: [] }], []],
      [[{ field: 'path', op: 'not_in', value: [] }], [200, 404, 503]],
      [[{ field: 'path', op: 'not_in', value: ['/a/{id}'] }], [200, 503]],
      [[{ field: 'path', op: 'like', value: '/a/%' }], [200, 404]],
      [[{ field: 'path', op: 'like', value: '/a/100\\%' }], [200]],
      [[{ field: 'path', op: 'like', value: '/_/\\{id}' }], [404]],
      [[{ field: 'path', op: 'like', value: '/A/%' }], []],
      [[{ field: 'path', op: 'not_like', value: '%{id}' }], [200, 503]],
      [[{ field: 'path', op: 'contains', value: 'A/1' }], [200]],
      [[{ field: 'path', op: 'not_contains', value: '%' }], [404, 503]],
      [[{ field: 'method', op: 'eq', value: 'post' }], [404]],
      [[{ field: 'method', op: 'like', value: 'po%' }], [404]],
      [[{ field: 'method', op: 'neq', value: 'get' }], [404, 503]],
      [[{ field: 'env', op: 'eq', value: 'dev' }], [404]],
      [[{ field: 'env', op: 'neq', value: 'dev' }], [200, 503]],
      [[{ field: 'env', op: 'eq', value: 'nowhere' }], []],
      [[{ field: 'status_code', op: 'gte', value: 404 }], [404, 503]],
      [[{ field: 'status_code', op: 'lt', value: 404.0 }], [200]],
      [[{ field: 'status_code', op: 'in', value: [200, 503, -1, 1e15] }], [200, 503]],
      [[{ field: 'status_code', op: 'not_in', value: [200] }], [404, 503]],
      [[{ field: 'status_code', op: 'is_null', value: 'ignored' }], []],
      [[{ field: 'status_code', op: 'is_not_null' }], [200, 404, 503]],
      [[{ field: 'consumer_id', op: 'is_null' }], [404]],
      [[{ field: 'consumer_id', op: 'is_not_null' }], [200, 503]],
      [[{ field: 'consumer_id', op: 'neq', value: 1e300 }], [200, 404, 503]],
      [
        [
          { column: ' STATUS_CODE ', operator: 'GT', val: 200 },
          { col: 'method', op: 'eq', value: 'POST' },
        ],
        [404],
      ],
    ])('%j finds %j', async (filters, expected) => {
      const rows = await tenant.metrics({
        ...window,
        metrics: ['requests'],
        group_by: ['status_code'],
        filters,
      });
      expect(rows.map((row) => row.status_code)).toEqual(expected);
    });

    it('finds by the ID of a consumer', async () => {
      const id = await tenant.consumerId('bob');
      const ids = async (op: string, value: unknown) =>
        (
          await tenant.metrics({
            ...window,
            metrics: ['requests'],
            group_by: ['status_code'],
            filters: [{ field: 'consumer_id', op, value }],
          })
        ).map((row) => row.status_code);
      expect([await ids('eq', id), await ids('neq', id), await ids('in', [id])]).toEqual([
        [503],
        [200, 404],
        [503],
      ]);
    });
  });

  describe('filters as many and as long as a body allows', () => {
    beforeAll(async () => {
      await createTenant();
      await tenant.write({ timestamp: midnight });
    });

    it.each([
      [
        'paths',
        [
          {
            field: 'path',
            op: 'not_in',
            value: Array.from({ length: 1_000 }, (_, n) => `/${n}`.padEnd(54, 'x')),
          },
        ],
      ],
      [
        'characters that are escaped',
        Array.from({ length: 15 }, () => ({ field: 'path', op: 'neq', value: "'".repeat(4_000) })),
      ],
      [
        'numbers',
        Array.from({ length: 12 }, () => ({
          field: 'status_code',
          op: 'not_in',
          value: Array(1_000).fill('n'),
        })),
      ],
    ])('are taken: %s', async (_, filters) => {
      const all = { since: '2000-01-01', timezone: 'Australia/Lord_Howe', interval: 'hour' };
      // JSON.stringify writes 1e99 with a sign, which is a longer text of the same number.
      const body = JSON.stringify({ ...all, metrics: ['requests', 'apdex'], filters }).replaceAll(
        '"n"',
        '1e99',
      );
      const { status, text } = await tenant.post('metrics', body);
      expect([status, JSON.parse(text)]).toMatchObject([200, { requests: 1 }]);
    });
  });

  it('groups a million consumers by their groups', async () => {
    await createTenant();
    const write = (sql: string) => app.store.command(sql, { app_id: tenant.appId });
    await write(`INSERT INTO consumers_v1 (app_id, id, identifier, name, group_id, attributes, created_at)
      SELECT {app_id:UInt32}, number + 1, toString(number), '', number % 1000, '', now64(3) FROM numbers(1000000)`);
    await write(`INSERT INTO consumer_groups_v1 (app_id, id, name, created_at)
      SELECT {app_id:UInt32}, number + 1, toString(number + 1), now64(3) FROM numbers(999)`);
    await write(`INSERT INTO counts_per_15m_by_consumer_v1
      SELECT {app_id:UInt32}, 'requests', number + 1, fromUnixTimestamp(${midnight / SECOND}), 1, 1, 200, 0, 2, 0, 0 FROM numbers(1000000)`);
    const rows = await tenant.metrics({ ...window, metrics: ['requests'], group_by: ['consumer_group'] });
    expect(rows).toHaveLength(1000);
    expect(new Set(rows.map(({ requests }) => requests))).toEqual(new Set([2_000]));
    expect(rows.at(-1)!.consumer_group).toBeNull();
  });

  describe('formats', () => {
    const body = { metrics: ALL, group_by: ['method', 'consumer_id', 'status_code', 'path', 'env'] };

    beforeAll(async () => {
      await createTenant();
      await tenant.write(
        { timestamp: midnight, consumer: { identifier: 'anna' }, response_time_ms: 100 },
        { timestamp: midnight, path: null },
      );
    });

    it('gives the types of the public client as arrow', async () => {
      const { body: bytes, headers } = await tenant
        .post('metrics', { ...window, ...body, format: 'arrow' })
        .responseType('blob');
      const { fields, rows } = readArrow(bytes as Buffer);
      expect(headers['content-type']).toBe('application/vnd.apache.arrow.stream');
      expect(fields).toEqual([
        'period_start Timestamp<MILLISECOND, UTC> not null',
        'period_end Timestamp<MILLISECOND, UTC> not null',
        'env Utf8 not null',
        'consumer_id Int64',
        'method Utf8',
        'path Utf8',
        'status_code Int32',
        'requests Int64 not null',
        'requests_per_minute Float64 not null',
        'bytes_received Int64 not null',
        'bytes_sent Int64 not null',
        'client_errors Int64',
        'server_errors Int64',
        'error_rate Float64',
        ...TIMES.map((name) => `${name} Int32`),
        'apdex Float64',
      ]);
      expect(rows.map((row) => row.slice(0, 8))).toEqual([
        [
          midnight,
          midnight + 2 * DAY,
          'prod',
          BigInt(await tenant.consumerId('anna')),
          'GET',
          '/users/{id}',
          200,
          1n,
        ],
        [midnight, midnight + 2 * DAY, 'prod', null, null, null, 200, 1n],
      ]);
    });

    it('gives the same types as parquet', async () => {
      const { body: bytes, headers } = await tenant
        .post('metrics', { ...window, ...body, format: 'parquet' })
        .responseType('blob');
      const { columns, rows } = await readParquet(bytes as Buffer);
      expect(headers['content-type']).toBe('application/vnd.apache.parquet');
      expect(columns.slice(0, 9)).toEqual([
        'period_start TIMESTAMP WITH TIME ZONE',
        'period_end TIMESTAMP WITH TIME ZONE',
        'env VARCHAR',
        'consumer_id BIGINT',
        'method VARCHAR',
        'path VARCHAR',
        'status_code INTEGER',
        'requests BIGINT',
        'requests_per_minute DOUBLE',
      ]);
      expect(rows).toHaveLength(2);
    });

    it("fits into the public client's tables as the client writes it there", async () => {
      const { body: bytes } = await tenant
        .post('metrics', { ...window, ...body, metrics: CLIENT_METRICS, format: 'parquet' })
        .responseType('blob');
      const columns = ['period_start', 'period_end', ...GROUPS, ...CLIENT_METRICS].join(', ');
      const rows = await queryParquet(bytes as Buffer, [
        CLIENT_TABLE,
        'CREATE TEMPORARY TABLE metrics_staging AS SELECT * FROM metrics LIMIT 0',
        `INSERT INTO metrics_staging (app_id, ${columns}) SELECT 1, ${columns} FROM rows`,
        `DELETE FROM metrics WHERE app_id = 1 AND period_start >= (SELECT MIN(period_start) FROM metrics_staging)
          AND period_end <= (SELECT MAX(period_end) FROM metrics_staging)`,
        'INSERT INTO metrics BY NAME SELECT * FROM metrics_staging',
        'SELECT env, consumer_id, path, requests, response_time_p50 FROM metrics ORDER BY consumer_id NULLS LAST',
      ]);
      expect(rows).toEqual([
        ['prod', expect.stringMatching(/^\d+$/), '/users/{id}', '1', 101],
        ['prod', null, null, '1', 12],
      ]);
    });

    it('gives a header line and rows as csv', async () => {
      const { text, headers } = await tenant.post('metrics', {
        ...window,
        format: 'csv',
        metrics: ['requests'],
        group_by: ['path'],
      });
      expect(headers['content-type']).toMatch(/^text\/csv(;|$)/);
      const period = `"${seconds(midnight)}","${seconds(midnight + 2 * DAY)}"`;
      expect(text).toBe(
        `period_start,period_end,path,requests\r\n${period},"/users/{id}",1\r\n${period},,1\r\n`,
      );
    });

    it('has sizes, histograms and groups in each format', async () => {
      const other = await Tenant.create(app);
      await other.write(
        {
          timestamp: midnight,
          consumer: { identifier: 'anna', group: 'Partners' },
          response_time_ms: 100,
          request_size_bytes: 2,
          response_size_bytes: 9_000_000_000_000,
        },
        { timestamp: midnight, status_code: 404, request_size_bytes: null, response_time_ms: null },
      );
      const asked = {
        ...window,
        metrics: ['request_size_avg', 'request_size_p50', 'response_size_p99', 'response_time_histogram'],
        group_by: ['consumer_group', 'status_class'],
      };
      const { text, headers } = await other.post('metrics', asked);
      expect(headers['x-percentile-accuracy']).toBe('0.011 +1ms');
      const period = `"period_start":"${seconds(midnight)}","period_end":"${seconds(midnight + 2 * DAY)}"`;
      expect(text.split('\n')).toEqual([
        `{${period},"consumer_group":"Partners","status_class":"2xx","request_size_avg":2,"request_size_p50":2,` +
          '"response_size_p99":8988702378691,"response_time_histogram":[[101.752,1]]}',
        `{${period},"consumer_group":null,"status_class":"4xx","request_size_avg":null,"request_size_p50":null,` +
          '"response_size_p99":101,"response_time_histogram":[]}',
        '',
      ]);
      const file = async (format: string) =>
        (await other.post('metrics', { ...asked, format }).responseType('blob')).body as Buffer;
      const { fields, rows } = readArrow(await file('arrow'));
      expect(fields.slice(2)).toEqual([
        'consumer_group Utf8',
        'status_class Utf8',
        'request_size_avg Float64',
        'request_size_p50 Int64',
        'response_size_p99 Int64',
        'response_time_histogram List<Struct<{1:Float64, 2:Int64}>> not null',
      ]);
      expect(rows[0]!.slice(2, 7)).toEqual(['Partners', '2xx', 2, 2n, 8_988_702_378_691n]);
      expect(
        await queryParquet(await file('parquet'), [
          'SELECT consumer_group, status_class, request_size_p50, response_time_histogram[1]."2" FROM rows',
        ]),
      ).toEqual([
        ['Partners', '2xx', '2', '1'],
        [null, '4xx', null, null],
      ]);
      expect((await file('csv')).toString().split('\r\n').slice(1)).toEqual([
        `"${seconds(midnight)}","${seconds(midnight + 2 * DAY)}","Partners","2xx",2,2,8988702378691,"[[101.752,1]]"`,
        `"${seconds(midnight)}","${seconds(midnight + 2 * DAY)}",,"4xx",,,101,"[]"`,
        '',
      ]);
    });

    it('says how exact response times are, and not sizes', async () => {
      const sizes = { ...window, metrics: ['response_size_p50'] };
      expect((await tenant.post('metrics', sizes)).headers).not.toHaveProperty('x-percentile-accuracy');
    });

    it('has no path that a spreadsheet takes for a formula as csv_spreadsheet', async () => {
      const other = await Tenant.create(app);
      await other.write({ timestamp: midnight, path: '=1+1' });
      const asked = { ...window, metrics: ['requests'], group_by: ['path'] };
      const { text } = await other.post('metrics', { ...asked, format: 'csv' });
      expect(text).toContain(',"=1+1",1\r\n');
      const { text: guarded, headers } = await other.post('metrics', { ...asked, format: 'csv_spreadsheet' });
      expect(headers['content-type']).toMatch(/^text\/csv(;|$)/);
      expect(guarded).toBe(text.replace('"=1+1"', `"'=1+1"`));
    });

    it('has the same values in lines, which are computed in JavaScript, as in Arrow, which the engine computes', async () => {
      const many = await Tenant.create(app);
      const statuses = [200, 204, 404, 422, 500, 503];
      await many.write(
        ...Array.from({ length: 150 }, (_, index) => ({
          timestamp: midnight + Math.floor(((index * 7919) % 150) * 0.0013 * DAY),
          path: index % 9 === 0 ? null : `/${index % 4}`,
          status_code: statuses[(index * index) % 6]!,
          response_time_ms: [0, 1, 62, 63, 500, 501, index ** 3][index % 7]!,
          request_size_bytes: index * 9_000_000_000_001,
          response_size_bytes: index,
        })),
      );
      const unknown = {
        timestamp: midnight + DAY + HOUR,
        env: 'prod',
        consumer: null,
        method: 'GET',
        path: '/0',
        status_code: 0,
        requests: 3,
        bytes_received: 0,
        bytes_sent: 0,
        bins: [],
      };
      await app.writer.writeCounts(many.appId, [unknown], randomUUID().replaceAll('-', ''));
      // A running month has another rate each second.
      for (const interval of ['minute', 'hour', 'day', undefined]) {
        const length = interval === 'minute' ? 5 * HOUR : 2 * DAY;
        const asked = {
          since: iso(midnight),
          until: iso(midnight + length),
          metrics: ALL,
          apdex_threshold_ms: 100,
          ...(interval && { interval }),
        };
        const lines = await many.metrics(asked);
        const { body: bytes } = await many
          .post('metrics', { ...asked, format: 'arrow' })
          .responseType('blob');
        const { rows } = readArrow(bytes as Buffer);
        const values = rows.map(([start, end, ...others]) => [
          seconds(Number(start)),
          seconds(Number(end)),
          ...others,
        ]);
        expect(values.length).toBeGreaterThan(0);
        const toNumber = (value: unknown) => (typeof value === 'bigint' ? Number(value) : value);
        expect(lines.map((line) => Object.values(line))).toEqual(values.map((row) => row.map(toNumber)));
        const { text } = await many.post('metrics', { ...asked, format: 'csv' });
        expect(text.split('\r\n')).toEqual([
          ['period_start', 'period_end', ...ALL].join(),
          ...values.map((row) => row.map((cell, index) => (index < 2 ? `"${String(cell)}"` : cell)).join()),
          '',
        ]);
      }
    });

    it.each([
      ['text/csv', 'text/csv'],
      ['text/csv; charset=utf-8', 'text/csv'],
      ['Text/CSV;charset="UTF-8";q=0.5, application/x-ndjson;q=0.4', 'text/csv'],
      ['text/csv; charset=utf-16, application/vnd.apache.parquet;q=0.5', 'application/vnd.apache.parquet'],
      ['text/csv;q=0.5, application/vnd.apache.parquet', 'application/vnd.apache.parquet'],
      ['application/vnd.apache.arrow.stream', 'application/vnd.apache.arrow.stream'],
      ['*/*', 'application/x-ndjson'],
      ['text/html', 'application/x-ndjson'],
    ])('follows Accept: %s where no format is given', async (accept, type) => {
      const { headers } = await tenant
        .post('metrics', { ...window, metrics: ['requests'] })
        .set('Accept', accept);
      expect(headers['content-type']!.split(';')[0]).toBe(type);
    });

    it('goes by the format before Accept', async () => {
      const { headers } = await tenant
        .post('metrics', { ...window, metrics: ['requests'], format: 'ndjson' })
        .set('Accept', 'text/csv');
      expect(headers['content-type']).toBe('application/x-ndjson');
    });
  });

  describe('a long file', () => {
    const PERIODS = 3;
    const ROWS = 17_000;
    /** A long name, so that fewer rows are more than a file that is read at once. */
    const ENV = 'e'.repeat(100);
    const body = {
      ...window,
      until: iso(midnight + PERIODS * MINUTE),
      metrics: CLIENT_METRICS,
      interval: 'minute',
      group_by: ['env', 'consumer_id', 'status_code'],
    };

    beforeAll(async () => {
      await createTenant();
      await tenant.write({ timestamp: midnight, env: ENV });
      await app.store.command(
        `INSERT INTO counts_per_minute_v1
        SELECT {app_id:UInt32}, 'requests', toDateTime({midnight:UInt32} + number % ${PERIODS} * 60, 'UTC'), {env:UInt32}, 0,
          intDiv(number, ${PERIODS}) + 1, 200, 0, number % 7 + 1, number, 2 * number
        FROM numbers(${ROWS * PERIODS})`,
        { app_id: tenant.appId, midnight: midnight / SECOND, env: await tenant.envId(ENV) },
      );
    });

    const read = async (change: object, headers: Record<string, string> = {}) => {
      const response = await postFor(app.url, `/v1/apps/${tenant.appId}/metrics`, {
        headers: { 'Api-Key': tenant.key, ...headers },
        body: { ...body, ...change },
      });
      return { ...response, text: response.body.toString() };
    };

    it('is the same as that of its periods one by one, and is sent in chunks with trailers', async () => {
      for (const format of ['ndjson', 'csv'] as const) {
        const whole = await read({ format }, { TE: 'trailers' });
        expect([whole.status, whole.headers['transfer-encoding']]).toEqual([200, 'chunked']);
        expect(whole.headers['x-percentile-accuracy']).toBeDefined();
        const parts = [];
        for (let period = 0; period < PERIODS; period += 1) {
          const since = midnight + period * MINUTE;
          const part = await read({ format, since: iso(since), until: iso(since + MINUTE) });
          parts.push(
            format === 'csv' && period > 0 ? part.text.slice(part.text.indexOf('\r\n') + 2) : part.text,
          );
        }
        expect(whole.text === parts.join('')).toBe(true);
        expect(whole.trailers).toEqual({ 'x-row-count': String(PERIODS * ROWS + 1), 'x-complete': 'true' });
      }
    });

    it('has the same rows in the formats with types', async () => {
      const rows = (await read({})).text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Row);
      type Row = Record<string, string | number | null>;
      const sums = (name: string) => rows.reduce((sum, row) => sum + Number(row[name]), 0);
      const expected = [rows.length, sums('consumer_id'), sums('requests'), sums('bytes_sent')];
      const { fields, rows: ofArrow } = readArrow((await read({ format: 'arrow' })).body);
      const sumOf = (name: string) => {
        const index = fields.findIndex((field) => field.startsWith(`${name} `));
        return ofArrow.reduce((sum, row) => sum + Number(row[index]), 0);
      };
      expect([ofArrow.length, sumOf('consumer_id'), sumOf('requests'), sumOf('bytes_sent')]).toEqual(
        expected,
      );
      const parquet = await read({ format: 'parquet' });
      const statement = 'SELECT count(*), sum(consumer_id), sum(requests), sum(bytes_sent) FROM rows';
      const [found] = await queryParquet(parquet.body, [statement]);
      expect(found!.map(Number)).toEqual(expected);
    });

    it('holds one of the places for files while it is sent', async () => {
      const path = `/v1/apps/${tenant.appId}/metrics`;
      const sent = { headers: { 'Api-Key': tenant.key }, body };
      const unread = [await postOnly(app.url, path, sent), await postOnly(app.url, path, sent)];
      expect(unread.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
      const third = await postFor(app.url, path, sent);
      expect([third.status, third.headers['retry-after']]).toEqual([429, '1']);
      for (const response of unread) response.destroy();
    });
  });

  describe('422', () => {
    beforeAll(createTenant);

    const good = { since: '2026-11-01', metrics: ['requests'] };
    const readIssues = async (body: unknown) => {
      const { status, body: response } = await tenant.post('metrics', body);
      expect([body, status]).toEqual([body, 422]);
      return (response as { detail: Record<string, unknown>[] }).detail;
    };
    const valueError = (loc: unknown[], msg: string, input: unknown) => ({
      type: 'value_error',
      loc: ['body', ...loc],
      msg: `Value error, ${msg}`,
      input,
      ctx: { error: {} },
    });

    it.each([
      ['', { type: 'missing', loc: ['body'], msg: 'Field required', input: null }],
      ['[]', { type: 'model_attributes_type', loc: ['body'], input: [] }],
      ['"x"', { type: 'model_attributes_type', loc: ['body'], input: 'x' }],
      ['7', { type: 'model_attributes_type', loc: ['body'], input: 7 }],
      ['null', { type: 'model_attributes_type', loc: ['body'], input: null }],
      ['{"since":', { type: 'json_invalid', loc: ['body', 9], msg: 'JSON decode error', input: {} }],
      ['{"since":1,}', { type: 'json_invalid', loc: ['body', 11] }],
      ['{"a":NaN}', { type: 'json_invalid', loc: ['body', 5] }],
      ["{'a':1}", { type: 'json_invalid', loc: ['body', 1] }],
      [`{"a":${'['.repeat(16)}${']'.repeat(16)}}`, { type: 'json_invalid', loc: ['body', 20] }],
      [`{"a":${'['.repeat(60_000)}`, { type: 'json_invalid', loc: ['body', 20] }],
    ])('for the body %.40s', async (text, issue) => {
      expect(await readIssues(text)).toMatchObject([issue]);
    });

    it('for bytes that are no text', async () => {
      const response = await fetch(`${app.url}/v1/apps/${tenant.appId}/metrics`, {
        method: 'POST',
        headers: { 'Api-Key': tenant.key, 'Content-Type': 'application/json' },
        body: Buffer.from([0x7b, 0xff, 0x7d]),
      });
      expect([response.status, await response.json()]).toMatchObject([
        422,
        { detail: [{ type: 'json_invalid', loc: ['body', 0] }] },
      ]);
    });

    it('takes what is nested 16 deep', async () => {
      const text = `{"a":${'['.repeat(15)}${']'.repeat(15)},"since":"2026-11-01","metrics":["requests"]}`;
      expect((await tenant.post('metrics', text)).status).toBe(200);
    });

    it('reports all issues of the path and the body, members in their order', async () => {
      const body = {
        apdex_threshold_ms: 1.5,
        timezone: 'Mars/Olympus',
        filters: [7, { field: 'path', op: 'gt' }, { field: 'x', op: 'y' }],
        group_by: ['path', 'host', 3],
        interval: 'week',
        metrics: [],
        until: 'x',
        format: 'xml',
      };
      const { status, body: response } = await app.post('/v1/apps/0/metrics', tenant.key, body);
      expect(status).toBe(422);
      expect(response.detail).toMatchObject([
        { type: 'greater_than_equal', loc: ['path', 'app_id'], input: '0' },
        {
          type: 'literal_error',
          loc: ['body', 'format'],
          msg: "Input should be 'ndjson', 'arrow', 'csv', 'parquet' or 'csv_spreadsheet'",
          input: 'xml',
        },
        { type: 'missing', loc: ['body', 'since'], msg: 'Field required', input: body },
        { type: 'datetime_from_date_parsing', loc: ['body', 'until'], input: 'x' },
        {
          type: 'too_short',
          loc: ['body', 'metrics'],
          msg: 'List should have at least 1 item after validation, not 0',
          input: [],
          ctx: { field_type: 'List', min_length: 1, actual_length: 0 },
        },
        {
          type: 'literal_error',
          loc: ['body', 'interval'],
          msg: "Input should be 'month', 'day', 'hour' or 'minute'",
        },
        { type: 'literal_error', loc: ['body', 'group_by', 1], input: 'host' },
        {
          type: 'string_type',
          loc: ['body', 'group_by', 2],
          msg: 'Input should be a valid string',
          input: 3,
        },
        { type: 'model_attributes_type', loc: ['body', 'filters', 0], input: 7 },
        valueError(['filters', 1, 'op'], "operator 'gt' is not supported for field 'path'", 'gt'),
        { type: 'literal_error', loc: ['body', 'filters', 2, 'field'], input: 'x' },
        { type: 'literal_error', loc: ['body', 'filters', 2, 'op'], input: 'y' },
        valueError(['timezone'], 'unknown timezone', 'Mars/Olympus'),
        {
          type: 'int_type',
          loc: ['body', 'apdex_threshold_ms'],
          msg: 'Input should be a valid integer',
          input: 1.5,
        },
      ]);
    });

    it.each([
      [{ since: null }, ['since'], 'string_type'],
      [{ since: 1735689600 }, ['since'], 'string_type'],
      [{ since: '' }, ['since'], 'datetime_from_date_parsing'],
      [{ metrics: 'requests' }, ['metrics'], 'list_type'],
      [{ metrics: null }, ['metrics'], 'list_type'],
      [{ metrics: Array(101).fill('requests') }, ['metrics'], 'too_long'],
      [{ group_by: 'path' }, ['group_by'], 'list_type'],
      [{ filters: {} }, ['filters'], 'list_type'],
      [{ filters: Array(101).fill({ field: 'env', op: 'eq', value: 'x' }) }, ['filters'], 'too_long'],
      [{ filters: [{ op: 'eq', value: 'x' }] }, ['filters', 0, 'field'], 'missing'],
      [{ filters: [{ field: 'env', value: 'x' }] }, ['filters', 0, 'op'], 'missing'],
      [{ filters: [{ field: 'env', op: 'eq' }] }, ['filters', 0, 'value'], 'value_error'],
      [{ filters: [{ field: 'env', op: 'eq', value: null }] }, ['filters', 0, 'value'], 'value_error'],
      [{ filters: [{ field: 'env', op: 'eq', value: ['x'] }] }, ['filters', 0, 'value'], 'value_error'],
      [{ filters: [{ field: 'env', op: 'in', value: 'x' }] }, ['filters', 0, 'value'], 'value_error'],
      [
        { filters: [{ field: 'env', op: 'in', value: ['x', null] }] },
        ['filters', 0, 'value', 1],
        'value_error',
      ],
      [
        { filters: [{ field: 'env', op: 'in', value: Array(1001).fill('x') }] },
        ['filters', 0, 'value'],
        'too_long',
      ],
      [
        { filters: [{ field: 'env', op: 'eq', value: 'x'.repeat(4097) }] },
        ['filters', 0, 'value'],
        'string_too_long',
      ],
      [{ filters: [{ field: 'env', op: 'eq', value: 'a\0b' }] }, ['filters', 0, 'value'], 'value_error'],
      [{ filters: [{ field: 'path', op: 'like', value: 'a\\' }] }, ['filters', 0, 'value'], 'value_error'],
      [{ filters: [{ field: 'path', op: 'ilike', value: 'a' }] }, ['filters', 0, 'op'], 'value_error'],
      [
        { filters: [{ field: 'status_code', op: 'eq', value: '404' }] },
        ['filters', 0, 'value'],
        'value_error',
      ],
      [
        { filters: [{ field: 'status_code', op: 'eq', value: true }] },
        ['filters', 0, 'value'],
        'value_error',
      ],
      [{ filters: [{ field: 'status_code', op: 'eq', value: 4.5 }] }, ['filters', 0, 'value'], 'value_error'],
      [
        { filters: [{ field: 'path', op: 'eq', value: 'x', key: 'a' }] },
        ['filters', 0, 'key'],
        'value_error',
      ],
      [{ apdex_threshold_ms: 0 }, ['apdex_threshold_ms'], 'greater_than_equal'],
      [{ apdex_threshold_ms: 3_600_001 }, ['apdex_threshold_ms'], 'less_than_equal'],
      [{ since: '2026-11-02', until: '2026-11-02' }, ['since'], 'value_error'],
      [{ since: '9999-12-31' }, ['since'], 'value_error'],
    ])('for %j', async (change, loc, type) => {
      const [issue, ...others] = await readIssues({ ...good, ...change });
      expect([issue!.type, issue!.loc, others]).toEqual([type, ['body', ...loc], []]);
    });

    it('for a result of more than 1,000,000 rows, and not for one of just as many', async () => {
      await tenant.write({ timestamp: midnight });
      await app.store.command(
        `INSERT INTO counts_per_minute_v1
        SELECT {app_id:UInt32}, 'requests', toDateTime({midnight:UInt32} + intDiv(number, 1000) * 60, 'UTC'), 1, 0, number % 1000 + 1, 200, 0, 1, 0, 0
        FROM numbers(1000001)`,
        { app_id: tenant.appId, midnight: midnight / SECOND },
      );
      const body = {
        since: iso(midnight),
        until: iso(midnight + DAY),
        metrics: ['requests'],
        interval: 'minute',
        group_by: ['consumer_id'],
      };
      for (const format of ['ndjson', 'arrow', 'parquet'] as const)
        expect(await readIssues({ ...body, format })).toEqual([
          valueError([], 'the result has more than 1000000 rows', { ...body, format }),
        ]);
      const filters = [{ field: 'consumer_id', op: 'is_not_null' }];
      const whole = await postFor(app.url, `/v1/apps/${tenant.appId}/metrics`, {
        headers: { 'Api-Key': tenant.key },
        body: { ...body, filters, until: iso(midnight + 1_000 * MINUTE) },
      });
      expect([whole.status, whole.body.toString().split('\n').length - 1]).toEqual([200, 1_000_000]);
    });

    it('names since and until where they are not in order', async () => {
      const [issue] = await readIssues({ ...good, until: '2026-10-01' });
      expect(issue).toEqual(valueError(['since'], 'since must be before until', '2026-11-01'));
    });

    it('returns members called like those of every object as any other', async () => {
      const text = '{"__proto__":{"since":"2026-11-01"},"constructor":1,"metrics":["requests"]}';
      expect(await readIssues(text)).toMatchObject([{ type: 'missing', loc: ['body', 'since'] }]);
      const filters = [{ field: '__proto__', op: 'constructor', value: 'x' }];
      expect(await readIssues({ ...good, filters })).toMatchObject([
        { type: 'literal_error' },
        { type: 'literal_error' },
      ]);
    });
  });

  describe('other responses', () => {
    beforeAll(createTenant);

    const body = { since: '2026-11-01', metrics: ['requests'] };

    it('401 without a key, before the body is read', async () => {
      const { status } = await tenant.post('metrics', '{').unset('Api-Key');
      expect(status).toBe(401);
    });

    it("404 for another team's app, as if it were unknown, behind 422", async () => {
      const stranger = await Tenant.create(app);
      const call = (appId: number, sent: unknown) => app.post(`/v1/apps/${appId}/metrics`, tenant.key, sent);
      for (const appId of [stranger.appId, 1_999_999_999]) {
        const { status, text } = await call(appId, body);
        expect([status, text]).toEqual([404, '{"detail":"App not found"}']);
        expect((await call(appId, {})).status).toBe(422);
      }
    });

    it('counts nothing of another app, whichever of its names are asked for', async () => {
      const stranger = await Tenant.create(app);
      await stranger.write({ timestamp: midnight, path: '/theirs', env: 'theirs' });
      for (const filter of [
        { field: 'path', op: 'eq', value: '/theirs' },
        { field: 'env', op: 'neq', value: 'x' },
      ])
        expect(
          await tenant.metrics({
            ...window,
            metrics: ['requests'],
            filters: [filter],
            group_by: ['path', 'env'],
          }),
        ).toEqual([]);
    });

    it('413 for a body over 64 KB', async () => {
      const { status, text } = await tenant.post('metrics', { ...body, padding: 'x'.repeat(65_536) });
      expect([status, text]).toEqual([413, '{"detail":"Payload too large"}']);
      const fits = JSON.stringify({ ...body, padding: '' }).length;
      expect((await tenant.post('metrics', { ...body, padding: 'x'.repeat(65_536 - fits) })).status).toBe(
        200,
      );
    });

    it.each(['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])(
      '405 for %s, which allows POST',
      async (method) => {
        const response = await fetch(`${app.url}/v1/apps/${tenant.appId}/metrics`, {
          method,
          headers: { 'Api-Key': tenant.key },
        });
        expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
      },
    );

    it('400 for a body that breaks off, and the service goes on', async () => {
      const { port } = new URL(app.url);
      const socket = connect(Number(port), '127.0.0.1');
      socket.write(
        `POST /v1/apps/${tenant.appId}/metrics HTTP/1.1\r\nHost: x\r\nApi-Key: ${tenant.key}\r\nContent-Length: 100\r\n\r\n{"since"`,
      );
      await new Promise((resolve) => socket.write(':', resolve));
      socket.destroy();
      await once(socket, 'close');
      expect((await tenant.post('metrics', body)).status).toBe(200);
    });

    it('carries the rate limit of the key', async () => {
      const { headers } = await tenant.post('metrics', body);
      expect(headers).toMatchObject({
        'x-ratelimit-limit': '1000000',
        'x-ratelimit-remaining': expect.stringMatching(/^\d+$/),
      });
    });
  });
});
