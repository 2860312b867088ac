import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAdmin } from '../../src/ops/admin/admin.js';
import { createDatabase } from '../../src/entry/cli/migrate.js';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { checkTables } from '../../src/store/health/damage.js';
import { listTables, migrate, readMigrations } from '../../src/store/migrations/migrate.js';
import { StoreMonitor } from '../../src/store/health/store-monitor.js';
import { Config } from '../../src/config/config.js';
import { INGEST_TABLES } from '../../src/write/batch-log.js';
import { RequestsWriter } from '../../src/write/requests.writer.js';
import { Metrics } from '../../src/telemetry/metrics/metrics.js';
import { TestCollector } from '../collector/setup/collector.js';
import { logFile } from '../collector/setup/log-file.js';
import { buildCount, buildLogItem, buildSync } from '../collector/setup/messages.js';
import { OtlpSender, attributes, logs, serverSpan, traces } from '../collector/setup/otlp.js';
import { buildRequest } from '../factories/request.factory.js';
import { startAs } from '../setup/account-server.js';
import { DENSE, SAMPLE_UUID, listFiles, listOperations, listQueries } from '../setup/all-operations.js';
import type { ConfiguredServer } from '../setup/configured-server.js';
import { ProductProcess } from '../setup/product-process.js';
import { sendRaw } from '../setup/raw-http.js';
import { openMigrated } from '../setup/schema.js';

/** An account that may not: ACCESS_DENIED. */
const DENIED = { message: 'store not available (497)' };
/** SETTING_CONSTRAINT_VIOLATION */
const OUT_OF_RANGE = { message: 'store not available (452)' };

const READER = 'request_analytics_reader';
const COLLECTOR = 'request_analytics_collector';
const OWNER = 'request_analytics_owner';

/** `roles.sql` as the engine enforces it: see `startAs`. */
describe('the accounts of clickhouse/accounts', () => {
  const directory = mkdtempSync(join(tmpdir(), 'accounts-'));
  let appId: number;
  let key: string;
  let clientId: string;
  let token: string;

  beforeAll(async () => {
    const store = await openMigrated(new Config({ DATA_DIR: directory }));
    const admin = createAdmin(store);
    const team = await admin.teams.create('Acme', 'premium');
    ({ id: appId, client_id: clientId } = await admin.apps.create(team.id, 'Shop', 'express'));
    ({ key } = await admin.keys.create(team.id));
    ({ token } = await admin.writeTokens.create(appId));
    const consumer = { identifier: 'bob', group: 'staff' };
    await RequestsWriter.create(store).write(appId, [
      buildRequest({ request_uuid: SAMPLE_UUID, consumer, captured_json: '' }),
      buildRequest({ path: '/hidden' }),
      ...Array.from({ length: DENSE }, () => buildRequest()),
    ]);
    await admin.endpoints.setExcluded(appId, 'GET', '/hidden', true);
    await store.close();
  });

  afterAll(() => {
    rmSync(directory, { recursive: true });
  });

  describe('the reader', () => {
    let server: ConfiguredServer;
    let store: ClickHouse;

    beforeAll(async () => {
      server = await startAs(READER, directory);
      store = await ClickHouse.open(new Config(server.env));
    });

    afterAll(async () => {
      await store.close();
      await server.stop();
    });

    it('is enough to start the API and for each of its operations', async () => {
      const responses = await withApi({ ...server.env, LOG_LEVEL: 'silent' }, (url) =>
        ['/health/ready', ...listOperations(appId)].map(async (path) => {
          const { status, text } = await sendRaw(url, path, { headers: { 'Api-Key': key } });
          return [path, status, status === 200 ? '' : text];
        }),
      );
      const limits = { TRACES_RATE_LIMIT_PER_SECOND: '100', TRACES_RATE_LIMIT_PER_MINUTE: '100' };
      const [posted = []] = await withApi({ ...server.env, ...limits, LOG_LEVEL: 'silent' }, (url) => {
        const postAll = async () => {
          const statuses: [string, number, string][] = [];
          for (const { path, body } of [...listQueries(appId), ...listFiles(appId)]) {
            const headers = { 'Api-Key': key, 'Content-Type': 'application/json' };
            const response = await fetch(url + path, {
              method: 'POST',
              headers,
              body: JSON.stringify(body),
            });
            await response.arrayBuffer();
            statuses.push([path, response.status, '']);
          }
          return statuses;
        };
        return [postAll()];
      });
      responses.push(...posted);
      expect(responses).toEqual(responses.map(([path]) => [path, 200, '']));
    });

    it('is enough to look for damage and for free space', async () => {
      const metrics = new Metrics();
      await new StoreMonitor(store, metrics).check();
      expect(metrics.text()).toMatch(/_store_damaged_parts 0\n[^]*_store_missing_tables 0\n/);
      expect(metrics.text()).toMatch(/_store_free_bytes\{disk="default"\} [1-9]/);
      metrics.close();
      // Without them the check would find nothing missing.
      expect(await readTables(store)).toEqual(expect.arrayContaining(listTables(await readMigrations())));
    });

    it.each([
      ['write', "INSERT INTO teams_v1 (id, name) VALUES (9, 'x')"],
      ['write into a landing table', 'INSERT INTO request_counts (app_id) VALUES (1)'],
      ['make a table', 'CREATE TABLE x (n UInt8) ENGINE = MergeTree ORDER BY n'],
      ['change a table', 'ALTER TABLE request_logs_v1 DELETE WHERE 1'],
      ['drop a table', 'DROP TABLE request_logs_v1'],
      ['empty a table', 'TRUNCATE TABLE request_logs_v1'],
      ['make an account', 'CREATE USER x'],
      ['give itself rights', 'GRANT ALL ON *.* TO default'],
    ])('may not %s', async (_, statement) => {
      await expect(store.command(statement)).rejects.toMatchObject(DENIED);
    });

    it.each([
      ['the payloads of the batch log', 'SELECT payload FROM ingest_batches_v1'],
      ['the history of the schema', 'SELECT version FROM schema_migrations'],
      ['names of keys', 'SELECT name FROM api_keys_v1'],
      ['a whole row of keys', 'SELECT * FROM api_keys_v1'],
      ['files', "SELECT * FROM file('x.csv', 'CSV', 'a String')"],
      ['other hosts', "SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a String')"],
    ])('may not read %s', async (_, statement) => {
      await expect(store.rows('test', statement)).rejects.toMatchObject(DENIED);
    });

    it.each([
      { QUERY_TIMEOUT_SECONDS: '61' },
      { QUERY_MAX_MEMORY_MB: '4097' },
      { QUERY_MAX_READ_MB: '65537' },
      { QUERY_MAX_RESULT_MB: '1025' },
    ])('may not go beyond the limits of its profile: %j', async (limits: NodeJS.ProcessEnv) => {
      const greedy = await ClickHouse.open(new Config({ ...server.env, ...limits }));
      const refusal = greedy.rows('test', 'SELECT id FROM teams_v1').finally(() => greedy.close());
      await expect(refusal).rejects.toMatchObject(OUT_OF_RANGE);
    });

    it.each([
      'readonly = 0',
      'readonly = 1',
      'max_execution_time = 0',
      'max_memory_usage = 0',
      'max_bytes_to_read = 0',
      'max_result_bytes = 0',
      'max_threads = 9',
      "read_overflow_mode = 'break'",
      "timeout_overflow_mode = 'break'",
      "result_overflow_mode = 'break'",
    ])('may not take a limit off: %s', async (setting) => {
      await expect(store.command(`SET ${setting}`)).rejects.toMatchObject({
        message: expect.stringMatching(/^store not available \((452|164)\)$/),
      });
    });
  });

  describe('the collector', () => {
    let server: ConfiguredServer;
    let store: ClickHouse;
    let collector: TestCollector;

    beforeAll(async () => {
      server = await startAs(COLLECTOR, directory);
      const config = new Config({
        ...server.env,
        CACHE_TTL_MS: '0',
        COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '0',
      });
      store = await ClickHouse.open(config);
      collector = await TestCollector.start(store, config);
    });

    afterAll(async () => {
      await collector.stop();
      await store.close();
      await server.stop();
    });

    it('is enough for every kind of message, also one that comes again', async () => {
      const path = (kind: string) => `/v2/${clientId}/staging/${kind}`;
      const startup = {
        instance_uuid: randomUUID(),
        message_uuid: randomUUID(),
        paths: [{ method: 'GET', path: '/new/:id' }],
        versions: { app: '1.2.3' },
        openapi: { openapi: '3.1.0' },
        client: 'js:fastify',
      };
      const consumers = [{ identifier: 'eve', name: 'Eve', group: 'guests', attributes: { plan: 'gold' } }];
      const sync = buildSync({ requests: [buildCount({ consumer: 'eve' })], consumers });
      const log = logFile([buildLogItem({ request: { consumer: 'eve' } })]);
      for (const [kind, body] of [
        ['startup', JSON.stringify(startup)],
        ['sync', JSON.stringify(sync)],
        ['sync', JSON.stringify(sync)],
        [`log?uuid=${randomUUID()}`, log],
      ] as const) {
        const { status } = await collector.post(path(kind), body);
        expect([kind, status]).toEqual([kind, 202]);
      }
      const sender = new OtlpSender(collector.url, token);
      const unlogged = serverSpan({ 'http.route': '/healthz' });
      await sender.deliver('traces', traces([serverSpan(), unlogged]));
      await sender.deliver('traces', traces([unlogged, serverSpan()]));
    });

    it.each(INGEST_TABLES)('is enough to apply to %s what a dead process left', async (table) => {
      const span = table === 'logged_spans' && { kind: 'SERVER', status: 'OK' };
      await store.insert(table, [JSON.stringify({ app_id: appId, ...span })]);
    });

    it('is enough to count exceptions that are in traces', async () => {
      const failed = serverSpan({ 'http.response.status_code': 500 });
      const { traceId, spanId, startTimeUnixNano: timeUnixNano } = failed;
      const exception = attributes({ 'exception.type': 'ValueError' });
      const record = {
        traceId: traceId!,
        spanId: spanId!,
        timeUnixNano: timeUnixNano!,
        attributes: exception,
      };
      const sender = new OtlpSender(collector.url, token);
      await sender.deliver('logs', logs([record]));
      await sender.deliver('traces', traces([failed]));
      await collector.countExceptions();
      const counted = 'SELECT count(request_uuid) AS requests FROM errors_v1 WHERE app_id = {app_id:UInt32}';
      expect(await store.rows('test.errors', counted, { app_id: appId })).toEqual([{ requests: 1 }]);
    });

    it('is enough to look for damage and for free space', async () => {
      const metrics = new Metrics();
      await new StoreMonitor(store, metrics).check();
      expect(metrics.text()).toMatch(/_store_damaged_parts 0\n[^]*_store_free_bytes\{disk="default"\} [1-9]/);
      metrics.close();
      // Without them the check would find nothing missing.
      expect(await readTables(store)).toEqual(expect.arrayContaining(listTables(await readMigrations())));
    });

    it.each([
      ['change the schema', 'ALTER TABLE request_logs_v1 DELETE WHERE 1'],
      ['drop a table', 'DROP TABLE request_logs_v1'],
      ['make a team', "INSERT INTO teams_v1 (id, name) VALUES (9, 'x')"],
      ['make a key', "INSERT INTO api_keys_v1 (identifier) VALUES ('x')"],
      ['write logs past the landing tables', 'INSERT INTO import_ledger_v1 (app_id) VALUES (1)'],
    ])('may not %s', async (_, statement) => {
      await expect(store.command(statement)).rejects.toMatchObject(DENIED);
    });

    it.each(['SELECT key_sha256 FROM api_keys_v1', 'SELECT value FROM secrets_v1'])(
      'may not read %s',
      async (statement) => {
        await expect(store.rows('test', statement)).rejects.toMatchObject(DENIED);
      },
    );
  });

  describe('the owner', () => {
    const empty = mkdtempSync(join(tmpdir(), 'accounts-'));
    let server: ConfiguredServer;
    let store: ClickHouse;

    beforeAll(async () => {
      server = await startAs(OWNER, empty);
      store = await ClickHouse.open(new Config(server.env));
    });

    afterAll(async () => {
      await store.close();
      await server.stop();
      rmSync(empty, { recursive: true });
    });

    it('is enough to migrate and for what the command line does', async () => {
      await createDatabase(new Config(server.env));
      expect((await migrate(store)).length).toBeGreaterThan(10);
      expect(await migrate(store)).toEqual([]);
      const admin = createAdmin(store);
      const { id } = await admin.teams.create('Acme', 'premium');
      const app = await admin.apps.create(id, 'Shop', 'express');
      const { identifier } = await admin.keys.create(id);
      await admin.keys.revoke(identifier);
      expect(await RequestsWriter.create(store).write(app.id, [buildRequest()])).toHaveLength(1);
      await admin.endpoints.setExcluded(app.id, 'GET', '/users/{id}', true);
      await admin.endpoints.setExpectedError(app.id, 'GET', '/users/{id}', 404, true);
      for await (const check of checkTables(store)) expect(check).toMatchObject({ status: 'ok', damage: [] });
    });

    it.each(['CREATE USER x', 'CREATE DATABASE other', "SELECT * FROM url('http://127.0.0.1:1/')"])(
      'may not %s',
      async (statement) => {
        await expect(store.command(statement)).rejects.toMatchObject(DENIED);
      },
    );
  });
});

async function readTables(store: ClickHouse): Promise<string[]> {
  const rows = await store.rows<{ name: string }>(
    'test.tables',
    'SELECT name FROM system.tables WHERE database = currentDatabase()',
  );
  return rows.map(({ name }) => name);
}

/** What is asked of an API beside a collector of its own, as in docker-compose.yml; it then ends. */
async function withApi<T>(env: NodeJS.ProcessEnv, call: (url: string) => Promise<T>[]): Promise<T[]> {
  const api = await ProductProcess.start([], { ...env, COLLECTOR: 'off' });
  const responses = await Promise.allSettled(call(api.apiUrl));
  expect(await api.stop()).toBe(0);
  return responses.map((response) => {
    if (response.status === 'rejected') throw response.reason;
    return response.value;
  });
}
