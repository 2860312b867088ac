import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type Socket, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createAdmin } from '../../src/ops/admin/admin.js';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { migrate } from '../../src/store/migrations/migrate.js';
import { Config } from '../../src/config/config.js';
import { Load, type Outgoing } from '../collector/setup/load.js';
import { logFile } from '../collector/setup/log-file.js';
import { buildCount, buildLogItem, buildSync } from '../collector/setup/messages.js';
import { buildOtlpLoad, readOtlpTotals } from '../collector/setup/otlp-load.js';
import { ProductProcess } from '../setup/product-process.js';
import { describeEmbedded } from '../setup/store.js';
import { SEED, randomFrom } from './crash.js';
import { quantile } from './load.js';

/** Ten minutes with ten kills are the long form: SOAK_SECONDS=600 SOAK_KILLS=10. */
const SECONDS = Number(process.env.SOAK_SECONDS ?? 12);
const KILLS = Number(process.env.SOAK_KILLS ?? 1);
const LINES = 200;
const SLOW_READERS = 8;
const MAX_GROWTH = 1.25;

interface App {
  id: number;
  clientId: string;
  token: string;
}

describeEmbedded('all ways in and out at once, with readers that do not read and with kills', () => {
  const directory = mkdtempSync(join(tmpdir(), 'soak-'));
  const env = { DATA_DIR: join(directory, 'data') };
  let service: ProductProcess;

  afterAll(async () => {
    await service.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it(
    `loses nothing, stores nothing twice, and stays as large as it was (CRASH_SEED=${SEED})`,
    async () => {
      const random = randomFrom(SEED);
      const { key, hub, requests, imports, otlp } = await prepareApps(env);
      service = await ProductProcess.start(['serve'], {
        ...env,
        LOG_LEVEL: 'error',
        RATE_LIMIT_PER_MINUTE: '1000000',
        TRACES_RATE_LIMIT_PER_SECOND: '1000000',
        TRACES_RATE_LIMIT_PER_MINUTE: '1000000',
        COLLECTOR_RATE_LIMIT_PER_MINUTE: '1000000',
        COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '1',
      });
      const endsAt = Date.now() + SECONDS * 1000;
      const isRunning = () => Date.now() < endsAt;
      const sent = { hub: 0, hubLogs: 0, requests: 0, imports: 0 };
      const deliver = (message: Outgoing) => new Load([message]).run(1);
      const bearer = ({ token }: App) => ({ authorization: `Bearer ${token}` });

      const sendHub = async () => {
        for (let index = 0; isRunning(); index++) {
          const url = `${service.collectorUrl}/v2/${hub.clientId}/prod`;
          const count = 1 + (index % 97);
          const body = JSON.stringify(buildSync({ requests: [buildCount({ request_count: count })] }));
          await deliver({ url: `${url}/sync`, body });
          sent.hub += count;
          await deliver({ url: `${url}/log?uuid=${randomUUID()}`, body: logFile([buildLogItem()]) });
          sent.hubLogs += 1;
        }
      };
      const sendRequests = async () => {
        while (isRunning()) {
          await deliver({
            url: `${service.collectorUrl}/v1/requests`,
            body: buildLines(LINES),
            headers: bearer(requests),
          });
          sent.requests += LINES;
        }
      };
      const importFiles = async () => {
        for (let index = 0; isRunning(); index++) {
          const file = join(directory, `${index}.ndjson`);
          writeFileSync(file, buildLines(LINES));
          // A kill of the server ends the command, and the same file is imported again.
          while ((await ProductProcess.run(['import', file, '--app', String(imports.id)], env)).code !== 0)
            await pause(500);
          sent.imports += LINES;
          await pause(500);
        }
      };
      // A fixed number, because what they are counted by is known for all of them alone. Each of the two
      // senders waits for an acknowledgement, and needs half of the time for these.
      const otlpLoad = buildOtlpLoad(Math.ceil(SECONDS / 2), otlp.token, () => service.collectorUrl);
      const sendOtlp = async () => {
        await deliver(otlpLoad.first);
        await new Load(otlpLoad.messages).run(2);
      };

      const reads = { ok: 0, unavailable: 0, other: [] as string[], ms: [] as number[] };
      const since = new Date(Date.now() - 86_400_000).toISOString();
      const read = async () => {
        const bodies = {
          metrics: { since, metrics: ['requests', 'response_time_p95'], interval: 'minute' },
          'request-logs': { since, limit: 1000 },
          traces: { since, limit: 100 },
        };
        while (isRunning())
          for (const [path, body] of [
            ['request-logs?limit=100', undefined],
            ['traffic', undefined],
            ['endpoints', undefined],
            ['consumers', undefined],
            ...Object.entries(bodies),
          ] as const) {
            const startedAt = performance.now();
            const status = await fetch(`${service.apiUrl}/v1/apps/${requests.id}/${path}`, {
              method: body ? 'POST' : 'GET',
              headers: { 'Api-Key': key },
              ...(body && { body: JSON.stringify(body) }),
            }).then(
              async (response) => response.arrayBuffer().then(() => response.status),
              () => 0,
            );
            reads.ms.push(performance.now() - startedAt);
            if (status === 200) reads.ok += 1;
            // 429: the readers that do not read have the same team, and hold its part of the memory.
            else if ([0, 429, 503].includes(status)) reads.unavailable += 1;
            else reads.other.push(`${path}: ${status}`);
          }
      };
      const readNothing = async () => {
        while (isRunning()) {
          const idle = Array.from({ length: SLOW_READERS }, () =>
            beginExport(new URL(service.apiUrl), requests.id, key, since),
          );
          await pause(Math.min(20_000, SECONDS * 250));
          for (const socket of idle) socket.destroy();
        }
      };
      // The first half has the kills, and what follows the last one shows whether the process grows.
      const kill = async () => {
        for (let done = 0; done < KILLS; done++) {
          await pause((((SECONDS / 2) * 1000) / KILLS) * (0.5 + random() / 2));
          await service.crash();
          await launchAfterImport(service);
        }
      };
      const sizes: { rssMb: number; descriptors: number }[] = [];
      const watch = async () => {
        // A process that has just started fills its caches.
        await pause(SECONDS * 100);
        while (isRunning()) {
          sizes.push({
            rssMb: service.memory.rssMb,
            descriptors: readdirSync(`/proc/${service.pid}/fd`).length,
          });
          await pause(500);
        }
      };

      await Promise.all([
        sendHub(),
        sendRequests(),
        importFiles(),
        sendOtlp(),
        read(),
        readNothing(),
        kill().then(watch),
      ]);
      // Spans of instances without a metric are counted some seconds later.
      await pause(8_000);
      await service.stop();

      const third = Math.ceil(sizes.length / 3);
      const average = (values: readonly number[]) =>
        values.reduce((sum, value) => sum + value, 0) / values.length;
      const growth = (name: 'rssMb' | 'descriptors') =>
        average(sizes.slice(-third).map((size) => size[name])) /
        average(sizes.slice(0, third).map((size) => size[name]));
      console.log(
        `soak: ${SECONDS} s, ${KILLS} kills; sent ${JSON.stringify(sent)} and ${otlpLoad.messages.length} OTLP bodies; ` +
          `reads ${reads.ok}, unavailable ${reads.unavailable}, p99 ${quantile(reads.ms, 0.99).toFixed(0)} ms; ` +
          `memory ${Math.max(...sizes.map(({ rssMb }) => rssMb))} MiB at most, grown ${growth('rssMb').toFixed(2)}; ` +
          `descriptors grown ${growth('descriptors').toFixed(2)}`,
      );
      const store = await ClickHouse.open(new Config(env));
      try {
        const count = async (table: string, { id }: App, value: string) => {
          const sql = `SELECT ${value} AS total FROM ${table} WHERE app_id = {app_id:UInt32}`;
          const [row] = await store.rows<{ total: number }>('soak.total', sql, { app_id: id });
          return row?.total;
        };
        const counted = (app: App) => count('counts_per_hour_v1', app, `sumIf(n, measure = 'requests')`);
        const logged = (app: App) => count('request_logs_v1', app, 'toUInt32(count())');
        expect({
          hub: await counted(hub),
          hubLogs: await logged(hub),
          requests: await counted(requests),
          imports: await counted(imports),
        }).toEqual(sent);
        expect([await logged(requests), await logged(imports)]).toEqual([sent.requests, sent.imports]);
        expect(await readOtlpTotals(store, otlp.id)).toEqual(otlpLoad.expected);
      } finally {
        await store.close();
      }
      expect(reads.other).toEqual([]);
      if (SECONDS >= 300) {
        expect(sizes.length).toBeGreaterThan(SECONDS / 5);
        expect(growth('rssMb')).toBeLessThan(MAX_GROWTH);
        expect(growth('descriptors')).toBeLessThan(MAX_GROWTH);
      }
    },
    (SECONDS + 300) * 1000,
  );
});

async function prepareApps(env: NodeJS.ProcessEnv) {
  const store = await ClickHouse.open(new Config(env));
  try {
    await migrate(store);
    const admin = createAdmin(store);
    const { id: teamId } = await admin.teams.create('Acme', 'premium');
    const { key } = await admin.keys.create(teamId);
    const create = async (name: string): Promise<App> => {
      const { id, client_id: clientId } = await admin.apps.create(teamId, name, 'express');
      const { token } = await admin.writeTokens.create(id);
      return { id, clientId, token };
    };
    return {
      key,
      hub: await create('Hub'),
      requests: await create('Requests'),
      imports: await create('Imports'),
      otlp: await create('OTLP'),
    };
  } finally {
    await store.close();
  }
}

function buildLines(count: number): string {
  const now = Date.now();
  return Array.from({ length: count }, (_, index) =>
    JSON.stringify({
      request_uuid: randomUUID(),
      timestamp: new Date(now - index * 10).toISOString(),
      method: 'GET',
      url: `https://shop.example.com/orders/${index}`,
      path: `/orders/{id}/${index % 7}`,
      status_code: 200,
      response_time_ms: index % 50,
    }),
  ).join('\n');
}

/** Asks for an export and reads nothing of it. */
function beginExport({ hostname, port }: URL, appId: number, key: string, since: string): Socket {
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.pause();
  const body = JSON.stringify({ since });
  socket.write(
    `POST /v1/apps/${appId}/request-logs HTTP/1.1\r\nHost: localhost\r\nApi-Key: ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  return socket;
}

/** Starts the service again. An import that began without it keeps the data directory until it ends. */
async function launchAfterImport(service: ProductProcess): Promise<void> {
  for (;;)
    try {
      await service.launch();
      return;
    } catch (error) {
      if (!String(error).includes('is in use by another process')) throw error;
      await pause(500);
    }
}
