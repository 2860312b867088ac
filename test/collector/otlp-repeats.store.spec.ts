import { randomBytes } from 'node:crypto';
import { findRequestUuid } from '../../src/records/server-span.js';
import { SeverityNumber } from '../../src/sources/otlp/generated/opentelemetry/proto/logs/v1/logs_pb.js';
import { Client, TestService } from './setup/collector.js';
import {
  OtlpSender,
  attributes,
  logs,
  durations,
  nanosecondsAgo,
  resource,
  serverSpan,
  toOtlpJson,
  traces,
} from './setup/otlp.js';

const OK = { 'http.request.method': 'GET', 'http.route': '/users/:id', 'http.response.status_code': 200 };
const SECOND = 1_000_000_000n;

let service: TestService;
let client: Client;
let sender: OtlpSender;

beforeAll(async () => {
  service = await TestService.start({ COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '0' });
});

afterAll(() => service.stop());

beforeEach(async () => {
  client = await service.tenant();
  sender = await OtlpSender.create(service, client);
});

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

describe('a log record that comes again in another body', () => {
  const timeUnixNano = nanosecondsAgo(59_000);
  let server: ReturnType<typeof serverSpan>;

  beforeEach(async () => {
    server = serverSpan({}, { traceId: randomBytes(16) });
    await sender.deliver('traces', traces([server]));
  });

  const record = (text: string, more: object = {}) => ({
    traceId: server.traceId!,
    spanId: server.spanId!,
    timeUnixNano,
    observedTimeUnixNano: timeUnixNano + 1n,
    severityNumber: SeverityNumber.INFO,
    body: { value: { case: 'stringValue' as const, value: text } },
    ...more,
  });
  const shown = async () => {
    const uuid = findRequestUuid(hex(server.traceId!), hex(server.spanId!), server.startTimeUnixNano!);
    const { body } = await client.tenant.get(`request-logs/${uuid}`);
    return body.logs.map(({ message }: { message: string }) => message).sort();
  };

  it('is shown once, whatever else the body has, and in whatever encoding', async () => {
    await sender.deliver('logs', logs([record('a'), record('b')]));
    await sender.deliver('logs', logs([record('b'), record('c')]));
    const json = JSON.stringify(toOtlpJson('logs', logs([record('c'), record('a')])));
    await sender.send('logs', json, { type: 'application/json' });
    expect(await shown()).toEqual(['a', 'b', 'c']);
  });

  it('is shown as often as one body has it', async () => {
    const twice = [record('same'), record('other'), record('same')];
    await sender.deliver('logs', logs(twice));
    await sender.deliver('logs', logs([...twice, record('more')]));
    await sender.deliver('logs', logs([record('same')]));
    expect(await shown()).toEqual(['more', 'other', 'same', 'same']);
  });

  it('is another one if anything of it differs, or where it comes from', async () => {
    const others = [
      record('x'),
      record('x', { observedTimeUnixNano: timeUnixNano + 2n }),
      record('x', { timeUnixNano: timeUnixNano + 1n }),
      record('x', { severityNumber: SeverityNumber.INFO2 }),
      record('x', { attributes: attributes({ order: 1 }) }),
      record('x', { attributes: attributes({ order: 2 }) }),
    ];
    for (const other of others) await sender.deliver('logs', logs([other]));
    await sender.deliver('logs', logs([record('x')], { scope: 'other.logger' }));
    await sender.deliver('logs', logs([record('x')], { of: resource({ 'service.instance.id': 'two' }) }));
    expect(await shown()).toHaveLength(others.length + 2);
  });

  it('that reports errors of version 1 of the client libraries counts once', async () => {
    const event = (type: string) => ({
      timeUnixNano,
      eventName: 'apitally.request.server_error',
      body: {
        value: {
          case: 'stringValue' as const,
          value: JSON.stringify({
            method: 'GET',
            route: '/a',
            type,
            counts: [{ count: 3 }, { consumer: 'c', count: 4 }],
          }),
        },
      },
    });
    const scope = { scope: 'apitally' };
    await sender.deliver('logs', logs([event('A'), event('B'), event('B')], scope));
    await sender.deliver('logs', logs([event('C'), event('B'), event('A')], scope));
    const rows = await service.api.store.rows<{ type: string; errors: number }>(
      'test.errors',
      'SELECT type, sum(errors) AS errors FROM errors_v1 WHERE app_id = {app_id:UInt32} GROUP BY type ORDER BY type',
      { app_id: client.tenant.appId },
    );
    expect(rows).toEqual([
      { type: 'A', errors: 7 },
      { type: 'B', errors: 14 },
      { type: 'C', errors: 7 },
    ]);
  });
});

describe('a delta point that comes again in another body', () => {
  const start = nanosecondsAgo(300_000);

  /** The point of an interval of ten seconds. */
  const point = (interval: number, count: number, more: object = {}) => ({
    startTimeUnixNano: start + BigInt(interval) * 10n * SECOND,
    timeUnixNano: start + BigInt(interval + 1) * 10n * SECOND,
    attributes: attributes(OK),
    explicitBounds: [0.01, 0.1],
    bucketCounts: [0n, BigInt(count), 0n],
    count: BigInt(count),
    sum: count * 0.05,
    ...more,
  });
  const total = async () => {
    const rows = await client.tenant.metrics({ since: '2025-01-01', metrics: ['requests'] });
    return (rows[0]?.requests ?? 0) as number;
  };

  it('counts once, whatever else the body has, in any order', async () => {
    await sender.deliver('metrics', durations([point(2, 100)]));
    await sender.deliver('metrics', durations([point(1, 10), point(2, 100), point(0, 1)]));
    await sender.deliver('metrics', durations([point(0, 1), point(3, 1_000)]));
    expect(await total()).toBe(1_111);
  });

  it('counts as often as one body has it', async () => {
    // As after a processor that removes the attributes by which they differ.
    await sender.deliver('metrics', durations([point(0, 5), point(0, 5)]));
    await sender.deliver('metrics', durations([point(0, 5), point(1, 100), point(0, 5)]));
    await sender.deliver('metrics', durations([point(0, 5)]));
    expect(await total()).toBe(110);
  });

  it('is another one if anything of it differs', async () => {
    const others = [
      point(0, 2),
      point(1, 2),
      point(0, 3),
      point(0, 2, { bucketCounts: [1n, 1n, 0n] }),
      point(0, 2, { sum: 0.2 }),
      point(0, 2, { startTimeUnixNano: start + 1n }),
      point(0, 2, { attributes: attributes({ ...OK, 'server.port': 1 }) }),
    ];
    for (const other of others) await sender.deliver('metrics', durations([other]));
    expect(await total()).toBe(15);
  });

  it('counts once where bodies with it arrive at the same time', async () => {
    const bodies = Array.from({ length: 20 }, (_, index) => durations([point(0, 7), point(1 + index, 1)]));
    await Promise.all(bodies.map((body) => sender.deliver('metrics', body)));
    expect(await total()).toBe(27);
  });
});
