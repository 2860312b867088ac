import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { buildRequest } from '../factories/request.factory.js';
import { TestApp, WITHOUT_CACHE } from '../setup/app.js';
import { holdClock, releaseClock } from '../setup/clock.js';
import { Tenant } from '../setup/tenant.js';

/** `npm run sql:generate` sets it. */
const PROTOBUF = 'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited';
const WRITES = process.env.SQL_GENERATE === '1';
const DIRECTORY = join('test', 'contract', 'sql');
/** No retention reaches it. The tables that a window reads depend on the time of day. */
const NOW = Date.UTC(2099, 4, 14, 9, 17, 23);
const UUID = '0a0b0c0d-0e0f-4a0b-8c0d-0e0f0a0b0c0d';
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const [DAY, MONTHS] = ['2099-05-13T09:17', '2098-05-01'];

/** Statements of many operations, each shown in one file alone. */
const SHOWN_IN: Readonly<Record<string, string>> = {
  'api_keys.find': 'getTeam.plain',
  'apps.find_scope': 'listEndpoints.plain',
  'request_logs.stats': 'getRequestLogs.plain',
};

type Call = string | [resource: string, body: object];
const metrics = (body: object): Call => ['metrics', { since: DAY, metrics: ['requests'], ...body }];
const exported = (body: object): Call => ['request-logs', { since: DAY, ...body }];
const traces = (body: object): Call => ['traces', { since: DAY, ...body }];
const TIMES = ['requests', 'error_rate', 'response_time_p50', 'response_time_p99', 'apdex'];
const traffic = (parameters: string): Call => `traffic?start=${DAY}&${parameters}`;
const logs = (parameters: string): Call => `request-logs?start=${DAY}&${parameters}`;

/**
 * One call for each file: a path of the API, below the app unless it begins with a slash, with a body for a
 * POST.
 */
const CASES: Readonly<Record<string, Call>> = {
  'getTeam.plain': '/v1/team',
  'listApps.plain': '/v1/apps',
  'listEndpoints.plain': 'endpoints',
  'listEndpoints.filtered': 'endpoints?app_env_id=1&method=GET&path=/users/*',
  'listEndpoints.inventory': 'endpoints?include=inventory&app_env_id=1',
  'listConsumers.plain': 'consumers',
  'listConsumers.since': 'consumers?limit=1&requests_since=2099-05-01',
  'listConsumers.activity': 'consumers?include=activity',
  'getRequestLogs.plain': 'request-logs',
  'getRequestLogs.window': logs('end=2099-05-14'),
  'getRequestLogs.consumer': logs('consumer_id=1'),
  'getRequestLogs.method-and-status': logs('method=GET,POST&status_code=2xx,404'),
  'getRequestLogs.path': logs('path=/users/*&app_env_id=1'),
  'getRequestLogFacets.path': 'request-logs/facets?field=path&start=2099-05-13&method=GET&app_env_id=1',
  'getRequestLogFacets.consumer': 'request-logs/facets?field=consumer&start=2099-05-13',
  'getRequestLogFacets.exception-type': 'request-logs/facets?field=exception_type&start=2099-05-13',
  'getRequestDetails.plain': `request-logs/${UUID}`,
  'getTraffic.hours': traffic('interval=hour'),
  'getTraffic.days-of-berlin': traffic('interval=day&timezone=Europe/Berlin'),
  'getTraffic.days-of-kathmandu': traffic('interval=day&timezone=Asia/Kathmandu'),
  'getTraffic.environment-and-consumer': traffic('interval=hour&app_env_id=1&consumer_id=1'),
  'queryMetrics.window': metrics({}),
  'queryMetrics.hours': metrics({ interval: 'hour', metrics: TIMES }),
  'queryMetrics.minutes': metrics({ interval: 'minute', metrics: TIMES, since: '2099-05-14T08:00' }),
  'queryMetrics.months-of-berlin': metrics({
    interval: 'month',
    metrics: TIMES,
    since: MONTHS,
    timezone: 'Europe/Berlin',
  }),
  'queryMetrics.by-path': metrics({ interval: 'day', metrics: TIMES, group_by: ['path'] }),
  'queryMetrics.by-environment-and-status': metrics({ group_by: ['env', 'status_code'] }),
  'queryMetrics.by-consumer': metrics({ metrics: TIMES, group_by: ['consumer_id'], since: MONTHS }),
  'queryMetrics.by-version': metrics({
    metrics: TIMES,
    group_by: ['app_version', 'path'],
    filters: [{ field: 'app_version', op: 'not_like', value: '1.%' }],
  }),
  'queryMetrics.filtered': metrics({
    metrics: TIMES,
    filters: [
      { field: 'path', op: 'not_like', value: '/health%' },
      { field: 'env', op: 'eq', value: 'prod' },
      { field: 'status_code', op: 'gte', value: 400 },
    ],
  }),
  'queryMetrics.sizes-by-group': metrics({
    metrics: [
      'request_size_avg',
      'request_size_p95',
      'response_size_p50',
      'response_time_p50',
      'response_time_histogram',
    ],
    group_by: ['consumer_group', 'status_class'],
    filters: [
      { field: 'consumer_group', op: 'like', value: 'P%' },
      { field: 'status_class', op: 'in', value: ['2xx', '4xx'] },
    ],
  }),
  'queryMetrics.arrow': metrics({ interval: 'hour', metrics: TIMES, format: 'arrow' }),
  'listInstances.page': 'instances?start=2099-05-14&end=2099-05-15&app_env_id=1&periods=4',
  'listReleases.page': 'releases?start=2099-05-14&end=2099-05-15&app_env_id=1',
  'listAlerts.plain': 'alerts',
  'getPrometheusMetrics.plain': 'prometheus',
  'getPrometheusMetrics.native': 'prometheus',
  'explainChange.times': ['changes', { measure: 'response_time', since: DAY }],
  'explainChange.release': ['changes', { measure: 'requests', since_release: '2.0' }],
  'queryErrors.plain': ['errors', { since: DAY }],
  'queryErrors.series': [
    'errors',
    {
      since: MONTHS,
      group_by: ['day', 'consumer_id'],
      timezone: 'Europe/Berlin',
      limit: 5,
      filters: [
        { field: 'kind', op: 'eq', value: 'exception' },
        { field: 'path', op: 'like', value: '/users/%' },
      ],
    },
  ],
  'exportRequestLogs.plain': exported({}),
  'exportRequestLogs.csv': exported({ format: 'csv', fields: ['path', 'status_code', 'response_time_ms'] }),
  'exportRequestLogs.columns': exported({
    filters: [
      { field: 'method', op: 'eq', value: 'GET' },
      { field: 'status_code', op: 'in', value: [200, 404] },
      { field: 'path', op: 'like', value: '/users/%' },
    ],
  }),
  'exportRequestLogs.captures': exported({
    fields: ['url', 'request_headers', 'exception_type'],
    filters: [
      { field: 'request_headers', key: 'accept', op: 'contains', value: 'json' },
      { field: 'url', op: 'like', value: '%users%' },
    ],
  }),
  'exportRequestLogs.har': exported({ format: 'har' }),
  'exportRequestLogs.sample': exported({ sample: 10 }),
  'queryTraces.plain': traces({}),
  'queryTraces.trace': ['traces', { filters: [{ field: 'trace_id', op: 'eq', value: TRACE_ID }] }],
  'queryTraces.filtered': traces({
    fields: ['name', 'attributes', 'events'],
    filters: [
      { field: 'env', op: 'eq', value: 'prod' },
      { field: 'attributes', key: 'http.request.method', op: 'eq', value: 'GET' },
      { field: 'events', event_name: 'exception', op: 'exists' },
    ],
  }),
};

/** The statements of the reads in `work`, with the placeholders of their values, each once. */
async function record(file: string, work: () => Promise<void>): Promise<string> {
  const reads = jest.spyOn(
    ClickHouse.prototype as unknown as { bytes(frame: object, name: string, sql: string): Promise<Buffer> },
    'bytes',
  );
  try {
    await work();
    const statements = reads.mock.calls
      .filter(([, name]) => (SHOWN_IN[name] ?? file) === file)
      // The first column of a binary file has a name of its own in each statement.
      .map(([, name, sql]) => `-- ${name}\n${sql.trim().replace(/_[0-9a-f]{32}\b/g, '_{nonce}')};\n`);
    return [...new Set(statements)].join('\n');
  } finally {
    reads.mockRestore();
  }
}

/** The text of each statement that the API sends, as a reviewer of a change sees it. */
(process.env.CLICKHOUSE_URL ? describe.skip : describe)('the SQL of each operation', () => {
  let app: TestApp;
  let tenant: Tenant;

  beforeAll(async () => {
    holdClock(NOW);
    app = await TestApp.start(WITHOUT_CACHE);
    tenant = await Tenant.create(app);
    await tenant.write(
      buildRequest({ request_uuid: UUID, consumer: { identifier: 'anna' } }),
      // So dense that a long window is read in steps.
      ...Array.from({ length: 300 }, (_, index) => ({ timestamp: NOW - index * 1_000 })),
    );
    await app.admin.releases.mark(tenant.appId, '2.0', { at: NOW - 86_400_000 });
    if (WRITES) rmSync(DIRECTORY, { recursive: true, force: true });
    mkdirSync(DIRECTORY, { recursive: true });
  });

  afterAll(async () => {
    await app.stop();
    releaseClock();
  });

  const send = (name: string, call: Call) => {
    if (typeof call !== 'string') return tenant.post(...call);
    if (call.startsWith('/')) return app.get(call, tenant.key);
    return name === 'getPrometheusMetrics.native'
      ? tenant.get(call).set('Accept', PROTOBUF).buffer(true)
      : tenant.get(call);
  };

  it.each(Object.entries(CASES))('is that of %s.sql', async (name, call) => {
    const sql = await record(name, async () => {
      const { status, text } = await send(name, call);
      expect([status, text]).toEqual([200, expect.anything()]);
    });
    const head = typeof call === 'string' ? `GET ${call}` : `POST ${call[0]} ${JSON.stringify(call[1])}`;
    const text = `-- ${head}\n\n${sql}`;
    const file = join(DIRECTORY, `${name}.sql`);
    if (WRITES) writeFileSync(file, text);
    expect(text).toBe(readFileSync(file, 'utf8'));
  });

  it('is in a file for each case, and in no other', () => {
    expect(readdirSync(DIRECTORY).map((file) => basename(file, '.sql'))).toEqual(Object.keys(CASES).sort());
    const { paths } = JSON.parse(readFileSync('test/contract/openapi.json', 'utf8')) as {
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    const operations = Object.values(paths).flatMap((path) =>
      Object.values(path).map(({ operationId }) => operationId),
    );
    expect([...new Set(Object.keys(CASES).map((name) => name.split('.')[0]))].sort()).toEqual(
      operations.sort(),
    );
  });
});
