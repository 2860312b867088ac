import { execFile } from 'node:child_process';
import { Console } from 'node:console';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DuckDBInstance } from '@duckdb/node-api';
import { eventually } from '../setup/eventually.js';
import { EXPORT_FIELDS } from '../../src/api/request-logs/export/export.input.js';
import { type Client, TestService } from '../collector/setup/collector.js';
import type { LogBody, Query, Tenant } from '../setup/tenant.js';
import { findObstacle } from './packages.js';
import { SENDERS, type Sender, SenderApp } from './senders.js';

/** How long an SDK may take to send what it has, on a busy machine. */
const SENT_WITHIN_MS = 90_000;
const [READS, WRITES, FAILURES] = [30, 7, 3];
const ALL = READS + WRITES + FAILURES;
const DEFAULT_ROUTES = { user: '/users/{id}', users: '/users', boom: '/boom' };

/** The program of the public CLI of this API. No registry of packages has it, so CI does not run it. */
const { APITALLY_CLI } = process.env;

let service: TestService;

beforeAll(async () => {
  service = await TestService.start({ COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '20' });
});

type Aspect =
  | 'counts'
  | 'requests'
  | 'app'
  | 'consumer'
  | 'URL, time'
  | 'spans'
  | 'logs'
  | 'exception'
  | 'trace'
  | 'sampled'
  | 'public CLI';

/** What was compared and held, by sender. */
const held: Record<string, Partial<Record<Aspect, 'held'>>> = {};

afterAll(async () => {
  await service.stop();
  new Console(process.stderr).table(held);
});

/** OpenTelemetry's standard variables, and those of the client libraries; everything is sent soon. */
async function createVariables(client: Client, sender: Sender): Promise<Record<string, string>> {
  const { token } = await service.api.admin.writeTokens.create(client.tenant.appId);
  const isGrpc = sender.protocol === 'grpc';
  const variables = {
    OTEL_EXPORTER_OTLP_ENDPOINT: isGrpc ? `http://${service.collector.grpcAddress}` : service.collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer ${token}`,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_METRIC_EXPORT_INTERVAL: '2000',
    OTEL_METRIC_EXPORT_TIMEOUT: '2000',
    OTEL_BSP_SCHEDULE_DELAY: '500',
    OTEL_BLRP_SCHEDULE_DELAY: '500',
  };
  if (sender.hasDefaults) return variables;
  return {
    ...variables,
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=prod',
    OTEL_EXPORTER_OTLP_PROTOCOL: isGrpc ? 'grpc' : 'http/protobuf',
    OTEL_SEMCONV_STABILITY_OPT_IN: 'http',
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_METRICS_EXPORTER: 'otlp',
    OTEL_LOGS_EXPORTER: 'otlp',
    APITALLY_OTLP_ENDPOINT: service.collector.url,
    APITALLY_WRITE_TOKEN: token,
    APITALLY_HUB_BASE_URL: service.collector.url,
    CLIENT_ID: client.clientId,
  };
}

/** Requests of request logs by method, route and status. */
function countLogs(logs: readonly LogBody[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { method, path, status_code } of logs) {
    const endpoint = `${method} ${path} ${status_code}`;
    counts[endpoint] = (counts[endpoint] ?? 0) + 1;
  }
  return counts;
}

/** Reads request logs with all fields from DuckDB, to which the public CLI wrote them. */
async function readByPublicCli(program: string, { appId, key }: Tenant, fields: readonly string[]) {
  const directory = mkdtempSync(join(tmpdir(), 'public-cli-'));
  try {
    const database = join(directory, 'data.duckdb');
    await promisify(execFile)(
      program,
      ['request-logs', String(appId), '--since', '1h', '--fields', fields.join(), '--db', database],
      { env: { ...process.env, APITALLY_API_BASE_URL: service.api.url, APITALLY_API_KEY: key } },
    );
    const instance = await DuckDBInstance.create(database);
    const connection = await instance.connect();
    try {
      const result = await connection.runAndReadAll('SELECT * FROM request_logs ORDER BY request_uuid');
      return result.getRowObjectsJson();
    } finally {
      connection.closeSync();
      instance.closeSync();
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
}

type Row = Record<string, unknown>;

/** Makes rows of an export and of DuckDB equal: times, 64-bit integers and headers differ in form. */
const normalize = (row: Row): Row => ({
  ...Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      value === null ? null : String(value as string | number),
    ]),
  ),
  timestamp: Date.parse(String(row.timestamp)),
  request_headers: readHeaders(row.request_headers),
  response_headers: readHeaders(row.response_headers),
});

const readHeaders = (headers: unknown) =>
  (headers as object[] | null)?.map((header) => Object.values(header));

async function load(app: SenderApp): Promise<void> {
  for (let at = 0; at < READS; at++)
    expect(await app.call('/users/7?full=1', { headers: { 'x-user': 'bob' } })).toBe(200);
  for (let at = 0; at < WRITES; at++)
    expect(
      await app.call('/users', {
        method: 'POST',
        body: '{}',
        headers: { 'content-type': 'application/json' },
      }),
    ).toBe(201);
  for (let at = 0; at < FAILURES; at++) expect(await app.call('/boom')).toBe(500);
}

for (const sender of SENDERS) {
  const obstacle = findObstacle(sender.packages);
  if (obstacle !== undefined) process.stderr.write(`skipped: ${sender.name}, because ${obstacle}\n`);
  (obstacle === undefined ? describe : describe.skip)(sender.name, () => {
    const app = new SenderApp(sender);
    const { user, users, boom } = sender.routes ?? DEFAULT_ROUTES;
    const expected = {
      [`GET ${user} 200`]: READS,
      [`POST ${users} 201`]: WRITES,
      [`GET ${boom} 500`]: FAILURES,
    };

    afterEach(() => app.stop());

    /**
     * Returns the requests of metrics by method, route and status once all are counted and have a response
     * time.
     */
    const waitForCounts = ({ tenant }: Client) =>
      eventually(async () => {
        const rows = await tenant.metrics({
          since: '2025-01-01',
          metrics: ['requests', 'response_time_p50'],
          group_by: ['method', 'path', 'status_code'],
        });
        // One insert fills the tables of counts and of bins one after the other.
        if (rows.some(({ response_time_p50 }) => response_time_p50 === null)) return false;
        if (rows.reduce((sum, { requests }) => sum + Number(requests), 0) < ALL) return false;
        return Object.fromEntries(
          rows.map(({ method, path, status_code, requests }) => [
            `${String(method)} ${String(path)} ${String(status_code)}`,
            Number(requests),
          ]),
        );
      }, SENT_WITHIN_MS);

    const { sends, protocol } = sender;
    const countRequests = async (tenant: Tenant, query: Query = {}) => {
      const { data } = await tenant.traffic({ interval: 'day', ...query });
      return data.reduce((sum, { requests }) => sum + requests, 0);
    };

    it(
      'returns the requests that were made, in all operations',
      async () => {
        const client = await service.tenant();
        const { tenant } = client;
        await app.start(await createVariables(client, sender));
        // SDKs that count on from the start of their process are some milliseconds off.
        const from = Date.now() - 1000;
        await load(app);
        const failures: string[] = [];
        /** What does not hold is thrown at the end, so that the table has all that does. */
        const check = async (aspect: Aspect, compare: () => Promise<void>) => {
          try {
            await compare();
            (held[sender.name] ??= {})[aspect] = 'held';
          } catch (error) {
            failures.push(`${aspect}: ${error instanceof Error ? error.message : String(error)}`);
          }
        };

        await check('counts', async () => {
          expect(await waitForCounts(client)).toEqual(expected);
          await eventually(async () => (await countRequests(tenant)) === ALL);
        });
        await check('requests', async () => {
          await eventually(
            async () => (await tenant.logs({ limit: 1000 })).data.length >= ALL,
            SENT_WITHIN_MS,
          );
          const { data: logged } = await tenant.logs({ limit: 1000 });
          // Some libraries note the time after the response was sent, so later than the client has it.
          const until = Date.now();
          expect(countLogs(logged)).toEqual(expected);
          for (const { timestamp } of logged) {
            expect(Date.parse(timestamp)).toBeGreaterThanOrEqual(from);
            expect(Date.parse(timestamp)).toBeLessThanOrEqual(until);
          }
          const exported = await tenant.post('request-logs', { since: '2025-01-01' });
          expect(exported.text.split('\n')).toHaveLength(ALL + 1);
        });
        await check('app', async () => {
          const { body: apps } = await service.api.get('/v1/apps', tenant.key);
          expect(apps.data[0].envs).toMatchObject([{ name: sender.hasDefaults ? 'default' : 'prod' }]);
          if (sends.framework !== 'unknown') expect(apps.data[0].framework).toBe(sends.framework);
          const { body: endpoints } = await tenant.get('endpoints');
          expect(endpoints.data).toEqual(
            expect.arrayContaining([
              expect.objectContaining({ method: 'GET', path: user }),
              expect.objectContaining({ method: 'POST', path: users }),
              expect.objectContaining({ method: 'GET', path: boom }),
            ]),
          );
        });
        await check('consumer', async () => {
          expect((await tenant.consumers()).data).toMatchObject([{ identifier: 'bob' }]);
          // The metrics of SDKs name no consumer: their spans do.
          const consumer_id = await tenant.consumerId('bob');
          await eventually(
            async () => (await countRequests(tenant, { consumer_id })) === READS,
            SENT_WITHIN_MS,
          );
        });

        const [log] = (await tenant.logs({ path: user, method: 'GET', status_code: '200' })).data;
        const readDetails = async () => (await tenant.get(`request-logs/${log!.request_uuid}`)).body;
        await check('URL, time', async () => {
          expect(log).toMatchObject({
            url: expect.stringMatching(sends.query ? /\/users\/7\?full=1$/ : /\/users\/7$/),
            response_time_ms: expect.any(Number),
            consumer: 'bob',
          });
          return Promise.resolve();
        });
        if (sends.span)
          await check('spans', async () => {
            const { spans } = await readDetails();
            expect(spans.map(({ name }: { name: string }) => name)).toContain('load user');
          });
        if (sends.log)
          await check('logs', () =>
            eventually(async () => {
              const { logs } = await readDetails();
              return logs.some(({ message }: { message: string }) => message === 'loading 7');
            }, SENT_WITHIN_MS).then(() => undefined),
          );
        const type = sends.exception;
        if (type !== undefined)
          await check('exception', async () => {
            const [failed] = (await tenant.logs({ path: boom, status_code: '500' })).data;
            // It may come in a log record, after its request.
            const exception = await eventually(async () => {
              const { body } = await tenant.get(`request-logs/${failed!.request_uuid}`);
              return (body.exception ?? false) as object | false;
            }, SENT_WITHIN_MS);
            expect(exception).toMatchObject({
              type: expect.stringContaining(type),
              message: 'no luck',
            });
          });
        if (protocol !== 'hub')
          await check('trace', async () => {
            const { trace_id, spans } = await readDetails();
            expect(trace_id).toMatch(/^[0-9a-f]{32}$/);
            const filters = [{ field: 'trace_id', op: 'eq', value: trace_id }];
            const ofTrace = await tenant.post('traces', { filters });
            expect(ofTrace.text.split('\n')).toHaveLength((spans as unknown[]).length + 1);
          });
        if (APITALLY_CLI !== undefined)
          await check('public CLI', async () => {
            // The name of a consumer is a field of ours alone.
            const fields = EXPORT_FIELDS.filter((name) => name !== 'consumer');
            const exported = await tenant.post('request-logs', { since: '2025-01-01', fields });
            const rows = exported.text
              .split('\n')
              .filter(Boolean)
              .map((line) => JSON.parse(line) as Row);
            const stored = (await readByPublicCli(APITALLY_CLI, tenant, fields)).map(normalize);
            expect(stored).toHaveLength(ALL);
            expect(new Map(stored.map((row) => [row.request_uuid, row]))).toEqual(
              new Map(rows.map((row) => [row.request_uuid, normalize({ app_id: tenant.appId, ...row })])),
            );
          });
        expect(failures).toEqual([]);
      },
      8 * SENT_WITHIN_MS,
    );

    if (protocol === 'hub') return;
    it(
      'counts all requests where one trace in ten is kept',
      async () => {
        const client = await service.tenant();
        const sampled = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.1' };
        await app.start({ ...(await createVariables(client, sender)), ...sampled });
        await load(app);
        expect(await waitForCounts(client)).toEqual(expected);
        // Of 40 traces, more than half are kept in one of 10^12 runs.
        expect((await client.tenant.logs({ limit: 1000 })).data.length).toBeLessThan(ALL / 2);
        (held[sender.name] ??= {}).sampled = 'held';
      },
      4 * SENT_WITHIN_MS,
    );
  });
}
