import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { setTimeout as pause, setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { Config } from '../../src/config/config.js';
import { WITHOUT_CACHE } from '../setup/app.js';
import { eventually } from '../setup/eventually.js';
import { Client, TestCollector, TestService } from './setup/collector.js';
import { GrpcSender, PATHS, frame, readRetryDelay } from './setup/grpc.js';
import {
  OtlpSender,
  type Signal,
  attributes,
  logs,
  metrics,
  nanosecondsAgo,
  readResponse,
  serverSpan,
  traces,
} from './setup/otlp.js';

const MIB = 1024 * 1024;
const SIGNALS: readonly Signal[] = ['traces', 'metrics', 'logs'];
const DURATION = 'http.server.request.duration';

let service: TestService;
let client: Client;
let http: OtlpSender;
let sender: GrpcSender;
const senders: { close(): void }[] = [];

const VARIABLES = {
  ...WITHOUT_CACHE,
  COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '0',
  COLLECTOR_MAX_OTLP_MB: '4',
  AUTH_FAILURES_PER_MINUTE: '1000000',
};

beforeAll(async () => {
  service = await TestService.start(VARIABLES);
});

afterAll(() => service.stop());

beforeEach(async () => {
  client = await service.tenant();
  http = await OtlpSender.create(service, client);
  sender = open(http.token);
});

afterEach(async () => {
  // A test may continue inside the callback by which Node.js reports that a stream was reset. A session that
  // is destroyed there writes empty frames without end (nghttp2 1.61).
  await setImmediate();
  for (const opened of senders.splice(0)) opened.close();
});

function open(token: string | undefined, address = service.collector.grpcAddress): GrpcSender {
  const opened = new GrpcSender(address, token);
  senders.push(opened);
  return opened;
}

/** A connection of HTTP/2 without the package, for what no sender does. */
function openSession(settings = {}, address = service.collector.grpcAddress): ClientHttp2Session {
  const session = connect(`http://${address}`, { settings });
  session.on('error', () => undefined);
  senders.push({
    close: () => {
      session.destroy();
    },
  });
  return session;
}

function call(session: ClientHttp2Session, headers: Record<string, string> = {}): ClientHttp2Stream {
  const stream = session.request({
    ':method': 'POST',
    ':path': PATHS.traces,
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: `Bearer ${http.token}`,
    ...headers,
  });
  stream.on('error', () => undefined);
  return stream;
}

/** The status of a call, from its trailers or, without a message, from its headers. */
async function readGrpcStatus(stream: ClientHttp2Stream): Promise<Record<string, unknown>> {
  stream.resume();
  const found = new Promise<Record<string, unknown>>((resolve) => {
    for (const event of ['response', 'trailers'] as const)
      stream.on(event, (headers: Record<string, unknown>) => {
        if ('grpc-status' in headers) resolve(headers);
      });
    stream.once('close', () => {
      resolve({ closed: true });
    });
  });
  return found;
}

const record = (text: string) => ({
  traceId: randomBytes(16),
  timeUnixNano: nanosecondsAgo(1_000),
  body: { value: { case: 'stringValue' as const, value: text } },
});

const histogram = () => ({
  name: DURATION,
  unit: 's',
  data: {
    case: 'histogram' as const,
    value: {
      aggregationTemporality: 1,
      dataPoints: [
        {
          startTimeUnixNano: nanosecondsAgo(60_000),
          timeUnixNano: nanosecondsAgo(1_000),
          count: 3n,
          sum: 0.3,
          attributes: attributes({
            'http.request.method': 'GET',
            'http.route': '/users/:id',
            'http.response.status_code': 200,
          }),
        },
      ],
    },
  },
});

const BODIES: Record<Signal, () => Buffer> = {
  traces: () => traces([serverSpan()]),
  metrics: () => metrics([histogram()]),
  logs: () => logs([record('hello')]),
};

async function countRequests(): Promise<number> {
  return (await client.tenant.logs({ limit: 1000 })).data.length;
}

async function countTraffic(): Promise<number> {
  const [row] = await client.tenant.metrics({ since: '2025-01-01', metrics: ['requests'] });
  return (row as { requests?: number } | undefined)?.requests ?? 0;
}

describe('OTLP over gRPC', () => {
  it.each(SIGNALS)('answers OK and an empty response for %s, packed or not', async (signal) => {
    for (const gzip of [false, true]) {
      const { code, details, bytes } = await sender.send(signal, BODIES[signal](), { gzip });
      expect([code, details, bytes.length]).toEqual(['OK', 'OK', 0]);
    }
  });

  it('stores what OTLP over HTTP stores, and the same body by either way once', async () => {
    const spans = traces([serverSpan({ 'user.id': 'ann' }), serverSpan({ 'url.path': '/health' })]);
    const points = metrics([histogram()]);
    await http.deliver('traces', spans);
    for (const body of [spans, traces([serverSpan({ 'user.id': 'bob' })])])
      expect((await sender.send('traces', body)).code).toBe('OK');
    expect((await client.tenant.logs()).data).toHaveLength(3);
    await service.collector.settle();
    expect(await countTraffic()).toBe(3);
    await sender.send('metrics', points);
    await http.deliver('metrics', points);
    // The metric is of the instance that the spans are of, and later than their counts.
    expect(await countTraffic()).toBe(3);
  });

  it('counts the metric of an instance once, packed or not, by HTTP or gRPC', async () => {
    const points = metrics([histogram()]);
    await sender.send('metrics', points);
    await sender.send('metrics', points, { gzip: true });
    await http.deliver('metrics', points);
    expect(await countTraffic()).toBe(3);
  });

  it('says in a partial success how many were rejected and why', async () => {
    const bad = serverSpan({}, { traceId: randomBytes(4) });
    const { code, bytes } = await sender.send('traces', traces([serverSpan(), bad]));
    expect([code, readResponse('traces', bytes).partialSuccess]).toMatchObject([
      'OK',
      { rejectedSpans: 1n, errorMessage: 'spans[].trace_id: must be 16 bytes' },
    ]);
    expect(await countRequests()).toBe(1);
    const old = { ...record('old'), timeUnixNano: nanosecondsAgo(20 * 86_400_000) };
    const logged = await sender.send('logs', logs([old]));
    expect(readResponse('logs', logged.bytes).partialSuccess).toMatchObject({ rejectedLogRecords: 1n });
  });

  it('answers UNAUTHENTICATED without a token and with another, and PERMISSION_DENIED to an app that is disabled', async () => {
    const body = BODIES.traces();
    expect(await open(undefined).send('traces', body)).toMatchObject({
      code: 'UNAUTHENTICATED',
      details: 'Write token missing: Authorization: Bearer apt_…',
    });
    for (const token of [`apt_${'a'.repeat(24)}`, client.clientId, `${http.token.slice(0, -1)}~`])
      expect(await open(token).send('traces', body)).toMatchObject({
        code: 'UNAUTHENTICATED',
        details: 'Write token unknown or revoked',
      });
    await service.api.admin.apps.setDisabled(client.tenant.appId, true);
    const refused = await sender.send('traces', body);
    expect([refused.code, refused.details, readRetryDelay(refused)]).toEqual([
      'PERMISSION_DENIED',
      'App is disabled',
      undefined,
    ]);
    expect(await countRequests()).toBe(0);
  });

  it('answers INVALID_ARGUMENT to what cannot be decoded, and to gzip that is none', async () => {
    for (const signal of SIGNALS)
      expect(await sender.send(signal, Buffer.from([0x0a, 0xff]))).toMatchObject({
        code: 'INVALID_ARGUMENT',
        details: expect.stringMatching(/^body: /) as string,
      });
    const stream = call(openSession(), { 'grpc-encoding': 'gzip' });
    const bytes = frame(BODIES.traces());
    bytes[0] = 1;
    stream.end(bytes);
    expect(await readGrpcStatus(stream)).toMatchObject({ 'grpc-status': '3' });
  });

  it('reads a message that is not packed on a call with an encoding, as the protocol has it', async () => {
    const stream = call(openSession(), { 'grpc-encoding': 'gzip' });
    stream.end(frame(BODIES.traces()));
    expect(await readGrpcStatus(stream)).toMatchObject({ 'grpc-status': '0' });
    expect(await countRequests()).toBe(1);
  });

  it('answers UNIMPLEMENTED to other encodings and other methods', async () => {
    const session = openSession();
    const deflate = call(session, { 'grpc-encoding': 'deflate' });
    const packed = frame(BODIES.traces());
    packed[0] = 1;
    deflate.end(packed);
    expect(await readGrpcStatus(deflate)).toMatchObject({ 'grpc-status': '12' });
    const other = call(session, {
      ':path': '/opentelemetry.proto.collector.profiles.v1development.P/Export',
    });
    other.end(frame(BODIES.traces()));
    expect(await readGrpcStatus(other)).toMatchObject({ 'grpc-status': '12' });
  });

  it('takes a message in pieces of a byte, and none, two, or a broken one for what they are', async () => {
    const session = openSession();
    const pieces = call(session);
    for (const byte of frame(BODIES.traces())) pieces.write(Buffer.from([byte]));
    pieces.end();
    expect(await readGrpcStatus(pieces)).toMatchObject({ 'grpc-status': '0' });
    for (const [body, expected] of [
      [Buffer.alloc(0), 'breaks off'],
      [frame(BODIES.traces()).subarray(0, 40), 'breaks off'],
      [Buffer.concat([frame(BODIES.traces()), frame(BODIES.traces())]), 'must be one message'],
    ] as const) {
      const stream = call(session);
      stream.end(body);
      const answer = await readGrpcStatus(stream);
      expect([answer['grpc-status'], decodeURI(String(answer['grpc-message']))]).toEqual([
        '3',
        expect.stringContaining(expected),
      ]);
    }
    expect(await countRequests()).toBe(1);
  });

  it('refuses what is larger than the limit, before and after it is unpacked, without a RetryInfo', async () => {
    const large = traces([serverSpan({ filling: 'x'.repeat(4 * MIB) })]);
    const answers = [
      await sender.send('traces', large),
      await sender.send('traces', Buffer.concat([large, randomBytes(MIB)]), { gzip: true }),
      await sender.send('traces', Buffer.alloc(2 * MIB), { gzip: true }),
      await sender.send('traces', Buffer.alloc(200 * MIB), { gzip: true }),
    ];
    expect(answers.map((answer) => [answer.code, answer.details, readRetryDelay(answer)])).toEqual([
      ['RESOURCE_EXHAUSTED', 'Payload too large', undefined],
      ['RESOURCE_EXHAUSTED', 'Payload too large', undefined],
      [
        'RESOURCE_EXHAUSTED',
        'Payload too large: unpacks to more than 100 times its size (COLLECTOR_MAX_UNPACK_RATIO)',
        undefined,
      ],
      ['RESOURCE_EXHAUSTED', 'Payload too large', undefined],
    ]);
    expect(await countRequests()).toBe(0);
  });

  it('gives back the request ID, and closes a call whose deadline is over', async () => {
    const { trailers } = await sender.send('traces', BODIES.traces(), {
      metadata: { 'x-request-id': 'call-1' },
    });
    expect(trailers.get('x-request-id')).toEqual(['call-1']);
    const turn = service.collector.holdTurn(client.tenant.appId);
    const late = await sender.send('traces', BODIES.traces(), { deadlineMs: 300 });
    expect(late.code).toBe('DEADLINE_EXCEEDED');
    // Its body has left the queue.
    await eventually(() => turn.waiting === 0);
    turn.release();
    expect((await sender.send('traces', BODIES.traces())).code).toBe('OK');
  });

  it('names the environment by the metadata', async () => {
    await sender.send('traces', BODIES.traces(), { metadata: { 'apitally-env': 'dev' } });
    expect((await client.tenant.logs()).data.map(({ env }) => env)).toEqual(['dev']);
  });
});

describe('limits of OTLP over gRPC', () => {
  const collectors: TestCollector[] = [];

  afterAll(async () => {
    for (const collector of collectors) await collector.stop();
  });

  /** A collector with limits of its own on the same store. */
  async function start(env: NodeJS.ProcessEnv): Promise<TestCollector> {
    const collector = await TestCollector.start(service.api.store, new Config({ ...VARIABLES, ...env }));
    collectors.push(collector);
    return collector;
  }

  it('answers RESOURCE_EXHAUSTED with a RetryInfo above the limit of messages, shared with HTTP', async () => {
    const collector = await start({ COLLECTOR_RATE_LIMIT_PER_MINUTE: '3' });
    const limited = open(http.token, collector.grpcAddress);
    const other = new OtlpSender(collector.url, http.token);
    await other.deliver('traces', BODIES.traces());
    expect((await limited.send('traces', BODIES.traces())).code).toBe('OK');
    await other.deliver('traces', BODIES.traces());
    const refused = await limited.send('traces', BODIES.traces());
    expect([refused.code, refused.details]).toEqual(['RESOURCE_EXHAUSTED', 'Rate limit exceeded']);
    expect(readRetryDelay(refused)).toBeGreaterThanOrEqual(1);
    expect(readRetryDelay(refused)).toBeLessThanOrEqual(60);
  });

  it('limits invalid tokens of an address, as HTTP does', async () => {
    const collector = await start({ AUTH_FAILURES_PER_MINUTE: '3', TRUST_PROXY: '1' });
    const guess = (n: number, from: string) =>
      open(`apt_${String(n).padStart(24, 'a')}`, collector.grpcAddress).send('traces', Buffer.alloc(0), {
        metadata: { 'x-forwarded-for': from },
      });
    const codes: string[] = [];
    for (let n = 0; n < 5; n++) codes.push((await guess(n, '192.0.2.1')).code);
    expect(codes.slice(0, 3)).toEqual(['UNAUTHENTICATED', 'UNAUTHENTICATED', 'UNAUTHENTICATED']);
    expect(codes.slice(3)).toEqual(['RESOURCE_EXHAUSTED', 'RESOURCE_EXHAUSTED']);
    // Behind a trusted proxy another client has its own limit.
    expect((await guess(9, '192.0.2.2')).code).toBe('UNAUTHENTICATED');
  });

  it('bounds what an app has in memory: packed messages that would unpack to more get RESOURCE_EXHAUSTED', async () => {
    const collector = await start({ COLLECTOR_MAX_IN_FLIGHT_MB: '8', COLLECTOR_MAX_UNPACK_RATIO: '10000' });
    const turn = collector.holdTurn(client.tenant.appId);
    const bomb = gzipSync(Buffer.alloc(3 * MIB));
    const session = openSession({}, collector.grpcAddress);
    const calls = Array.from({ length: 20 }, () => {
      const stream = call(session, { 'grpc-encoding': 'gzip' });
      const prefix = Buffer.alloc(5);
      prefix.writeUInt8(1, 0);
      prefix.writeUInt32BE(bomb.length, 1);
      stream.end(Buffer.concat([prefix, bomb]));
      return readGrpcStatus(stream);
    });
    await pause(1_000);
    turn.release();
    const codes = (await Promise.all(calls)).map((answer) => answer['grpc-status']);
    expect(codes.filter((code) => code === '8').length).toBeGreaterThanOrEqual(18);
  });

  it('ends a call that stalls, with DEADLINE_EXCEEDED, and reads nothing without a valid token', async () => {
    const session = openSession();
    const stalled = call(session);
    stalled.write(frame(BODIES.traces()).subarray(0, 20));
    const silent = call(session);
    const guess = call(session, { authorization: 'Bearer apt_none' });
    guess.write(frame(BODIES.traces()).subarray(0, 20));
    const startedAt = performance.now();
    const answers = await Promise.all([guess, stalled, silent].map(readGrpcStatus));
    expect(answers.map((answer) => answer['grpc-status'])).toEqual(['16', '4', '4']);
    expect(performance.now() - startedAt).toBeLessThan(15_000);
  });

  it('closes a call whose client does not read its response', async () => {
    const session = openSession({ initialWindowSize: 0 });
    const bad = serverSpan({}, { traceId: randomBytes(4) });
    const stream = call(session);
    stream.end(frame(traces([bad])));
    await once(stream, 'close');
    expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
  });

  it('serves others while connections speak no gRPC, or nothing at all', async () => {
    const [host, port] = service.collector.grpcAddress.split(':');
    const sockets = Array.from({ length: 20 }, (_, n) => {
      const socket = connectSocket({ host, port: Number(port) });
      socket.on('error', () => undefined);
      if (n % 2 === 0) socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      if (n % 3 === 0) socket.write(randomBytes(100_000));
      return socket;
    });
    expect((await sender.send('traces', BODIES.traces())).code).toBe('OK');
    for (const socket of sockets) socket.destroy();
  });

  it('ends calls that are under way before it stops, then refuses connections', async () => {
    const collector = await start({});
    const stopping = open(http.token, collector.grpcAddress);
    expect((await stopping.send('traces', BODIES.traces())).code).toBe('OK');
    const { grpcAddress } = collector;
    const turn = collector.holdTurn(client.tenant.appId);
    const answer = stopping.send('traces', BODIES.traces());
    await eventually(() => turn.waiting === 1);
    collector.drain();
    // A drained connection is replaced, and the process still serves.
    const during = open(http.token, grpcAddress).send('logs', logs([]));
    const stopped = collectors.splice(collectors.indexOf(collector), 1)[0]!.stop();
    turn.release();
    expect((await answer).code).toBe('OK');
    await during;
    await stopped;
    expect((await open(http.token, grpcAddress).send('traces', BODIES.traces())).code).toBe('UNAVAILABLE');
  });
});
