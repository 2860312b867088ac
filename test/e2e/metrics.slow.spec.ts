import { randomBytes, randomUUID } from 'node:crypto';
import { type Server, connect } from 'node:net';
import { RequestContext } from '../../src/telemetry/request-context.js';
import { Telemetry } from '../../src/telemetry/telemetry.js';
import { logFile } from '../collector/setup/log-file.js';
import { buildCount, buildLogItem, buildSync } from '../collector/setup/messages.js';
import { post } from '../collector/setup/post.js';
import { TestApp } from '../setup/app.js';
import { type Prepared, dataDirectory, prepare } from '../setup/data-directory.js';
import { eventually } from '../setup/eventually.js';
import { type Sample, getValue, parseExposition } from '../setup/exposition.js';
import { freePort } from '../setup/free-port.js';
import { ProductProcess } from '../setup/product-process.js';
import { closeConnections, exchangeOne, sendRaw } from '../setup/raw-http.js';
import { RedisServer, describeWithRedisServer } from '../setup/redis.js';
import { describeEmbedded } from '../setup/store.js';
import { Tenant } from '../setup/tenant.js';

const PREFIX = 'request_analytics_';
const REQUESTS = `${PREFIX}http_request_duration_seconds_count`;
const QUERIES = `${PREFIX}store_query_duration_seconds_count`;
const DECISIONS = `${PREFIX}rate_limit_decisions_total`;

const WRONG_KEY = `zzzzzzz.${'z'.repeat(32)}`;

let app: TestApp;
let tenant: Tenant;
let url: string;

afterAll(closeConnections);

/** The application with `/metrics`, and data. */
async function start(env: NodeJS.ProcessEnv = {}) {
  const port = await freePort();
  app = await TestApp.start({ METRICS_PORT: String(port), HOST: '127.0.0.1', ...env });
  url = `http://127.0.0.1:${port}`;
  tenant = await Tenant.create(app);
}

async function scrape(at = url): Promise<Sample[]> {
  const { status, headers, text } = await sendRaw(at, '/metrics');
  expect([status, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
  return parseExposition(text);
}

const call = (path: string, key?: string, method = 'GET') =>
  sendRaw(app.url, path, { method, headers: key ? { 'Api-Key': key } : {} });

describe('metrics', () => {
  beforeAll(() => start());
  afterAll(() => app.stop());

  it('are served at one path, to GET, and nothing else is', async () => {
    await scrape();
    const nosniff = { headers: { 'x-content-type-options': 'nosniff' } };
    expect(await sendRaw(url, '/metrics?name=x')).toMatchObject({ ...nosniff, status: 200 });
    for (const path of ['/', '/metrics/', '/health/live', '/v1/team'])
      expect([path, await sendRaw(url, path)]).toMatchObject([path, { ...nosniff, status: 404, text: '' }]);
    for (const method of ['POST', 'HEAD', 'DELETE'])
      expect((await sendRaw(url, '/metrics', { method })).status).toBe(404);
    expect((await call('/metrics')).status).toBe(404);
  });

  it.each([
    ['no HTTP', 'garbage\r\n\r\n'],
    ['two hosts', 'GET /metrics HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n'],
    ['no host', 'GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ])('are not given to %s', async (_, bytes) => {
    const { status, headers } = await exchangeOne(url, bytes);
    expect([status, headers['x-content-type-options']]).toEqual([400, 'nosniff']);
  });

  it('count requests by the pattern of their route, and by status', async () => {
    const [log] = await tenant.write({});
    await call('/v1/team', tenant.key);
    await call('/v1/team');
    await call(`/v1/apps/${tenant.appId}/request-logs/${log!.request_uuid}`, tenant.key);
    await call(`/v1/apps/${tenant.appId}/request-logs/${randomUUID()}`, tenant.key);
    await call(`/v1/apps/${tenant.appId}/traffic?interval=year`, tenant.key);
    const details = '/v1/apps/:app_id/request-logs/:request_uuid';
    const expected = [
      ['/v1/team', '200'],
      ['/v1/team', '401'],
      [details, '200'],
      [details, '404'],
      ['/v1/apps/:app_id/traffic', '422'],
    ];
    await eventually(async () => {
      const samples = await scrape();
      return expected.every(
        ([route, status]) =>
          getValue(samples, REQUESTS, { method: 'GET', route: route!, status: status! }) === 1,
      );
    });
  });

  it('count connections that are closed because there are too many', async () => {
    const dropped = async () => getValue(await scrape(), `${PREFIX}http_dropped_connections_total`);
    const server = app.app.getHttpServer() as Server;
    const { maxConnections } = server;
    expect(await dropped()).toBe(0);
    server.maxConnections = 1;
    const sockets = Array.from({ length: 3 }, () => connect(Number(new URL(app.url).port), '127.0.0.1'));
    await eventually(async () => (await dropped())! >= 2);
    for (const socket of sockets) socket.destroy();
    server.maxConnections = maxConnections;
  });

  it('time statements by name, and count what they read', async () => {
    await tenant.write({}, {}, {});
    await tenant.logs();
    const samples = await scrape();
    for (const query of ['api_keys.find', 'apps.find_scope', 'request_logs.page', 'requests.insert'])
      expect([query, getValue(samples, QUERIES, { query, outcome: 'ok' })]).toEqual([
        query,
        expect.any(Number),
      ]);
    expect(
      getValue(samples, `${PREFIX}store_read_rows_total`, { query: 'request_logs.page' }),
    ).toBeGreaterThan(2);
    expect(
      getValue(samples, `${PREFIX}store_read_bytes_total`, { query: 'request_logs.page' }),
    ).toBeGreaterThan(99);
  });

  it('have the outcome of a failed statement', async () => {
    const failing = app.store.rows('test.failing', 'SELECT throwIf(1)');
    await expect(failing).rejects.toThrow();
    const gone = new AbortController();
    const slow = new RequestContext(gone.signal).run(() =>
      app.store.rows('test.client_closed', 'SELECT sleep(0.3)'),
    );
    gone.abort(new Error('gone'));
    await expect(slow).rejects.toThrow('gone');
    const samples = await scrape();
    expect(getValue(samples, QUERIES, { query: 'test.failing', outcome: 'failed' })).toBe(1);
    expect(getValue(samples, QUERIES, { query: 'test.client_closed', outcome: 'client_closed' })).toBe(1);
  });

  it('show the queries that run and wait', async () => {
    const queries = async () => {
      const samples = await scrape();
      return ['running', 'waiting', 'limit'].map((state) =>
        getValue(samples, `${PREFIX}store_queries`, { state }),
      );
    };
    const limit = (await queries())[2]!;
    expect(limit).toBeGreaterThan(0);
    // On a busy machine the queries may have ended before they are read.
    await eventually(async () => {
      const slow = Array.from({ length: limit + 1 }, () => app.store.rows('test.slow', 'SELECT sleep(1)'));
      const [running, waiting] = await queries();
      await Promise.all(slow);
      return running === limit && waiting === 1;
    });
    expect(await queries()).toEqual([0, 0, limit]);
  });

  it('have the usual process metrics', async () => {
    const samples = await scrape();
    expect(getValue(samples, 'process_cpu_seconds_total')).toBeGreaterThan(0);
    expect(getValue(samples, 'process_resident_memory_bytes')).toBeGreaterThan(1e7);
    expect(getValue(samples, 'nodejs_heap_size_used_bytes')).toBeGreaterThan(1e6);
    expect(getValue(samples, 'nodejs_heap_space_size_used_bytes', { space: 'old' })).toBeGreaterThan(1e6);
    expect(getValue(samples, 'nodejs_eventloop_lag_p99_seconds')).toBeGreaterThanOrEqual(0);
    expect(getValue(samples, 'nodejs_version_info', { version: process.version })).toBe(1);
    expect(getValue(samples, 'request_analytics_log_dropped_lines_total')).toBe(0);
    expect(getValue(samples, `${PREFIX}build_info`, { node: process.versions.node })).toBe(1);
    expect(getValue(samples, `${PREFIX}rate_limit_fallback`)).toBe(0);
  });

  it('have series for what the product does, never for what clients send', async () => {
    const strange = async (count: number) => {
      for (let n = 0; n < count; n++) {
        const word = randomBytes(6).toString('hex');
        const method = ['GET', 'POST', 'PROPFIND', 'LOCK'][n % 4];
        await call(`/${word}`, undefined, method);
        await call(`/v1/${word}/${word}?${word}=${word}`, tenant.key, method);
        await call(`/v1/apps/${n}/endpoints?path=${word}`, tenant.key);
        await call(`/v1/apps/${tenant.appId}/consumers?${word}`, tenant.key);
        await call(`/docs/${word}`);
        await sendRaw(app.url, '/v1/team', {
          headers: { 'Api-Key': `${word.slice(0, 7)}.${'x'.repeat(32)}` },
        });
      }
      return scrape();
    };
    // Kinds of garbage collection come when they come.
    const series = (samples: Sample[]) =>
      samples
        .filter(({ name }) => name.startsWith(PREFIX))
        .map(({ name, labels }) => JSON.stringify([name, labels]))
        .sort();
    const before = series(await strange(4));
    const after = await strange(24);
    expect(series(after)).toEqual(before);
    const values = new Set(after.flatMap(({ labels }) => Object.values(labels)));
    for (const mine of [tenant.key, tenant.key.slice(0, 7)]) expect(values).not.toContain(mine);
    expect(getValue(after, REQUESTS, { method: 'other', route: 'unmatched', status: '404' })).toBeGreaterThan(
      12,
    );
  });
});

describe('metrics of the limits', () => {
  beforeAll(() => start({ RATE_LIMIT_PER_MINUTE: '2', AUTH_FAILURES_PER_MINUTE: '3', CACHE_TTL_MS: '5000' }));
  afterAll(() => app.stop());

  it('count what they let pass and what they refused', async () => {
    for (let n = 0; n < 5; n++) await call('/v1/team', tenant.key);
    for (let n = 0; n < 5; n++) await call('/v1/team', WRONG_KEY);
    const samples = await scrape();
    const decided = (limit: string, decision: string) => getValue(samples, DECISIONS, { limit, decision });
    expect([decided('api_key', 'allowed'), decided('api_key', 'refused')]).toEqual([2, 3]);
    expect([decided('auth_failure', 'allowed'), decided('auth_failure', 'refused')]).toEqual([3, 2]);
  });
});

describe('without a port', () => {
  it('nothing is measured', async () => {
    await start({ METRICS_PORT: '' });
    expect(app.app.get(Telemetry)).toEqual(Telemetry.none);
    await expect(sendRaw(url, '/metrics')).rejects.toThrow('ECONNREFUSED');
    await app.stop();
  });
});

describeWithRedisServer('metrics of Redis', () => {
  it('say while it is away that this process counts by itself', async () => {
    const redis = await RedisServer.start();
    await start({ REDIS_URL: redis.url });
    const fallback = async () => getValue(await scrape(), `${PREFIX}rate_limit_fallback`);
    expect(await fallback()).toBe(0);
    await redis.kill();
    await eventually(async () => {
      await call('/v1/team', tenant.key);
      return (await fallback()) === 1;
    });
    await redis.launch();
    await eventually(async () => (await fallback()) === 0);
    await app.stop();
    await redis.stop();
  });
});

// Each process has the engine in it.
describeEmbedded('metrics of a process', () => {
  const data = dataDirectory();
  let prepared: Prepared;

  beforeAll(async () => {
    prepared = await prepare(data.env);
  });
  afterEach(() => ProductProcess.endAll());
  afterAll(data.remove);

  it('count by name what the collector leaves out', async () => {
    const service = await ProductProcess.start(['collector'], data.env);
    const path = `${service.collectorUrl}/v2/${prepared.clientId}/prod`;
    const count = buildCount({ consumer: true, request_size_sum: -1 });
    const requests = [count, buildCount({ request_count: -1 }), count];
    await post(`${path}/sync`, JSON.stringify(buildSync({ requests, consumers: 'bob' })));
    const odd = buildLogItem({ request: { size: 2 ** 53 }, exception: { message: 'm' } });
    await post(`${path}/log?uuid=${randomUUID()}`, logFile([odd, '{}']));
    await post(`${path}/sync`, '[]');
    const rejected = (await scrape(service.metricsUrl)).filter(
      ({ name }) => name === `${PREFIX}collector_rejected_total`,
    );
    const counted = rejected.map(({ labels, value }) => `${Object.values(labels).join(' ')} ${value}`);
    expect(counted.sort()).toEqual([
      'log entry request 1',
      'log member exception 1',
      'log member request.size 1',
      'sync entry requests[].request_count 1',
      'sync member consumers 1',
      'sync member requests[].consumer 2',
      'sync member requests[].request_size_sum 2',
      'sync message body 1',
    ]);
    expect(service.written).toContain('members left out: exception, request.size');
  });

  it.each(['serve', 'collector'])('are one server: %s', async (command) => {
    const service = await ProductProcess.start([command], data.env);
    const path = `${service.collectorUrl}/v2/${prepared.clientId}/prod`;
    const message = JSON.stringify(buildSync());
    for (const body of [message, message, '{}']) await post(`${path}/sync`, body);
    await post(`${service.collectorUrl}/v2/${randomUUID()}/prod/sync`, message);
    const samples = await scrape(service.metricsUrl);
    const messages = (outcome: string) =>
      getValue(samples, `${PREFIX}collector_messages_total`, { kind: 'sync', outcome });
    expect([messages('accepted'), messages('invalid'), messages('unknown_client')]).toEqual([2, 1, 1]);
    const commits = `${PREFIX}collector_commit_duration_seconds_count`;
    expect(getValue(samples, commits, { outcome: 'ok' })).toBeGreaterThan(0);
    expect(getValue(samples, `${PREFIX}collector_batch_messages_sum`)).toBe(2);
    expect(getValue(samples, `${PREFIX}collector_queued_messages`)).toBe(0);
    expect(getValue(samples, `${PREFIX}collector_in_flight_bytes`)).toBe(0);
    expect(getValue(samples, DECISIONS, { limit: 'client_id', decision: 'allowed' })).toBe(3);
    const route = '/v2/:client_id/:env/sync';
    expect(getValue(samples, REQUESTS, { method: 'POST', route, status: '202' })).toBe(2);
    expect(JSON.stringify(samples)).not.toContain(prepared.clientId);
    expect(await service.stop()).toBe(0);
    await expect(sendRaw(service.metricsUrl, '/metrics')).rejects.toThrow('ECONNREFUSED');
  });
});
