/**
 * Writes the fixture of this version: a data directory with a little of everything, and what the API says of
 * it. Later versions open it in `releases`. A version that CHANGELOG.md dates is released, and its
 * fixture stays as it is.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'lossless-json';
import { createAdmin } from '../../src/ops/admin/admin.js';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { migrate, readMigrations } from '../../src/store/migrations/migrate.js';
import { hashUuid } from '../../src/shared/hash-uuid.js';
import { Config } from '../../src/config/config.js';
import { PRODUCT_VERSION } from '../../src/config/version.js';
import type { RequestRecord } from '../../src/records/request-record.js';
import { RequestsWriter } from '../../src/write/requests.writer.js';
import { finish } from '../../src/shared/async/slices.js';
import { encodePieces, toRequestRow } from '../../src/write/row-encoder.js';
import { buildRequest } from '../factories/request.factory.js';
import { dataDirectory } from '../setup/data-directory.js';
import { ProductProcess } from '../setup/product-process.js';
import { type Answer, type Release, call, directoryOfRelease, serve } from './release.js';

const MAX_BYTES = 300_000;
/** So far ahead that no retention reaches it (see `clock.js`); the engine's DateTime ends in 2106. */
const DAY = Date.UTC(2099, 4, 14);
const WINDOW = 'start=2099-05-13&end=2099-05-16';
const CAPTURE = {
  request_headers: [['content-type', 'application/json']],
  response_headers: [['x-cache', 'HIT']],
  request_body_json: '{"name":"***"}',
  response_body_json: null,
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
  exception: { type: 'TypeError', message: 'x is null', stacktrace: 'at x', tracker_event_id: null },
  logs: [
    {
      timestamp: '2099-05-14T10:00:00.123456Z',
      message: 'loaded',
      level: 'INFO',
      logger: null,
      file: 'a.ts',
      line: 7,
    },
  ],
};
const SPAN =
  '"spans":[{"span_id":"00f067aa0ba902b7","parent_span_id":null,"name":"GET","kind":"SERVER",' +
  '"start_time_ns":4082148000050000001,"end_time_ns":4082148000060000002,"duration_ns":10000001,"status":"OK",' +
  '"attributes":{"retries":[1,2.5,true]}}]';

function uuid(name: string): string {
  return hashUuid(`release ${name}`);
}

function requestAt(hours: number, overrides: Partial<RequestRecord> = {}): RequestRecord {
  return buildRequest({
    request_uuid: uuid(String(hours)),
    timestamp: DAY + hours * 3_600_000,
    ...overrides,
  });
}

const bob = { identifier: 'bob@example.com', name: 'Bob', group: 'Partners' };
const captured = requestAt(10, {
  method: 'POST',
  status_code: 500,
  captured_json: `${JSON.stringify(CAPTURE).slice(0, -1)},${SPAN}}`,
});
const pending = requestAt(23.5, { consumer: bob, url: 'https://api.example.com/users/8' });
const REQUESTS = [
  requestAt(0.5, { consumer: bob }),
  requestAt(1.25, { consumer: { identifier: 'a|b' }, env: 'staging', status_code: 404 }),
  captured,
  requestAt(11, { path: '/admin' }),
  requestAt(12, { path: null, consumer: null, client_ip: null, request_size_bytes: null, method: 'GET' }),
  requestAt(13, { path: '/healthz', excluded_from_logs: true }),
  requestAt(26, { path: '/ünïcode/{ключ}', url: 'https://api.example.com/%C3%BC' }),
];

function listPaths(appId: number): string[] {
  const app = `/v1/apps/${appId}`;
  return [
    '/v1/team',
    '/v1/apps',
    `${app}/endpoints`,
    `${app}/endpoints?app_env_id=2`,
    `${app}/consumers`,
    `${app}/request-logs?${WINDOW}`,
    `${app}/request-logs?${WINDOW}&status_code=4xx,500&method=get,post&path=/users/*`,
    `${app}/request-logs?${WINDOW}&consumer_id=1`,
    ...REQUESTS.map(({ request_uuid }) => `${app}/request-logs/${request_uuid}`),
    ...['UTC', 'Europe/Berlin', 'Asia/Kathmandu'].flatMap((timezone) => [
      `${app}/traffic?${WINDOW}&interval=day&timezone=${timezone}`,
      `${app}/traffic?${WINDOW}&interval=hour&timezone=${timezone}&consumer_id=1`,
    ]),
  ];
}

async function fill(config: Config) {
  const store = await ClickHouse.open(config);
  try {
    await migrate(store);
    const admin = createAdmin(store);
    const { id: teamId } = await admin.teams.create('Acme', 'premium');
    const { key } = await admin.keys.create(teamId, { name: 'reporting' });
    const { key: revokedKey } = await admin.keys.create(teamId);
    await admin.keys.revoke(revokedKey.split('.')[0] ?? '');
    const { id: appId } = await admin.apps.create(teamId, 'Shop', 'express');
    const disabled = await admin.apps.create(teamId, 'Old shop', 'koa');
    await admin.apps.setDisabled(disabled.id, true);
    await admin.apps.setNameLimits(appId, { consumers: 7 });
    const writer = RequestsWriter.create(store);
    const [first] = await writer.write(appId, REQUESTS);
    await writer.writeCounts(
      appId,
      [
        {
          ...requestAt(14),
          requests: 1000,
          bytes_received: 5_000_000_000,
          bytes_sent: 7,
          bins: [['time', -80, 1000]],
        },
      ],
      'c0',
    );
    await writer.close();
    await admin.endpoints.setExcluded(appId, 'GET', '/admin', true);
    const pieces = finish(
      encodePieces('requests', [pending], (request) => toRequestRow(appId, request, first!.ids)),
    );
    return { key, revokedKey, appId, batch: { id: uuid('batch'), pieces } };
  } finally {
    await store.close();
  }
}

if (new RegExp(`^## \\[${PRODUCT_VERSION}\\] - `, 'm').test(readFileSync('CHANGELOG.md', 'utf8')))
  throw new Error(`${PRODUCT_VERSION} is released: its fixture is not written again.`);

const data = dataDirectory();
try {
  const { key, revokedKey, appId, batch } = await fill(new Config(data.env));
  const service = await serve(data.env);
  const responses: Answer[] = [];
  for (const path of listPaths(appId)) responses.push({ path, body: await call(service, path, key) });
  await service.stop();
  const migrations = await readMigrations();
  const release: Release = {
    migrations: Object.fromEntries(migrations.map(({ name, checksum }) => [name, checksum])),
    key,
    revokedKey,
    answers: responses,
    batch: {
      ...batch,
      request: { path: `/v1/apps/${appId}/request-logs/${pending.request_uuid}`, body: { url: pending.url } },
    },
  };
  const directory = directoryOfRelease(PRODUCT_VERSION);
  const archive = join(directory, 'data.tar.gz');
  mkdirSync(directory, { recursive: true });
  execFileSync('tar', ['--numeric-owner', '-czf', archive, '-C', new Config(data.env).dataDir, '.']);
  writeFileSync(join(directory, 'release.json'), `${stringify(release, undefined, 1) ?? ''}\n`);
  const bytes = ['release.json', 'data.tar.gz'].reduce(
    (sum, name) => sum + statSync(join(directory, name)).size,
    0,
  );
  if (bytes > MAX_BYTES) throw new Error(`${directory} has ${bytes} bytes; at most ${MAX_BYTES} are wanted.`);
  console.log(`${directory}: ${responses.length} answers, ${bytes} bytes`);
} finally {
  await ProductProcess.endAll();
  data.remove();
}
