import { once } from 'node:events';
import { type IncomingMessage, type Server, request } from 'node:http';
import { type AddressInfo, type Socket, connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { pino } from 'pino';
import { METRICS } from '../../src/api/app-metrics/metric-names.js';
import { Config } from '../../src/config/config.js';
import type { RunningServer } from '../../src/entry/bootstrap/api-server.js';
import { startCollectorOn } from '../../src/entry/bootstrap/collector-server.js';
import type { HttpAdapter } from '../../src/platform/http/http.adapter.js';
import type { ResponseReaders } from '../../src/platform/http/response-readers.js';
import { StoreMonitor } from '../../src/store/health/store-monitor.js';
import { Telemetry } from '../../src/telemetry/telemetry.js';
import { TestApp } from '../setup/app.js';
import { eventually } from '../setup/eventually.js';
import { getValue, parseExposition } from '../setup/exposition.js';
import { freePort } from '../setup/free-port.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';
import { Tenant } from '../setup/tenant.js';

const MIB = 1024 * 1024;
const MAX_UNREAD = 24 * MIB;
const ROWS = 400;
/** Far more than the buffers of a connection hold, together. */
const URL_BYTES = 25_000;
/** The product's is a minute. */
const WINDOW_MS = 5_000;
const TOO_SLOW = 'it takes fewer than 20000 bytes a second';

const readersOf = (app: NestExpressApplication) => (app.getHttpAdapter() as HttpAdapter).readers;

function limitReaders(readers: ResponseReaders, maxUnreadBytes: number, { app }: TestApp): void {
  const limits = { bytesPerSecond: 20_000, maxUnreadBytes, windowMs: WINDOW_MS };
  readers.limit(limits, app.get(Telemetry).metrics);
}

describe('clients that read their responses slowly', () => {
  let app: TestApp;
  let tenants: Tenant[];
  let responses: IncomingMessage[] = [];
  const start = Date.now() - 3_600_000;

  beforeAll(async () => {
    app = await TestApp.start({
      MAX_UNREAD_RESPONSES_MB: String(MAX_UNREAD / MIB),
      RATE_LIMIT_PER_MINUTE: '1000',
    });
    tenants = [await Tenant.create(app), await Tenant.create(app)];
    const url = `https://x/${'y'.repeat(URL_BYTES)}`;
    for (const tenant of tenants)
      await tenant.write(...Array.from({ length: ROWS }, (_, index) => ({ timestamp: start + index, url })));
  });

  afterEach(async () => {
    for (const response of responses) response.destroy();
    responses = [];
    await eventually(() => unreadBytes() === 0);
  });

  afterAll(() => app.stop());

  const unreadBytes = () => readersOf(app.app).unreadBytes;

  /** Sends a request and reads no body. */
  async function open({ key, appId }: Tenant, resource: string, body?: object): Promise<IncomingMessage> {
    const headers = { 'Api-Key': key };
    const outgoing = request(`${app.url}/v1/apps/${appId}/${resource}`, {
      method: body ? 'POST' : 'GET',
      agent: false,
      headers,
    });
    outgoing.end(body && JSON.stringify(body));
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    incoming.on('error', () => undefined);
    // Node.js 24 tells the request, too, that its connection was reset.
    outgoing.on('error', () => undefined);
    responses.push(incoming);
    return incoming;
  }

  const page = (tenant: Tenant) => open(tenant, `request-logs?limit=${ROWS}`);
  const exported = (tenant: Tenant) =>
    open(tenant, 'request-logs', { since: new Date(start).toISOString(), fields: ['url'] });

  it('get 429 for more than a part of the memory, and thirty unread answers stay within it', async () => {
    const [tenant] = tenants as [Tenant];
    const statuses = [];
    for (let count = 0; count < 30; count += 1) {
      const response = await page(tenant);
      statuses.push(response.statusCode);
      if (response.statusCode === 429) expect(response.headers['retry-after']).toBe('1');
      expect(unreadBytes()).toBeLessThanOrEqual(MAX_UNREAD);
    }
    expect(statuses).toEqual([200, 200, ...Array<number>(28).fill(429)]);
    const [first] = responses as [IncomingMessage];
    expect((await buffer(first)).length).toBe(Number(first.headers['content-length']));
    expect((await page(tenant)).statusCode).toBe(200);
  });

  it('make room for another team', async () => {
    const [first, second] = tenants as [Tenant, Tenant];
    const mine = [await page(first), await page(first)];
    const other = await page(second);
    expect(other.statusCode).toBe(200);
    expect((await buffer(other)).length).toBe(Number(other.headers['content-length']));
    const ends = await Promise.allSettled(mine.map((response) => buffer(response)));
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('count a long period of metrics, which is in memory as a whole, and lose it to another team', async () => {
    const [first, second] = tenants as [Tenant, Tenant];
    const minute = Math.floor(start / 60_000) * 60;
    await app.store.command(
      `INSERT INTO counts_per_minute_v1
      SELECT {app_id:UInt32}, 'requests', toDateTime({minute:UInt32}, 'UTC'), 1, 0, number + 1, 200, 0, 1, number, number
      FROM numbers(120000)`,
      { app_id: first.appId, minute },
    );
    const metrics = await open(first, 'metrics', {
      since: new Date(minute * 1_000).toISOString(),
      until: new Date((minute + 60) * 1_000).toISOString(),
      interval: 'minute',
      group_by: ['consumer_id', 'status_code'],
      metrics: METRICS,
    });
    expect(metrics.statusCode).toBe(200);
    await eventually(() => unreadBytes() > 16 * MIB);
    const other = await page(second);
    expect(other.statusCode).toBe(200);
    expect((await buffer(other)).length).toBe(Number(other.headers['content-length']));
    await expect(buffer(metrics)).rejects.toThrow();
  });

  it('count no more once the connection is lost, also with answers that wait behind another', async () => {
    const [{ key, appId }] = tenants as [Tenant];
    const [headers, body] = [{ 'Api-Key': key }, JSON.stringify({ since: new Date(start).toISOString() })];
    const path = `/v1/apps/${appId}/request-logs`;
    const length = `Content-Length: ${body.length}`;
    const { hostname, port } = new URL(app.url);
    for (let count = 0; count < 3; count += 1) {
      const socket = connect(Number(port), hostname).pause();
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: test\r\nApi-Key: ${key}\r\n${length}\r\n\r\n${body}`.repeat(2),
      );
      await eventually(() => unreadBytes() > 0);
      socket.destroy();
      await eventually(() => unreadBytes() === 0);
    }
    // Their places are free again.
    await eventually(
      async () => (await sendRaw(app.url, path, { method: 'POST', headers, body })).status === 200,
    );
  }, 60_000);

  it('lose their connection below the least rate, whatever the response is; others are whole', async () => {
    limitReaders(readersOf(app.app), MAX_UNREAD, app);
    const [first, second] = tenants as [Tenant, Tenant];
    const slow = [await page(first), await exported(first), await page(second)];
    const steady = await exported(second);
    expect([...slow, steady].map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
    const cutOff = new AbortController();
    const cut = eventually(() => app.logged.split(TOO_SLOW).length > slow.length).finally(() => {
      cutOff.abort();
    });
    // A tenth of the least rate.
    const reading = (async () => {
      while (!cutOff.signal.aborted) {
        for (const response of slow) response.read(2_000);
        await pause(1_000);
      }
    })();
    let length = 0;
    for await (const chunk of steady as AsyncIterable<Buffer>) {
      length += chunk.length;
      await pause(chunk.length / 1_000);
    }
    expect(length).toBeGreaterThan(ROWS * URL_BYTES);
    await Promise.all([cut, reading]);
    const ends = await Promise.allSettled(slow.map((response) => buffer(response)));
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  });
});

/** How fast a client requests answers that it does not read, in bytes of answers. */
const FLOOD_BYTES_PER_SECOND = 2 * MIB;
const FLOOD_EVERY_MS = 50;

describe('each way out', () => {
  let app: TestApp;
  let collector: RunningServer;
  let collectorUrl: string;
  let collectorLog = '';
  let metricsUrl: string;
  let tenant: Tenant;
  let uuid: string;
  let asset: string;
  let sockets: Socket[] = [];

  beforeAll(async () => {
    const port = await freePort();
    app = await TestApp.start({
      HOST: '127.0.0.1',
      MAX_UNREAD_RESPONSES_MB: '2',
      METRICS_PORT: String(port),
      RATE_LIMIT_PER_MINUTE: '100000',
      RESPONSE_MIN_KB_PER_SECOND: '20',
    });
    metricsUrl = `http://127.0.0.1:${port}`;
    const logger = pino({}, { write: (line) => (collectorLog += line) });
    const [config, telemetry] = [app.app.get(Config), app.app.get(Telemetry)];
    const monitor = app.app.get(StoreMonitor);
    collector = await startCollectorOn(app.store, config, logger, 0, telemetry, { monitor });
    collectorUrl = `http://127.0.0.1:${(collector.app.getHttpServer().address() as AddressInfo).port}`;
    tenant = await Tenant.create(app);
    for (let count = 0; count < 50; count += 1) await tenant.sibling();
    const url = `https://x/${'y'.repeat(URL_BYTES)}`;
    const records = await tenant.write(...Array.from({ length: ROWS }, () => ({ url })));
    uuid = records[0]!.request_uuid;
    asset = /src="\.(\/assets\/[^"]+\.js)"/.exec((await sendRaw(app.url, '/')).text)![1]!;
  });

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    sockets = [];
    await allClosed();
  });

  afterAll(async () => {
    closeConnections();
    await collector.stop();
    await app.stop();
  });

  interface Port {
    server: Server;
    readers: ResponseReaders;
  }
  const ports = (): Port[] => [
    ...[app.app, collector.app].map((application) => ({
      server: application.getHttpServer(),
      readers: readersOf(application),
    })),
    app.app.get<{ server: Port }>(Telemetry).server,
  ];

  /** Resolves once the servers have neither a connection nor unread bytes. */
  async function allClosed() {
    closeConnections();
    const isClosed = async ({ server, readers }: Port) => {
      const connections = await promisify(server.getConnections.bind(server))();
      return connections === 0 && readers.unreadBytes === 0;
    };
    await eventually(async () => (await Promise.all(ports().map(isClosed))).every(Boolean), 100_000, 500);
  }

  /** A process has one log: that of its last application. */
  const hasLogged = (text: string) => (app.logged + collectorLog).includes(text);
  const withKey = () => ({ 'Api-Key': tenant.key });
  const callTool = () =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'search_requests',
        arguments: { app: String(tenant.appId), limit: 200, fields: ['url'], max_tokens: 20_000 },
      },
    });
  const ofMcp = () => ({ ...withKey(), Accept: '*/*', 'Content-Type': 'application/json' });

  /** A request for each way out, with the least bytes of its answer. */
  const ways = (): [
    name: string,
    base: string,
    target: string,
    bytes: number,
    headers: object,
    body?: string,
  ][] => [
    ['lists', app.url, '/v1/apps', 5_000, withKey()],
    ['errors', app.url, `/v1/apps/${'x'.repeat(8_000)}/traffic`, 8_000, withKey()],
    ['MCP', app.url, '/mcp', 20_000, ofMcp(), callTool()],
    ['files of the dashboard', app.url, asset, 100_000, {}],
    ['compressed files', app.url, asset, 30_000, { 'Accept-Encoding': 'gzip' }],
    ['the collector', collectorUrl, '/v1/requests', 500, { 'X-Request-Id': 'x'.repeat(128) }, '{}'],
    ['metrics of the process', metricsUrl, '/metrics', 5_000, {}],
  ];

  /**
   * Sends the same request again and again on one connection until that is closed, and reads no answer. A
   * server that gets too many at once answers 503, and its buffers hold thousands of such short errors.
   */
  function flood([, base, target, bytes, headers, body]: ReturnType<typeof ways>[number]): Socket {
    const { hostname, port } = new URL(base);
    const lines = Object.entries({ Host: 'test', 'Content-Length': body?.length ?? 0, ...headers });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const rawRequest = `${body === undefined ? 'GET' : 'POST'} ${target} HTTP/1.1\r\n${head}\r\n${body ?? ''}`;
    const socket = connect(Number(port), hostname).pause();
    socket.on('error', () => undefined);
    const requests = Math.ceil((FLOOD_BYTES_PER_SECOND * FLOOD_EVERY_MS) / 1_000 / bytes);
    const timer = setInterval(() => socket.write(rawRequest.repeat(requests)), FLOOD_EVERY_MS);
    socket.once('close', () => {
      clearInterval(timer);
    });
    sockets.push(socket);
    return socket;
  }

  const cutReaders = async (because: string) => {
    const samples = parseExposition((await sendRaw(metricsUrl, '/metrics')).text);
    return getValue(samples, 'request_analytics_http_cut_readers_total', { because }) ?? 0;
  };

  it('counts what is unread', async () => {
    for (const way of ways()) {
      const socket = flood(way);
      const { readers } = ports()[[app.url, collectorUrl, metricsUrl].indexOf(way[1])]!;
      const counted = await eventually(() => readers.unreadBytes > 0, 60_000).then(
        () => true,
        () => false,
      );
      expect([way[0], counted]).toEqual([way[0], true]);
      socket.destroy();
      await eventually(() => readers.unreadBytes === 0);
    }
  }, 200_000);

  it('is bounded in all: of too many, those that wait longest lose their connection', async () => {
    const before = await cutReaders('memory');
    const file = ways().find(([name]) => name === 'files of the dashboard');
    for (let count = 0; count < 60; count += 1) flood(file!);
    await eventually(async () => (await cutReaders('memory')) > before, 20_000);
    await eventually(() => readersOf(app.app).unreadBytes <= 2 * MIB, 20_000);
    expect(hasLogged('others need the memory of what it has not read')).toBe(true);
    // Who reads is served.
    const { status, text } = await sendRaw(app.url, asset);
    expect([status, text.length > 100_000]).toEqual([200, true]);
  });

  it('is refused where its team has too much unread, with an error that says nothing of the body', async () => {
    const page = connect(Number(new URL(app.url).port), '127.0.0.1').pause();
    sockets.push(page);
    const target = `/v1/apps/${tenant.appId}/request-logs?limit=${ROWS}`;
    page.write(`GET ${target} HTTP/1.1\r\nHost: test\r\nApi-Key: ${tenant.key}\r\n\r\n`);
    await eventually(() => readersOf(app.app).unreadBytes > 2 * MIB);
    const until = new Date(Date.now() - 1_000).toISOString();
    const answers = [
      await sendRaw(app.url, `${target}&until=${until}`, { headers: withKey() }),
      await sendRaw(app.url, `/v1/apps/${tenant.appId}/request-logs/${uuid}`, { headers: withKey() }),
      await sendRaw(app.url, '/mcp', { method: 'POST', headers: ofMcp(), body: callTool() }),
    ];
    for (const { status, headers, text } of answers) {
      expect([status, text.slice(0, 100)]).toEqual([429, '{"detail":"Rate limit exceeded"}']);
      expect(headers['retry-after']).toBe('1');
      expect(headers.etag ?? headers.link ?? headers['content-encoding']).toBeUndefined();
    }
    expect((await sendRaw(app.url, '/v1/team', { headers: withKey() })).status).toBe(200);
    // Of nobody's team; the page makes room for it.
    expect((await sendRaw(app.url, '/openapi.json')).status).toBe(200);
  });

  it('loses its connection below the least rate', async () => {
    const before = await cutReaders('slow');
    // The bodies of all these answers would exceed the usual limit.
    for (const { readers } of ports()) limitReaders(readers, 1_024 * MIB, app);
    const all = ways();
    await Promise.all(all.map((way) => once(flood(way), 'connect')));
    // A client that does not read does not notice it.
    await allClosed();
    expect(await cutReaders('slow')).toBe(before + all.length);
    expect(hasLogged(TOO_SLOW)).toBe(true);
  }, 120_000);
});
