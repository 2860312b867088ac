/**
 * How fast one core takes messages of the hub protocol, against the engine's own insert rate for the same
 * rows, in one run; the figures as JSON on standard output (Linux). Rates are per second of processor time
 * that the measured process took, engine and merges included: what else the machine does changes them little.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { logFile } from '../../collector/setup/log-file.js';
import { buildCount, buildLogItem, buildSync } from '../../collector/setup/messages.js';
import { BenchCollector, many, ratePerCore, withStore } from './bench-collector.js';

const ROWS_PER_MESSAGE = 10;
const SENDERS = 200;
const BATCH = 10_000;

const collector = await BenchCollector.start();
const base = `${collector.url}/v2/${collector.clientId}/prod`;

/** Rows a second through a landing table and all views behind it, in the batches of an import. */
function plainRate(table: string, row: () => object, batches: number): Promise<number> {
  return withStore(join(collector.directory, `plain-${table}`), async (store) => {
    const rows = many(batches, () => many(BATCH, () => JSON.stringify(row())));
    return ratePerCore(process.pid, batches * BATCH, async () => {
      for (const batch of rows) await store.insert(table, batch, randomUUID().replaceAll('-', ''));
    });
  });
}

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
  await collector.measureRate([...syncs(500), ...files(200)], SENDERS);
  const sync = await collector.measureRate(syncs(6_000), SENDERS);
  const log = await collector.measureRate(files(3_000), SENDERS);
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
  process.stdout.write(JSON.stringify({ sync: result(sync, counts), log: result(log, logs) }));
} finally {
  await collector.stop();
}
