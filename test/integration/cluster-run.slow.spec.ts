import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Span_SpanKind } from '../../src/sources/otlp/generated/opentelemetry/proto/trace/v1/trace_pb.js';
import { createAdmin } from '../../src/ops/admin/admin.js';
import { AppScopedStore } from '../../src/api/apps/app-scoped-store.js';
import { ExportRepository } from '../../src/api/request-logs/export/export.repository.js';
import { CountsDeletion } from '../../src/ops/admin/counts-deletion.js';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { fillCluster } from '../../src/store/migrations/cluster-ddl.js';
import { readMigrations } from '../../src/store/migrations/migrate.js';
import { LocalCoordinator } from '../../src/coordination/writer-coordinator.js';
import { Config } from '../../src/config/config.js';
import { BatchLog } from '../../src/write/batch-log.js';
import { RequestsWriter } from '../../src/write/requests.writer.js';
import { TestCollector } from '../collector/setup/collector.js';
import { logFile } from '../collector/setup/log-file.js';
import { buildCount, buildLogItem, buildSync } from '../collector/setup/messages.js';
import { OtlpSender, attributes, logs, nanosecondsAgo, serverSpan, traces } from '../collector/setup/otlp.js';
import { buildRequest } from '../factories/request.factory.js';
import { SAMPLE_UUID, listFiles, listOperations, listQueries } from '../setup/all-operations.js';
import { ConfiguredServer } from '../setup/configured-server.js';
import { ProductProcess } from '../setup/product-process.js';
import { sendRaw } from '../setup/raw-http.js';

const CLUSTER = { name: 'two', database: 'default' };
const SHARD = (weight: number) =>
  `<shard><weight>${weight}</weight><replica><host>127.0.0.1</host><port>9000</port></replica></shard>`;
const CONFIGURATION = {
  server: `<tcp_port>9000</tcp_port><remote_servers><two>${SHARD(1)}${SHARD(0)}</two></remote_servers>`,
  // Both shards are this engine: rows go in by the first alone, or one block's token would come twice, and
  // what asks both sees every row twice, so that reads of an app must ask one.
  profile: '<optimize_skip_unused_shards>1</optimize_skip_unused_shards>',
};

/** The engine in a process has no Keeper: neither DDL nor tables that need one. */
function withoutKeeper(statement: string): string {
  return statement
    .replace(' ON CLUSTER two', '')
    .replace(/Replicated(\w+)\('[^']+', '[^']+'(?:, )?/, '$1(')
    .replace(
      /replicated_deduplication_window = (\d+), \w+ = \d+/,
      'non_replicated_deduplication_window = $1',
    );
}

/**
 * The cluster form at work, as far as one engine can be a cluster: Distributed tables over two shards, which
 * are both itself. It shows which statements would be refused, not how replicas or networks behave.
 */
describe('the product on Distributed tables', () => {
  const directory = mkdtempSync(join(tmpdir(), 'cluster-'));
  let server: ConfiguredServer;
  let config: Config;
  let store: ClickHouse;
  let appId: number;
  let clientId: string;
  let key: string;

  beforeAll(async () => {
    server = await ConfiguredServer.start(directory, 'default', CONFIGURATION);
    config = new Config({ ...server.env, CACHE_TTL_MS: '0' });
    store = await ClickHouse.open(config);
    for (const { clustered } of await readMigrations())
      for (const statement of clustered) await store.command(withoutKeeper(fillCluster(statement, CLUSTER)));
    const admin = createAdmin(store);
    const team = await admin.teams.create('Acme', 'premium');
    ({ id: appId, client_id: clientId } = await admin.apps.create(team.id, 'Shop', 'express'));
    ({ key } = await admin.keys.create(team.id));
  });

  afterAll(async () => {
    await store.close();
    await server.stop();
    rmSync(directory, { recursive: true });
  });

  const count = async (table: string) => {
    const [row] = await store.rows<{ rows: number }>('test.count', `SELECT count() AS rows FROM ${table}`);
    return row!.rows;
  };

  it('takes an import once, however often it comes', async () => {
    const records = [
      buildRequest({ request_uuid: SAMPLE_UUID, consumer: { identifier: 'bob', group: 'staff' } }),
      buildRequest({ path: '/hidden' }),
    ];
    const writer = RequestsWriter.create(store);
    expect(await writer.write(appId, records)).toHaveLength(2);
    expect(await RequestsWriter.create(store).write(appId, records)).toHaveLength(0);
    await createAdmin(store).endpoints.setExcluded(appId, 'GET', '/hidden', true);
    expect(await count('request_logs_v1_local')).toBe(2);
  });

  it('takes a message once, and a block again where its response was lost', async () => {
    const collector = await TestCollector.start(store, config);
    const path = (kind: string) => `/v2/${clientId}/prod/${kind}`;
    const sync = JSON.stringify(buildSync({ requests: [buildCount({ request_count: 3 })] }));
    const log = logFile([buildLogItem()]);
    const file = `${path('log')}?uuid=${randomUUID()}`;
    for (const [to, body] of [
      [path('sync'), sync],
      [path('sync'), sync],
      [file, log],
      [file, log],
    ] as const)
      expect((await collector.post(to, body)).status).toBe(202);
    await collector.stop();
    const row = JSON.stringify({ app_id: appId, timestamp: '2026-01-01 00:00:00', requests: 1 });
    const before = await count('counts_per_15m_v1_local');
    for (let time = 0; time < 2; time++) await store.insert('request_counts', [row], 'ab12');
    expect(await count('counts_per_15m_v1_local')).toBe(before + 1);
    expect(await count('request_logs_v1_local')).toBe(3);
  });

  it('completes interrupted batches', async () => {
    await new BatchLog(store).append({
      id: randomUUID(),
      createdAt: Math.floor(Date.now() / 1000),
      messages: [{ app_id: appId, message_uuid: randomUUID() }],
      pieces: [{ table: 'instance_reports', rows: JSON.stringify({ app_id: appId, app_env_id: 1 }) }],
    });
    const { completed } = await new BatchLog(store).recover(0);
    expect(completed).toBeGreaterThan(0);
    expect(await new BatchLog(store).recover(0)).toMatchObject({ completed: 0 });
  });

  it('serves each operation, each row once', async () => {
    const limits = { TRACES_RATE_LIMIT_PER_SECOND: '100', TRACES_RATE_LIMIT_PER_MINUTE: '100' };
    const api = await ProductProcess.start([], {
      ...server.env,
      ...limits,
      COLLECTOR: 'off',
      LOG_LEVEL: 'silent',
    });
    const get = (path: string) => sendRaw(api.apiUrl, path, { headers: { 'Api-Key': key } });
    const paths = listOperations(appId);
    const responses = await Promise.all(paths.map(get));
    const query = async ({ path, body }: { path: string; body: object }) => {
      const headers = { 'Api-Key': key, 'Content-Type': 'application/json' };
      const response = await fetch(api.apiUrl + path, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      return { status: response.status, text: await response.text() };
    };
    const queries = await Promise.all(listQueries(appId).map(query));
    for (const sql of listFiles(appId)) queries.push(await query(sql));
    await api.stop();
    expect(queries.map(({ status }) => status)).toEqual(queries.map(() => 200));
    const statuses = responses.map(({ status, text }) => [status, status === 200 ? '' : text]);
    expect(statuses).toEqual(paths.map(() => [200, '']));
    const getBody = (path: string) => JSON.parse(responses[paths.indexOf(path)]!.text);
    expect(getBody('/v1/apps').data).toHaveLength(1);
    expect(getBody(`/v1/apps/${appId}/request-logs`).data).toHaveLength(2);
    expect(getBody(`/v1/apps/${appId}/consumers`).data).toHaveLength(1);
    const [day] = paths.filter((path) => path.includes('traffic?interval=day'));
    const requests = getBody(day!).data.map((period: { requests: number }) => period.requests);
    expect(requests.reduce((sum: number, request: number) => sum + request, 0)).toBe(4);
  });

  it('finds the exception of a request in its trace', async () => {
    const admin = createAdmin(store);
    const { id } = await admin.teams.create('Failing', 'premium');
    const app = await admin.apps.create(id, 'Shop', 'express');
    const { token } = await admin.writeTokens.create(app.id);
    const collector = await TestCollector.start(store, config);
    const sender = new OtlpSender(collector.url, token);
    const { traceId, spanId, ...span } = serverSpan({ 'http.response.status_code': 500 });
    const below = { traceId, spanId: randomBytes(8), parentSpanId: spanId };
    await sender.deliver(
      'traces',
      traces([serverSpan({}, { ...below, kind: Span_SpanKind.INTERNAL }), { traceId, spanId, ...span }]),
    );
    const exception = attributes({ 'exception.type': 'E', 'exception.message': 'm' });
    const record = { traceId, spanId: below.spanId, timeUnixNano: nanosecondsAgo(1_000) };
    await sender.deliver('logs', logs([{ ...record, attributes: exception }]));
    await collector.stop();
    const window = { start: 0, end: Date.now() };
    const scope = { teamId: id, appId: app.id, excludedEndpointIds: [] } as never;
    const fields = ['exception_type', 'exception_message'] as const;
    const source = new ExportRepository(new AppScopedStore(store)).createSource(scope, {
      ...{ format: 'ndjson', fields, filters: [], window, scope },
    });
    const page = await source.readPage({ after: undefined, last: undefined }, undefined);
    expect(page.toString()).toBe('{"exception_type":"E","exception_message":"m"}\n');
  });

  it('finds by terms on the shard of the app', async () => {
    const all = `SELECT count() AS rows FROM request_logs_v1 WHERE app_id = {app_id:UInt32}`;
    const endpoints = `SELECT groupUniqArray(concat(app_id, 'e', id)) FROM endpoints_v1 WHERE path = '/users/{id}'`;
    const rowsWith = async (condition: string) => {
      const sql = `${all} AND ${condition}`;
      const [row] = await store.rows<{ rows: number }>('test.terms', sql, {
        app_id: appId,
        terms: [`${appId}s200`],
      });
      return row?.rows;
    };
    expect(await rowsWith('hasAllTokens(filter_terms, {terms:Array(String)})')).toBe(
      await rowsWith('status_code = 200'),
    );
    const scanned = await rowsWith(`endpoint_id IN (SELECT id FROM endpoints_v1 WHERE path = '/users/{id}')`);
    expect(scanned).toBeGreaterThan(0);
    expect(await rowsWith(`hasAnyTokens(filter_terms, (${endpoints}))`)).toBe(scanned);
  });

  it('deletes the counts of a window from the tables of each shard', async () => {
    const { id } = await createAdmin(store).teams.create('Other', 'premium');
    const other = await createAdmin(store).apps.create(id, 'Shop', 'express');
    const hour = Math.floor(Date.now() / 86_400_000) * 86_400_000 - 2 * 86_400_000;
    const at = [0, 1, 2].map((n) => hour + n * 3_600_000);
    await RequestsWriter.create(store).write(
      other.id,
      at.map((timestamp) => buildRequest({ timestamp })),
    );
    const run = store.command.bind(store);
    const statements: string[] = [];
    const command = jest.spyOn(store, 'command').mockImplementation((sql, ...rest) => {
      statements.push(sql);
      return run(withoutKeeper(sql), ...rest);
    });
    const window = { appId: other.id, since: at[1]!, until: at[2]!, withLogs: true };
    const deleted = await new CountsDeletion(store, window).run(new LocalCoordinator());
    command.mockRestore();
    expect(deleted).toMatchObject({ requests: 1 });
    const altered = statements.filter((sql) => sql.startsWith('ALTER'));
    expect(altered.filter((sql) => !/^ALTER TABLE \w+_local ON CLUSTER two DELETE/.test(sql))).toEqual([]);
    const sums = await Promise.all(
      ['minute', '15m', 'hour', 'day'].map(async (grain) => {
        const sql = `SELECT sum(n) AS requests FROM counts_per_${grain}_v1_local WHERE app_id = ${other.id} AND measure = 'requests'`;
        return (await store.rows<{ requests: number }>('test.sums', sql))[0]?.requests;
      }),
    );
    expect(sums).toEqual([2, 2, 2, 2]);
  });
});
