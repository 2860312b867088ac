import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { Config } from '../../src/config/config.js';
import { Redactor } from '../../src/records/redaction/redactor.js';
import { BodyWork } from '../../src/sources/intake/body-work.js';
import { Span_SpanKind } from '../../src/sources/otlp/generated/opentelemetry/proto/trace/v1/trace_pb.js';
import type { LongLine } from '../../src/sources/lines/files/long-line.js';
import { LineParser } from '../../src/sources/lines/formats/request-format.js';
import { BodyParser, type ParseTask } from '../../src/sources/parsing/body-parser.js';
import { ParseThreads } from '../../src/sources/parsing/parse-threads.js';
import { ExpandedBodyError } from '../../src/sources/otlp/origin.js';
import { finish } from '../../src/shared/async/slices.js';
import { InnerSpans } from '../../src/write/batches/inner-spans.js';
import { buildCount, buildLogItem, buildSync } from './setup/messages.js';
import { attributes, durations, logs, nanosecondsAgo, serverSpan, toOtlpJson, traces } from './setup/otlp.js';

const APP_ID = 1;
const LARGE = 'x'.repeat(30_000);
const now = Date.now();
const hub = { env: 'prod', now };
const otlp = { env: undefined, now, graphql: true, maxSpanWeight: 10, encoding: 'protobuf' } as const;
let threads: ParseThreads;

beforeAll(() => {
  threads = open();
});

afterAll(() => threads.onApplicationShutdown());

it.each<[name: string, task: ParseTask, body: () => Buffer]>([
  ['startup', { ...hub, kind: 'startup' }, () => json(buildStartup())],
  ['sync', { ...hub, kind: 'sync' }, () => json(buildSync({ requests: many(5_000, buildCount) }))],
  ['log', { ...hub, kind: 'log', uuid: randomUUID() }, () => buildLog(600)],
  ['gzip log', { ...hub, kind: 'log', uuid: randomUUID() }, () => gzipSync(buildLog(600))],
  ['traces', { ...otlp, kind: 'traces' }, buildTraces],
  [
    'JSON traces',
    { ...otlp, kind: 'traces', encoding: 'json' },
    () => json(toOtlpJson('traces', buildTraces())),
  ],
  ['metrics', { ...otlp, kind: 'metrics' }, buildMetrics],
  ['logs', { ...otlp, kind: 'logs' }, buildLogs],
])('a thread parses a large body as the thread of the requests does: %s', async (_, task, build) => {
  const parser = new BodyParser({ ...new Config({}).collector, redaction: new Config({}).redaction });
  const body = build();
  const expected = await parser.parse(task, Buffer.from(body), begin());
  expect(await threads.parse(APP_ID, task, Buffer.from(body), begin())).toEqual(expected.messages);
  const [{ rejected } = { rejected: null }] = expected.messages;
  expect(rejected?.count).toBe(task.kind === 'sync' || task.kind === 'log' ? 1 : 0);
});

it('a thread parses a small body whose packed texts are large', async () => {
  const packed = gzipSync(`{"token":"secret","padding":"${LARGE}"}`);
  const body = traces(Array.from({ length: 40 }, () => serverSpan({ 'apitally.request.body': packed })));
  const task = { ...otlp, kind: 'traces' } as const;
  const parser = new BodyParser({ ...new Config({}).collector, redaction: new Config({}).redaction });
  await expect(parser.parse(task, body, begin(), 1024 * 1024)).rejects.toBeInstanceOf(ExpandedBodyError);
  const expected = await parser.parse(task, body, begin());
  expect(expected.messages[0]?.logs.at(-1)?.captured_json).toContain(LARGE);
  expect(await threads.parse(APP_ID, task, body, begin())).toEqual(expected.messages);
});

it('what the spans of a large body say of other requests is remembered', async () => {
  const innerSpans = new InnerSpans(Redactor.standard);
  const ownThreads = open({}, innerSpans);
  const inner = serverSpan(
    { 'user.id': 'alice', padding: LARGE },
    { kind: Span_SpanKind.INTERNAL, parentSpanId: Buffer.alloc(8, 7) },
  );
  const body = traces(
    Array.from({ length: 40 }, (_, index) => ({ ...inner, spanId: Buffer.alloc(8, index + 10) })),
  );
  await ownThreads.parse(APP_ID, { ...otlp, kind: 'traces' }, body, begin());
  const request = {
    ...serverSpan(),
    traceId: inner.traceId,
    spanId: Buffer.alloc(8, 7),
    parentSpanId: undefined,
  };
  const messages = await ownThreads.parse(APP_ID, { ...otlp, kind: 'traces' }, traces([request]), begin());
  finish(innerSpans.ofApp(APP_ID).assign(messages));
  expect(messages[0]?.logs.map(({ consumer }) => consumer?.identifier)).toEqual(['alice']);
  await ownThreads.onApplicationShutdown();
});

it('an invalid body is rejected with the same reason', async () => {
  const parse = (text: string) => threads.parse(APP_ID, { ...hub, kind: 'sync' }, Buffer.from(text), begin());
  const rejections = await Promise.allSettled([
    parse('{"message_uuid": 1}'),
    parse(`{"message_uuid": 1, "a": "${'x'.repeat(1_100_000)}"}`),
  ]);
  expect(rejections.map((outcome) => outcome.status === 'rejected' && String(outcome.reason))).toEqual(
    Array(2).fill('InvalidRecordError: message_uuid: must be a string'),
  );
});

it('a body that needs too much memory gets 413, and the next one a new thread', async () => {
  const small = open({ COLLECTOR_MAX_BODY_HEAP_MB: '32' });
  const task = { ...hub, kind: 'log', uuid: randomUUID() } as const;
  const work = begin();
  const body = buildLog(15_000);
  // To start a thread is no work of a body.
  await small.parse(APP_ID, task, buildLog(600), begin());
  const [spentBefore, startedAt] = [work.spentMs, performance.now()];
  await expect(small.parse(APP_ID, task, body, work)).rejects.toMatchObject({
    status: 413,
    detail: 'Payload too large: needs more than 32 MB of memory (COLLECTOR_MAX_BODY_HEAP_MB)',
  });
  // The thread did not say how long it worked: its app pays all the same.
  expect(work.spentMs - spentBefore).toBeGreaterThan((performance.now() - startedAt) / 2);
  const [message] = await small.parse(APP_ID, task, buildLog(600), begin());
  expect(message?.logs).toHaveLength(599);
  await small.onApplicationShutdown();
});

it('a body that takes too long gets 413, and its time counts', async () => {
  const body = buildLog(20_000);
  const work = begin(20);
  await expect(
    threads.parse(APP_ID, { ...hub, kind: 'log', uuid: randomUUID() }, body, work),
  ).rejects.toMatchObject({
    status: 413,
    detail: 'Payload too large: takes longer than 0.02 seconds (COLLECTOR_MAX_BODY_SECONDS)',
  });
  expect(work.spentMs).toBeGreaterThanOrEqual(20);
});

it('a line that needs too much memory or time gets 413, and the next one is parsed', async () => {
  const small = open({ COLLECTOR_MAX_BODY_HEAP_MB: '32' });
  const bytes = json({ ...REQUEST, spans: Array.from({ length: 6_500 }, () => SPAN) });
  await expect(small.parseLine(buildLine(), Buffer.from(bytes), begin())).rejects.toMatchObject({
    status: 413,
    detail: expect.stringContaining('needs more than 32 MB') as string,
  });
  await expect(threads.parseLine(buildLine(), bytes, begin(1))).rejects.toMatchObject({
    status: 413,
    detail: expect.stringContaining('takes longer than 0.001 seconds') as string,
  });
  const { result } = await small.parseLine(buildLine(), json(REQUEST), begin());
  expect(result).toMatchObject({ record: { url: REQUEST.url } });
  await small.onApplicationShutdown();
});

it('the thread stops for a sender that leaves, and takes the next body', async () => {
  const leaving = new AbortController();
  const work = begin(60_000, leaving.signal);
  const task = { ...hub, kind: 'log', uuid: randomUUID() } as const;
  const parsed = threads.parse(APP_ID, task, buildLog(20_000), work);
  leaving.abort(new Error('left'));
  await expect(parsed).rejects.toThrow('left');
  const [message] = await threads.parse(APP_ID, task, buildLog(600), begin());
  expect(message?.logs).toHaveLength(599);
});

const REQUEST = {
  timestamp: new Date(now - 60_000).toISOString(),
  method: 'GET',
  url: 'https://shop.example.com/orders/1',
  status_code: 200,
};
const SPAN = {
  span_id: 'a',
  name: 's',
  start_time_ns: 1,
  end_time_ns: 2,
  attributes: { text: 'x'.repeat(1_000) },
};

const buildLine = (): LongLine => ({
  number: 1,
  format: 'ndjson',
  options: {},
  state: new LineParser('ndjson').state,
  env: 'prod',
  source: '',
});

function open(env: NodeJS.ProcessEnv = {}, innerSpans = new InnerSpans(Redactor.standard)): ParseThreads {
  return new ParseThreads(new Config(env), innerSpans);
}

function begin(maxMs = 60_000, signal = new AbortController().signal): BodyWork {
  const work = new BodyWork(maxMs, signal);
  work.begin();
  return work;
}

const json = (value: unknown) => Buffer.from(JSON.stringify(value));

const many = (count: number, build: (overrides: object) => object) => [
  ...Array.from({ length: count }, (_, index) => build({ path: `/users/${index}` })),
  null,
];

const buildStartup = () => ({
  message_uuid: randomUUID(),
  instance_uuid: randomUUID(),
  paths: Array.from({ length: 20_000 }, (_, index) => ({ method: 'GET', path: `/users/${index}/orders` })),
  versions: { app: '1.2.3', express: '5.0.0' },
  client: 'js:express',
});

/** Lines with a secret, and one that is invalid. */
const buildLog = (lines: number) =>
  Buffer.from(
    Array.from({ length: lines }, (_, index) =>
      index === 0
        ? '{}'
        : JSON.stringify(
            buildLogItem({
              uuid: randomUUID(),
              request: {
                headers: [
                  ['Authorization', 'Bearer abcdefghijkl'],
                  ['X-Text', 'x'.repeat(2_000)],
                ],
              },
            }),
          ),
    ).join('\n'),
  );

function buildTraces(): Buffer {
  return traces(
    Array.from({ length: 600 }, (_, index) =>
      serverSpan({
        'http.route': `/users/${index}`,
        'user.id': 'alice',
        token: 'secret',
        padding: 'y'.repeat(2_000),
      }),
    ),
  );
}

function buildMetrics(): Buffer {
  return durations(
    Array.from({ length: 5_000 }, (_, index) => ({
      attributes: attributes({
        'http.request.method': 'GET',
        'http.route': `/users/${index}/orders`,
        'http.response.status_code': 200,
        padding: 'x'.repeat(200),
      }),
      startTimeUnixNano: nanosecondsAgo(60_000),
      timeUnixNano: nanosecondsAgo(1_000),
      count: 1n,
      sum: 0.1,
      bucketCounts: [1n, 0n],
      explicitBounds: [1],
    })),
  );
}

function buildLogs(): Buffer {
  return logs(
    Array.from({ length: 600 }, () => ({
      timeUnixNano: nanosecondsAgo(1_000),
      body: { value: { case: 'stringValue' as const, value: `token=secret ${'z'.repeat(2_000)}` } },
    })),
  );
}
