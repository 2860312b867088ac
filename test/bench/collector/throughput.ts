/**
 * How fast one core takes messages, against the engine's own insert rate for the same rows, in one run; the figures as
 * JSON on standard output (Linux). Rates are per second of processor time that the measured process took, engine and
 * merges included: what else the machine does changes them little.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AdminService } from '../../../src/admin/admin.service.js';
import { ClickHouse } from '../../../src/clickhouse/clickhouse.client.js';
import { migrate } from '../../../src/clickhouse/migrations/migrate.js';
import { Config } from '../../../src/config/config.js';
import { Load, type Outgoing } from '../../collector/setup/load.js';
import { logFile } from '../../collector/setup/log-file.js';
import { buildCount, buildLogItem, buildSync } from '../../collector/setup/messages.js';
import { ProductProcess } from '../../setup/product-process.js';
import { readProcessorSeconds } from '../machine.js';

const ROWS_PER_MESSAGE = 10;
const SENDERS = 200;
const BATCH = 10_000;

const directory = mkdtempSync(join(tmpdir(), 'collector-bench-'));
const dataDir = join(directory, 'service');

async function ratePerCore(pid: number, count: number, work: () => Promise<void>): Promise<number> {
  const before = readProcessorSeconds(pid);
  await work();
  return Math.round(count / (readProcessorSeconds(pid) - before));
}

async function withStore<T>(path: string, work: (store: ClickHouse) => Promise<T>): Promise<T> {
  const store = await ClickHouse.open(new Config({ DATA_DIR: path }));
  try {
    await migrate(store);
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Rows a second through a landing table and all views behind it, in the batches of an import. */
function plainRate(table: string, row: () => object, batches: number): Promise<number> {
  return withStore(join(directory, `plain-${table}`), async (store) => {
    const rows = Array.from({ length: batches }, () =>
      Array.from({ length: BATCH }, () => JSON.stringify(row())),
    );
    return ratePerCore(process.pid, batches * BATCH, async () => {
      for (const batch of rows) await store.insert(table, batch, randomUUID().replaceAll('-', ''));
    });
  });
}

function collectorRate(service: ProductProcess, messages: readonly Outgoing[]): Promise<number> {
  return ratePerCore(service.pid, messages.length, () => new Load(messages).run(SENDERS));
}

const clientId = await withStore(dataDir, async (store) => {
  const admin = new AdminService(store);
  const { id } = await admin.createTeam('Bench', 'premium');
  return (await admin.createApp(id, 'Bench', 'express')).client_id;
});
const service = await ProductProcess.start(
  ['serve', '--collector'],
  { DATA_DIR: dataDir, COLLECTOR_RATE_LIMIT_PER_MINUTE: '1000000', LOG_LEVEL: 'fatal' },
  { built: 'dist-bench/src' },
);
const base = `${service.collectorUrl}/v2/${clientId}/prod`;
const many = <T>(length: number, make: (index: number) => T) =>
  Array.from({ length }, (_, index) => make(index));
const syncs = (count: number) =>
  many(count, (index) => ({
    url: `${base}/sync`,
    body: JSON.stringify(
      buildSync({
        requests: many(ROWS_PER_MESSAGE, (row) =>
          buildCount({ path: `/p/${row}/:id`, consumer: `c${index % 500}` }),
        ),
      }),
    ),
  }));
const files = (count: number) =>
  many(count, () => ({
    url: `${base}/log?uuid=${randomUUID()}`,
    body: logFile(
      many(ROWS_PER_MESSAGE, () => buildLogItem({ request: { path: '/p/1/:id', body: 'eyJhIjoxfQ==' } })),
    ),
  }));

try {
  await collectorRate(service, [...syncs(500), ...files(200)]);
  const sync = await collectorRate(service, syncs(6_000));
  const log = await collectorRate(service, files(3_000));
  await service.stop();
  const timestamp = new Date().toISOString().replace('T', ' ').slice(0, -1);
  const common = () => ({
    app_id: 1,
    timestamp,
    app_env_id: 1,
    endpoint_id: 1,
    consumer_id: Math.floor(Math.random() * 500),
  });
  const counts = await plainRate(
    'request_counts',
    () => ({ ...common(), requests: 1, bytes_received: 0, bytes_sent: 0 }),
    10,
  );
  const logs = await plainRate(
    'logged_requests',
    () => ({
      ...common(),
      request_uuid: randomUUID(),
      method: 'GET',
      status_code: 200,
      record_json:
        '"env":"prod","method":"GET","path":"/p/1/{id}","url":"https://api.example.com/users/7","status_code":200}',
      captured_json: '{"a":1}',
    }),
    5,
  );
  const result = (messages: number, plain: number) => {
    const rows = messages * ROWS_PER_MESSAGE;
    return {
      messages_per_second: messages,
      rows_per_second: rows,
      plain_rows_per_second: plain,
      ratio: Number((rows / plain).toFixed(3)),
    };
  };
  process.stdout.write(
    `${JSON.stringify({ sync: result(sync, counts), log: result(log, logs) }, null, 2)}\n`,
  );
} finally {
  await service.stop();
  rmSync(directory, { recursive: true, force: true });
}
