import { execFileSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { buildSync } from '../collector/setup/messages.js';
import { post } from '../collector/setup/post.js';
import { type Prepared, dataDirectory, prepare } from '../setup/data-directory.js';
import { freePort } from '../setup/free-port.js';
import { eventually } from '../setup/eventually.js';
import { ProductProcess } from '../setup/product-process.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';
import { RedisServer, describeWithRedisServer } from '../setup/redis.js';
import { describeEmbedded } from '../setup/store.js';
import { type ReceivedSpan, TraceReceiver } from '../setup/trace-receiver.js';

const data = dataDirectory();
let prepared: Prepared;

beforeAll(async () => {
  prepared = await prepare(data.env);
});
afterAll(() => {
  data.remove();
  closeConnections();
});

/** A caller's trace. */
function caller(sampled = true) {
  const traceId = randomBytes(16).toString('hex');
  const spanId = randomBytes(8).toString('hex');
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-0${sampled ? 1 : 0}` };
}

function variables(receiver: TraceReceiver, env: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return {
    ...data.env,
    METRICS_PORT: '',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    ...env,
  };
}

/** Asks as part of a trace; resolves to the response's status. */
async function call(service: ProductProcess, path: string, headers: Record<string, string>) {
  const { status } = await sendRaw(service.apiUrl, path, {
    headers: { 'Api-Key': prepared.key, ...headers },
  });
  return status;
}

// Each process has the engine in it.
describeEmbedded('traces of a process', () => {
  let receiver: TraceReceiver;
  let service: ProductProcess;

  beforeAll(async () => {
    receiver = await TraceReceiver.start();
    const env = { OTEL_SERVICE_NAME: 'logs', OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test' };
    service = await ProductProcess.start(['serve'], variables(receiver, env));
  });
  afterAll(async () => {
    await ProductProcess.endAll();
    await receiver.stop();
  });

  it('have a span for the request, below the caller’s, and one for each statement below that', async () => {
    const { traceId, spanId, traceparent } = caller();
    const secret = randomUUID();
    const path = `/v1/apps/${prepared.appId}/request-logs?method=GET&path=${secret}`;
    expect(await call(service, path, { traceparent, 'X-Request-Id': 'mine' })).toBe(200);
    const [server, ...statements] = (await receiver.trace(traceId)).sort((a, b) => a.kind - b.kind);
    expect(server).toMatchObject({
      name: 'GET /v1/apps/:app_id/request-logs',
      kind: 2,
      parentSpanId: spanId,
      status: 0,
      attributes: {
        'http.request.method': 'GET',
        'http.route': '/v1/apps/:app_id/request-logs',
        'http.response.status_code': 200,
        'request_analytics.request_id': 'mine',
        'request_analytics.team_id': prepared.teamId,
      },
    });
    const asked = ['api_keys.find', 'apps.find_scope', 'request_logs.page'];
    expect(statements.map(({ name }) => name)).toEqual(expect.arrayContaining(asked));
    for (const statement of statements)
      expect(statement).toMatchObject({
        kind: 3,
        parentSpanId: server!.spanId,
        attributes: {
          'db.system.name': 'clickhouse',
          'db.operation.name': 'SELECT',
          'db.query.summary': statement.name,
        },
      });
    const rows = statements.map(({ attributes }) => Number(attributes['request_analytics.rows_read']));
    expect(server!.attributes['request_analytics.rows_read']).toBe(rows.reduce((sum, n) => sum + n, 0));
    expect((await service.line('mine')).trace_id).toBe(traceId);
    expect(receiver.resource).toMatchObject({
      'service.name': 'logs',
      'service.version': expect.stringMatching(/^\d+\.\d+\.\d+$/),
      'deployment.environment.name': 'test',
    });
    for (const unwanted of [prepared.key, secret, 'FROM', '?', 'request_logs_v1'])
      expect(receiver.text).not.toContain(unwanted);
  });

  it('have only the route of a path, and errors', async () => {
    const [unmatched, invalid] = [caller(), caller()];
    const word = randomUUID();
    await call(service, `/${word}?${word}`, unmatched);
    await call(service, `/v1/apps/${word}/traffic`, invalid);
    const [first] = await receiver.trace(unmatched.traceId);
    expect(first).toMatchObject({ name: 'GET unmatched', attributes: { 'http.response.status_code': 404 } });
    // A client's mistake is no error of the server's (semantic conventions of HTTP).
    const span = (await receiver.trace(invalid.traceId)).find(({ kind }) => kind === 2);
    expect(span).toMatchObject({ status: 0, attributes: { 'http.response.status_code': 422 } });
    expect(receiver.text).not.toContain(word);
  });

  it('have a span for a message of the collector, and a trace for the group in which it is written', async () => {
    const path = `${service.collectorUrl}/v2/${prepared.clientId}/prod/sync`;
    expect(await post(path, JSON.stringify(buildSync()))).toMatchObject({ status: 202 });
    expect(await service.stop()).toBe(0);
    const server = receiver.spans.find(({ name }) => name === 'POST /v2/:client_id/:env/sync');
    const below = (parent?: ReceivedSpan) =>
      receiver.spans.filter(({ parentSpanId }) => parentSpanId === parent?.spanId).map(({ name }) => name);
    expect(below(server)).toEqual(['client_apps.find']);
    const commit = receiver.spans.find(({ name }) => name === 'collector.commit');
    expect(commit?.parentSpanId).toBeUndefined();
    expect(commit?.attributes).toEqual({ 'request_analytics.messages': 1 });
    expect(below(commit)).toEqual(
      expect.arrayContaining(['batches.of_messages', 'ingest_batches_v1.insert']),
    );
    expect(receiver.text).not.toContain(prepared.clientId);
  });
});

describeEmbedded('traces', () => {
  let receiver: TraceReceiver;

  beforeEach(async () => {
    receiver = await TraceReceiver.start();
  });
  afterEach(async () => {
    await ProductProcess.endAll();
    await receiver.stop();
  });

  it('are sent at the stop, and follow the standard sampler', async () => {
    const env = { OTEL_BSP_SCHEDULE_DELAY: '600000', OTEL_TRACES_SAMPLER: 'parentbased_always_off' };
    const service = await ProductProcess.start(['serve'], variables(receiver, env));
    const [kept, dropped] = [caller(), caller(false)];
    await call(service, '/v1/team', kept);
    await call(service, '/v1/team', dropped);
    await call(service, '/v1/team', {});
    expect(receiver.sent).toEqual([]);
    expect(await service.stop()).toBe(0);
    expect(new Set(receiver.spans.map(({ traceId }) => traceId))).toEqual(new Set([kept.traceId]));
  });

  it('are protobuf unless said otherwise', async () => {
    const env = {
      OTEL_EXPORTER_OTLP_PROTOCOL: '',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20token',
    };
    const service = await ProductProcess.start(['serve'], variables(receiver, env));
    await call(service, '/v1/team', {});
    await service.stop();
    expect(receiver.sent[0]).toMatchObject({
      path: '/v1/traces',
      headers: { 'content-type': 'application/x-protobuf', authorization: 'Bearer token' },
    });
    expect(receiver.text).toContain('GET /v1/team');
    expect(service.written).not.toContain('Bearer');
  });

  it('without a receiver delay no request, and the stop by a few seconds at most', async () => {
    const silent = await TraceReceiver.start({ answers: false });
    const service = await ProductProcess.start(['serve'], variables(silent));
    await call(service, '/v1/team', {});
    expect(await service.stop()).toBe(0);
    await silent.stop();
    const away = await ProductProcess.start(['serve'], variables(silent));
    expect(await call(away, '/v1/team', {})).toBe(200);
    expect(await away.stop()).toBe(0);
    expect(away.written).not.toContain(silent.url.slice('http://'.length));
  });

  it('are not made by a collector that they are sent to, whose exports would never end', async () => {
    const port = await freePort();
    const service = await ProductProcess.start(
      ['serve'],
      variables(receiver, {
        COLLECTOR_PORT: String(port),
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      }),
    );
    const exports = () => service.log.filter(({ route }) => route === '/v1/traces').length;
    await call(service, '/v1/team', {});
    await eventually(() => exports() > 0);
    await pause(500);
    expect(exports()).toBe(1);
    await service.stop();
  });

  // `src/config/tracing.config.unit.spec.ts` has all variables that turn them off.
  it('are not made with OTEL_TRACES_EXPORTER=none', async () => {
    const service = await ProductProcess.start(
      ['serve'],
      variables(receiver, { OTEL_TRACES_EXPORTER: 'none' }),
    );
    await call(service, '/v1/team', { ...caller(), 'X-Request-Id': 'untraced' });
    expect(await service.line('untraced')).not.toHaveProperty('trace_id');
    await service.stop();
    expect(receiver.sent).toEqual([]);
  });
});

describeWithRedisServer('traces of Redis', () => {
  let redis: RedisServer;
  let receiver: TraceReceiver;

  beforeEach(async () => {
    [redis, receiver] = [await RedisServer.start(), await TraceReceiver.start()];
  });
  afterEach(async () => {
    await ProductProcess.endAll();
    await Promise.all([redis.stop(), receiver.stop()]);
  });

  it('have a span for each question to it, without its key', async () => {
    if (process.env.CLICKHOUSE_URL) return;
    const service = await ProductProcess.start(['serve'], variables(receiver, { REDIS_URL: redis.url }));
    const { traceId, traceparent } = caller();
    await call(service, '/v1/team', { traceparent });
    const questions = (await receiver.trace(traceId)).filter(
      ({ attributes }) => attributes['db.system.name'] === 'redis',
    );
    expect(questions.map(({ name }) => name)).toEqual(['rate_limit.peek', 'rate_limit.hit']);
    expect(receiver.text).not.toContain(prepared.key.slice(0, 7));
    // The probes that a request's failure began go on after it, and are not of its trace.
    await redis.kill();
    const failed = caller();
    await call(service, '/v1/team', { traceparent: failed.traceparent });
    await redis.launch();
    await eventually(() => service.log.some(({ msg }) => String(msg).startsWith('Redis available again')));
    await service.stop();
    const names = receiver.spans.filter((span) => span.traceId === failed.traceId).map(({ name }) => name);
    expect(names.filter((name) => name === 'rate_limit.hit').length).toBeLessThanOrEqual(1);
  });
});

it('load OpenTelemetry only when they are made', () => {
  const args = ['-rlE', `^import [^t].*'@opentelemetry/|^} from '@opentelemetry/`, 'src'];
  expect(() => execFileSync('grep', args)).toThrow(expect.objectContaining({ status: 1 }));
});
