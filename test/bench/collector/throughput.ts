/**
 * How fast one core takes messages, against the engine's own insert rate for the same rows, in one run; the figures as
 * JSON on standard output (Linux). Rates are per second of processor time that the measured process took, engine and
 * merges included: what else the machine does changes them little.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AdminService } from '../../../src/admin/admin.service.js';
import { ClickHouse } from '../../../src/clickhouse/clickhouse.client.js';
import { migrate } from '../../../src/clickhouse/migrations/migrate.js';
import { decode } from '../../../src/collector/otlp/encoding.js';
import { ExportTraceServiceRequestSchema } from '../../../src/collector/otlp/generated/opentelemetry/proto/collector/trace/v1/trace_service_pb.js';
import { Span_SpanKind } from '../../../src/collector/otlp/generated/opentelemetry/proto/trace/v1/trace_pb.js';
import { parseTraces } from '../../../src/collector/otlp/traces.parser.js';
import { weighSpan } from '../../../src/collector/message.js';
import { Config } from '../../../src/config/config.js';
import { encodePieces, toCountRow, toLogRow, weighRequest } from '../../../src/ingestion/row-encoder.js';
import { Load, type Outgoing } from '../../collector/setup/load.js';
import { logFile } from '../../collector/setup/log-file.js';
import { buildCount, buildLogItem, buildSync } from '../../collector/setup/messages.js';
import { attributes, serverSpan, traces } from '../../collector/setup/otlp.js';
import { ProductProcess } from '../../setup/product-process.js';
import { readProcessorSeconds } from '../machine.js';

const ROWS_PER_MESSAGE = 10;
const SENDERS = 200;
const BATCH = 10_000;
/** The batch of OpenTelemetry's SDKs, and the requests in it. */
const SPANS_PER_BODY = 512;
const REQUESTS_PER_BODY = 128;

const directory = mkdtempSync(join(tmpdir(), 'collector-bench-'));
const dataDir = join(directory, 'service');

async function ratePerCore(pid: number, count: number, work: () => Promise<void>): Promise<number> {
  const before = readProcessorSeconds(pid);
  await work();
  return Number((count / (readProcessorSeconds(pid) - before)).toPrecision(4));
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

const { clientId, token } = await withStore(dataDir, async (store) => {
  const admin = new AdminService(store);
  const { id } = await admin.createTeam('Bench', 'premium');
  const app = await admin.createApp(id, 'Bench', 'express');
  return { clientId: app.client_id, token: (await admin.createWriteToken(app.id)).token };
});
const service = await ProductProcess.start(
  ['serve', '--collector'],
  {
    DATA_DIR: dataDir,
    COLLECTOR_RATE_LIMIT_PER_MINUTE: '1000000',
    COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '0',
    LOG_LEVEL: 'fatal',
  },
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
/** A body of spans: requests, and as many spans below each as there is room for. */
function buildSpans(requests: number): Buffer {
  const below = SPANS_PER_BODY / requests - 1;
  return traces(
    many(requests, (index) => {
      const root = serverSpan({ 'user.id': `c${index % 500}`, 'http.route': `/p/${index % 10}/:id` });
      const { traceId, spanId: parentSpanId } = root;
      const inner = many(below, () =>
        serverSpan(
          {},
          {
            ...{
              traceId,
              parentSpanId,
              spanId: randomBytes(8),
              name: 'SELECT users',
              kind: Span_SpanKind.CLIENT,
            },
            attributes: attributes({
              'db.system.name': 'postgresql',
              'db.query.text': 'SELECT * FROM users',
              rows: 3,
            }),
          },
        ),
      );
      return [root, ...inner];
    }).flat(),
  );
}
const spans = (count: number, requests: number) =>
  many(count, () => ({
    url: `${service.collectorUrl}/v1/traces`,
    body: buildSpans(requests),
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-protobuf' },
  }));

/** Spans a second of which the rows are made, as the collector makes them. */
function parsedRate(count: number): Promise<number> {
  const bodies = many(20, () => buildSpans(REQUESTS_PER_BODY));
  const ids = { app_env_id: 1, endpoint_id: 1, consumer_id: 1 };
  return ratePerCore(process.pid, count * SPANS_PER_BODY, () => {
    for (let at = 0; at < count; at++) {
      const request = decode(ExportTraceServiceRequestSchema, bodies[at % bodies.length]!, 'protobuf');
      for (const message of parseTraces(request, { digest: String(at), env: 'prod', now: Date.now() })) {
        const counts = message.spanCounts.map((one) => toCountRow(1, one, ids));
        for (const piece of [
          ...encodePieces('logged_spans', message.spans, (row) => ({ app_id: 1, ...row }), weighSpan),
          ...encodePieces('logged_requests', message.logs, (row) => toLogRow(1, row, ids), weighRequest),
          ...encodePieces('request_counts', counts, (row) => row),
        ])
          if (piece.rows === '') throw new Error('no rows');
      }
    }
    return Promise.resolve();
  });
}

try {
  await collectorRate(service, [...syncs(500), ...files(200)]);
  const sync = await collectorRate(service, syncs(6_000));
  const log = await collectorRate(service, files(3_000));
  await collectorRate(service, spans(20, REQUESTS_PER_BODY));
  const mixed = await collectorRate(service, spans(300, REQUESTS_PER_BODY));
  const alone = await collectorRate(service, spans(150, SPANS_PER_BODY));
  await service.stop();
  await parsedRate(200);
  const parsed = await parsedRate(1_000);
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
  const otlp = {
    parsed_spans_per_second: parsed,
    stored_spans_per_second: Math.round(mixed * SPANS_PER_BODY),
    stored_requests_per_second: Math.round(mixed * REQUESTS_PER_BODY),
    stored_requests_alone_per_second: Math.round(alone * SPANS_PER_BODY),
  };
  process.stdout.write(
    `${JSON.stringify({ sync: result(sync, counts), log: result(log, logs), otlp }, null, 2)}\n`,
  );
} finally {
  await service.stop();
  rmSync(directory, { recursive: true, force: true });
}
