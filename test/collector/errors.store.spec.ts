import { randomUUID } from 'node:crypto';
import { Config } from '../../src/config/config.js';
import {
  Span_SpanKind,
  Status_StatusCode,
} from '../../src/sources/otlp/generated/opentelemetry/proto/trace/v1/trace_pb.js';
import { WITHOUT_CACHE } from '../setup/app.js';
import { Client, TestCollector, TestService } from './setup/collector.js';
import { buildCount, buildLogItem, buildSync } from './setup/messages.js';
import { OtlpSender, attributes, logs, nanosecondsAgo, resource, serverSpan, traces } from './setup/otlp.js';

let service: TestService;
let client: Client;
let sender: OtlpSender;

beforeAll(async () => {
  service = await TestService.start({ ...WITHOUT_CACHE, COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '0' });
});

afterAll(() => service.stop());

beforeEach(async () => {
  client = await service.tenant();
  sender = await OtlpSender.create(service, client);
});

const EVENT_ID = 'fc6d8c0c43fc4630ad850ee518f1b9d0';
const STACK = 'ValueError: order 7\n    at priceOf (/app/pricing.js:41:27)';
const BOOM = { type: 'ValueError', message: 'order 7', stacktrace: STACK };
const CONSUMERS = ['anna', 'anna', 'anna', 'anna', 'bob', 'bob', 'bob'];

const readErrors = async (body: object = {}) => {
  const { status, text } = await client.tenant.post('errors', { since: '2020-01-01', ...body });
  expect([text, status]).toEqual([text, 200]);
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
};
const toAttributes = ({ type, message, stacktrace }: typeof BOOM) =>
  attributes({ 'exception.type': type, 'exception.message': message, 'exception.stacktrace': stacktrace });
/** A log record that says an exception in the context of a span. */
const exceptionRecord = ({ traceId, spanId }: ReturnType<typeof serverSpan>, rest: object = {}) => ({
  traceId: traceId!,
  spanId: spanId!,
  timeUnixNano: nanosecondsAgo(59_000),
  eventName: 'http.server.request.exception',
  attributes: toAttributes(BOOM),
  ...rest,
});
const hex = (id?: Uint8Array) => Buffer.from(id!).toString('hex');

/** A failed request of OpenTelemetry, whose span recorded the exception. */
const failedSpan = (consumer: string, { message, ...rest } = BOOM, overrides = {}, status = 500) =>
  serverSpan(
    { 'http.response.status_code': status, 'user.id': consumer },
    {
      status: { code: Status_StatusCode.ERROR },
      events: [{ name: 'exception', attributes: toAttributes({ message, ...rest }) }],
      ...overrides,
    },
  );

type SpanInit = ReturnType<typeof serverSpan>;
/** Members of a span below another one. */
const below = ({ traceId, spanId }: SpanInit) => ({
  traceId,
  parentSpanId: spanId,
  kind: Span_SpanKind.INTERNAL,
});

describe('errors', () => {
  it('of a client library of the hub are its reports, and their requests are examples', async () => {
    const error = { method: 'GET', path: '/users/:id', type: 'ValueError', msg: 'order 7', traceback: STACK };
    const report = buildSync({
      requests: [buildCount({ status_code: 500, request_count: 7 })],
      server_errors: [
        { ...error, consumer: 'anna', error_count: 4, sentry_event_id: EVENT_ID },
        { ...error, consumer: 'bob', msg: 'order 12', error_count: 3 },
      ],
      validation_errors: [
        {
          method: 'GET',
          path: '/users/:id',
          consumer: 'bob',
          loc: ['query', 'page'],
          msg: 'not an integer',
          type: 'int',
          error_count: 2,
        },
      ],
    });
    const items = CONSUMERS.map((consumer) =>
      buildLogItem({
        request: { consumer },
        response: { statusCode: 500 },
        exception: { ...BOOM, sentryEventId: EVENT_ID },
      }),
    );
    const uuid = randomUUID();
    // Each comes twice, and the requests come before the reports and after them.
    await client.sendLog(items.slice(0, 3), uuid);
    await client.send('sync', report);
    await client.send('sync', report);
    await client.sendLog(items);
    await client.sendLog(items.slice(0, 3), uuid);
    const rows = await readErrors();
    const row = { method: 'GET', path: '/users/{id}', env: 'prod', trace_id: null };
    expect(rows).toEqual([
      expect.objectContaining({
        ...row,
        kind: 'server',
        type: 'ValueError',
        errors: 7,
        consumers: 2,
        sentry_event_id: EVENT_ID,
        request_uuid: expect.any(String),
      }),
      expect.objectContaining({
        ...row,
        kind: 'validation',
        type: 'int',
        message: 'not an integer',
        errors: 2,
        consumers: 1,
        request_uuid: null,
        sentry_event_id: null,
      }),
    ]);
    expect(items.map((item) => item.uuid)).toContain(rows[0]!.request_uuid);
    // The time of the report, not of the examples before it.
    expect(rows[0]!.first_seen).toBe(new Date(Math.floor(report.timestamp * 1000)).toISOString());
  });

  it('of version 1 of the client libraries are their reports', async () => {
    const of = resource({ 'telemetry.distro.name': 'apitally-py' });
    const counts = [
      { consumer: 'anna', count: 4 },
      { consumer: 'bob', count: 3 },
    ];
    const body = JSON.stringify({
      method: 'GET',
      route: '/users/:id',
      ...BOOM,
      counts,
      sentry_event_id: EVENT_ID,
    });
    const event = {
      timeUnixNano: nanosecondsAgo(1_000),
      eventName: 'apitally.request.server_error',
      body: { value: { case: 'stringValue' as const, value: body } },
    };
    const spans = CONSUMERS.map((consumer) => failedSpan(consumer));
    await sender.deliver('traces', traces(spans, { of }));
    await sender.deliver('logs', logs([event], { of, scope: 'apitally' }));
    await sender.deliver(
      'logs',
      logs([event, { ...event, timeUnixNano: nanosecondsAgo(500), eventName: 'other' }], {
        of,
        scope: 'apitally',
      }),
    );
    const rows = await readErrors();
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({
      kind: 'server',
      type: 'ValueError',
      errors: 7,
      consumers: 2,
      message: 'order 7',
    });
    expect(spans.map(({ traceId }) => hex(traceId))).toContain(rows[0]!.trace_id);
    const { body: details } = await client.tenant.get(`request-logs/${rows[0]!.request_uuid as string}`);
    expect(details.exception).toMatchObject(BOOM);
  });

  it('of OpenTelemetry are the exceptions of failed requests, each once', async () => {
    const spans = CONSUMERS.map((consumer, n) => failedSpan(consumer, { ...BOOM, message: `order ${n}` }));
    await sender.deliver('traces', traces(spans.slice(0, 4)));
    await sender.deliver('traces', traces(spans));
    await sender.deliver('traces', traces([...spans].reverse()));
    const handled = failedSpan('anna', BOOM, {}, 404);
    await sender.deliver('traces', traces([handled, serverSpan({ 'http.response.status_code': 500 })]));
    const rows = await readErrors();
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ kind: 'exception', type: 'ValueError', errors: 7, consumers: 2 });
    const { body: details } = await client.tenant.get(`request-logs/${rows[0]!.request_uuid as string}`);
    expect(details.exception).toMatchObject({ type: 'ValueError', stacktrace: STACK });
    expect(details.trace_id).toBe(rows[0]!.trace_id);
  });

  it('of a sampled span count as the requests that it stands for', async () => {
    // One of four.
    await sender.deliver('traces', traces([failedSpan('anna', BOOM, { traceState: 'ot=th:c' })]));
    expect(await readErrors()).toEqual([expect.objectContaining({ errors: 4, consumers: 1 })]);
  });

  it('have one fingerprint, whichever way they came', async () => {
    const error = { method: 'GET', path: '/users/:id', type: 'ValueError', msg: 'x', traceback: STACK };
    await client.send('sync', buildSync({ server_errors: [{ ...error, error_count: 2 }] }));
    await sender.deliver(
      'traces',
      traces([failedSpan('anna', { ...BOOM, stacktrace: STACK.replaceAll('41', '77') })], {
        of: resource({ 'deployment.environment.name': 'prod' }),
      }),
    );
    const line = {
      timestamp: new Date().toISOString(),
      method: 'GET',
      path: '/users/{id}',
      url: '/users/7',
      status_code: 500,
      exception: BOOM,
    };
    const imported = await fetch(`${service.collector.url}/v1/requests?env=prod&source=t`, {
      method: 'POST',
      headers: { authorization: `Bearer ${sender.token}` },
      body: JSON.stringify(line),
    });
    expect([imported.status, await imported.text()]).toEqual([200, expect.any(String)]);
    const rows = await readErrors();
    expect(rows).toEqual([expect.objectContaining({ errors: 4, consumers: 1, env: 'prod' })]);
  });

  it('of exceptions that come as log records, or that a span below recorded, count once, in any order and again', async () => {
    const spans = CONSUMERS.map((consumer) =>
      serverSpan({ 'http.response.status_code': 500, 'user.id': consumer }),
    );
    const [first, second, third, ...others] = spans as [SpanInit, SpanInit, SpanInit, ...SpanInit[]];
    const handler = failedSpan('anna', BOOM, { ...below(third), attributes: [] });
    // A log record before its request, one after it, and a span below.
    await sender.deliver('logs', logs([exceptionRecord(first)]));
    await sender.deliver('traces', traces([first, second, handler, third]));
    await service.collector.countExceptions();
    expect(await readErrors()).toEqual([
      expect.objectContaining({ errors: 2, consumers: 1, kind: 'exception' }),
    ]);
    await sender.deliver('logs', logs([exceptionRecord(second)]));
    await service.collector.countExceptions();
    // All of it again, from two collectors at once.
    await sender.deliver('traces', traces([third, ...others]));
    await sender.deliver('logs', logs([first, second, ...others].map((span) => exceptionRecord(span))));
    const other = await TestCollector.start(service.api.store, service.api.app.get(Config));
    await Promise.all(
      [service.collector, other, service.collector].map((collector) => collector.countExceptions()),
    );
    await other.countExceptions();
    await other.stop();
    const rows = await readErrors();
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ type: 'ValueError', message: 'order 7', errors: 7, consumers: 2 });
    expect(spans.map(({ traceId }) => hex(traceId))).toContain(rows[0]!.trace_id);
    // The same error as one that the span of the request recorded.
    await sender.deliver('traces', traces([failedSpan('carl')]));
    expect(await readErrors()).toEqual([expect.objectContaining({ errors: 8, consumers: 3 })]);
  });

  it('are as many as exports have exceptions, of the same types', async () => {
    const failed = Array.from({ length: 450 }, (_, n) =>
      serverSpan({ 'http.response.status_code': n % 3 === 0 ? 404 : 503 }),
    );
    const records = failed
      .filter((_, n) => n % 5 !== 0)
      .map((span, n) => exceptionRecord(span, { attributes: toAttributes({ ...BOOM, type: `E${n % 4}` }) }));
    await sender.deliver('logs', logs(records));
    await sender.deliver('traces', traces(failed));
    await service.collector.countExceptions();
    const { text } = await client.tenant.post('request-logs', {
      since: '2025-01-01',
      fields: ['exception_type'],
    });
    const exported = new Map<string, number>();
    for (const [, type] of text.matchAll(/"exception_type":"(E\d)"/g))
      exported.set(type!, (exported.get(type!) ?? 0) + 1);
    expect(exported.size).toBe(4);
    const counted = (await readErrors()).map(({ type, errors }) => [type, errors] as [string, number]);
    expect(new Map(counted)).toEqual(exported);
  });

  it('are masked as other texts are', async () => {
    await sender.deliver(
      'traces',
      traces([failedSpan('anna', { ...BOOM, message: 'password=hunter2-hunter2' })]),
    );
    const rows = await readErrors();
    expect(JSON.stringify(rows)).not.toContain('hunter2');
    expect(rows[0]!.message).toContain('******');
  });
});
