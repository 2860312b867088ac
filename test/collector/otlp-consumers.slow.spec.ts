import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { AggregationTemporality } from '../../src/sources/otlp/generated/opentelemetry/proto/metrics/v1/metrics_pb.js';
import { Config } from '../../src/config/config.js';
import { Client, TestCollector, TestService } from './setup/collector.js';
import { OtlpSender, type Signal, attributes, metrics, serverSpan, traces } from './setup/otlp.js';

const { DELTA, CUMULATIVE } = AggregationTemporality;
const MINUTE = 60_000;
const MS = 1_000_000n;
const BOUNDS = [0.01, 0.1, 1];
/** Threshold of OpenTelemetry's sampling of one in four; such a span stands for four. */
const ONE_IN_FOUR = 'ot=th:c';

const RUNS = { numRuns: Number(process.env.CONSUMER_RUNS ?? 5), endOnFailure: true };

interface Request {
  /** When it ended, since the epoch. */
  at: number;
  tookMs: number;
  route: string;
  /** The method of MCP that its span names and the metric does not. */
  operation?: string | undefined;
  status: number;
  consumer: string | null;
  size: number;
  isSampled: boolean;
}

interface Body {
  signal: Signal;
  bytes: Buffer;
}

let service: TestService;
let collector: TestCollector;
let client: Client;
let sender: OtlpSender;

beforeAll(async () => {
  service = await TestService.start();
  collector = service.collector;
});

afterAll(async () => {
  if (collector !== service.collector) await collector.stop();
  await service.stop();
});

beforeEach(async () => {
  client = await service.tenant();
  sender = await OtlpSender.create(service, client);
});

/** The beginning of a minute, `minutes` ago. */
const minutesAgo = (minutes: number) => (Math.floor(Date.now() / MINUTE) - minutes) * MINUTE;

function spanOf({ at, tookMs, route, operation, status, consumer, size }: Request, traceState = '') {
  const end = BigInt(at) * MS;
  return serverSpan(
    {
      'http.route': route,
      'http.response.status_code': status,
      'http.response.body.size': size,
      ...(consumer !== null && { 'user.id': consumer }),
      ...(operation !== undefined && { 'mcp.method.name': operation }),
    },
    {
      traceId: randomBytes(16),
      startTimeUnixNano: end - BigInt(tookMs) * MS,
      endTimeUnixNano: end,
      traceState,
    },
  );
}

/** The points of the requests of each route and status, of a minute or since the first one. */
function pointsOf(requests: readonly Request[], start: number, end: number, isCumulative: boolean): Buffer {
  const groups = new Map<string, Request[]>();
  for (const request of requests) {
    const key = `${request.route} ${request.status}`;
    groups.set(key, [...(groups.get(key) ?? []), request]);
  }
  const histogram = (
    name: string,
    unit: string,
    bounds: readonly number[],
    read: (of: Request) => number,
  ) => ({
    name,
    unit,
    data: {
      case: 'histogram' as const,
      value: {
        aggregationTemporality: isCumulative ? CUMULATIVE : DELTA,
        dataPoints: Array.from(groups.values(), (group) => {
          const values = group.map(read);
          const bucketCounts = Array<bigint>(bounds.length + 1).fill(0n);
          for (const value of values) bucketCounts[bounds.filter((bound) => value > bound).length]!++;
          return {
            startTimeUnixNano: BigInt(start) * MS,
            timeUnixNano: BigInt(end) * MS,
            attributes: attributes({
              'http.request.method': 'GET',
              'http.route': group[0]!.route,
              'http.response.status_code': group[0]!.status,
            }),
            explicitBounds: [...bounds],
            bucketCounts,
            count: BigInt(group.length),
            sum: values.reduce((sum, value) => sum + value, 0),
          };
        }),
      },
    },
  });
  return metrics([
    histogram('http.server.request.duration', 's', BOUNDS, ({ tookMs }) => tookMs / 1000),
    histogram('http.server.response.body.size', 'By', [100, 1000], ({ size }) => size),
  ]);
}

type Row = Record<string, unknown> & { requests: number; bytes_sent: number };

async function query(body: object): Promise<Row[]> {
  const all = { since: new Date(minutesAgo(300)).toISOString(), metrics: ['requests', 'bytes_sent'] };
  return (await client.tenant.metrics({ ...all, ...body })) as Row[];
}

async function readCoverage(body: object): Promise<string | undefined> {
  const all = { since: new Date(minutesAgo(300)).toISOString(), metrics: ['requests'] };
  return (await client.tenant.post('metrics', { ...all, ...body })).headers['x-consumer-coverage'];
}

const deliver = ({ signal, bytes }: Body) => sender.deliver(signal, bytes);

async function nameConsumers(): Promise<Map<unknown, string | null>> {
  const { data } = await client.tenant.consumers({ limit: 1000 });
  return new Map<unknown, string | null>([
    [null, null],
    ...data.map(({ id, identifier }) => [id, identifier] as const),
  ]);
}

/** Sums by time, path, status and consumer, as sorted texts. */
function sumUp(requests: readonly Request[], first: number): string[] {
  const sums = new Map<string, [requests: number, bytes: number]>();
  for (const { at, route, operation, status, consumer, size } of requests) {
    const minute = Math.ceil((at - first) / MINUTE) - 1;
    const path = operation === undefined ? route : `${route}#${operation}`;
    const key = [minute, path, status, consumer].join(' ');
    const [n, bytes] = sums.get(key) ?? [0, 0];
    sums.set(key, [n + 1, bytes + size]);
  }
  return Array.from(sums, ([key, sum]) => `${key}: ${sum.join(' ')}`).sort();
}

async function readSums(first: number): Promise<string[]> {
  const names = await nameConsumers();
  const rows = await query({ interval: 'minute', group_by: ['consumer_id', 'path', 'status_code'] });
  return rows
    .map(({ period_start, path, status_code, consumer_id, requests, bytes_sent }) => {
      const minute = (Date.parse(String(period_start)) - first) / MINUTE;
      return `${[minute, path, status_code, names.get(consumer_id)].join(' ')}: ${requests} ${bytes_sent}`;
    })
    .sort();
}

const requestOf = (
  first: number,
  minutes: number,
  isSampled: fc.Arbitrary<boolean> = fc.constant(true),
): fc.Arbitrary<Request> =>
  fc.record({
    // Further from the ends of minutes than clocks may differ.
    at: fc
      .tuple(fc.integer({ min: 0, max: minutes - 1 }), fc.integer({ min: 2_000, max: 58_000 }))
      .map(([minute, ms]) => first + minute * MINUTE + ms),
    tookMs: fc.constantFrom(1, 50, 700, 90_000),
    route: fc.constantFrom('/users', '/items'),
    operation: fc.constantFrom(undefined, undefined, 'tools/list', 'initialize'),
    status: fc.constantFrom(200, 404),
    consumer: fc.constantFrom(null, 'alice', 'bob', 'carol'),
    size: fc.integer({ min: 0, max: 5_000 }),
    isSampled,
  });

/** Bodies of the requests of some minutes: spans in parts, points by the minute. */
function buildBodies(requests: readonly Request[], first: number, minutes: number, isCumulative: boolean) {
  const sampled = requests.filter(({ isSampled }) => isSampled);
  const state = sampled.length === requests.length ? '' : ONE_IN_FOUR;
  const spans: Body[] = [];
  for (let from = 0; from < sampled.length; from += 5) {
    const some = sampled.slice(from, from + 5).map((request) => spanOf(request, state));
    spans.push({ signal: 'traces', bytes: traces(some) });
  }
  const points = Array.from({ length: minutes }, (_, minute): Body => {
    const [start, end] = [first + minute * MINUTE, first + (minute + 1) * MINUTE];
    const of = requests.filter(({ at }) => at < end && (isCumulative || at >= start));
    return { signal: 'metrics', bytes: pointsOf(of, isCumulative ? first : start, end, isCumulative) };
  });
  return { spans, points };
}

/** Another process takes over: what it knows is in the store. */
async function restart(): Promise<void> {
  if (collector !== service.collector) await collector.stop();
  collector = await TestCollector.start(service.api.store, service.api.app.get(Config));
  sender = new OtlpSender(collector.url, sender.token);
}

/** Delivers bodies in a random order, some of them twice; points of a stream stay in theirs. */
async function deliverAll(
  { spans, points }: { spans: Body[]; points: Body[] },
  isCumulative: boolean,
  random: () => number,
): Promise<void> {
  const shuffled = [...spans, ...points].map((body) => ({ body, at: random() })).sort((a, b) => a.at - b.at);
  const inOrder = [...points];
  for (const { body } of shuffled) {
    const next = isCumulative && body.signal === 'metrics' ? inOrder.shift()! : body;
    await deliver(next);
    if (random() < 0.15) await deliver(next);
    if (random() < 0.05) await restart();
  }
}

describe('consumers and operations of an application whose metric is counted', () => {
  it('have what their spans say, and the rest has none', async () => {
    const first = minutesAgo(40);
    const common = { at: first + 5_000, tookMs: 50, route: '/users', status: 200, isSampled: true };
    const requests: Request[] = [
      { ...common, consumer: 'alice', size: 10 },
      { ...common, consumer: 'alice', size: 20 },
      { ...common, consumer: 'bob', size: 40, tookMs: 700 },
      { ...common, consumer: null, size: 80 },
    ];
    const { spans, points } = buildBodies(requests, first, 1, true);
    for (const body of spans) await deliver(body);
    for (const body of points) await deliver(body);
    expect(await readSums(first)).toEqual(sumUp(requests, first));
    const alice = await client.tenant.consumerId('alice');
    const { data } = await client.tenant.traffic({ consumer_id: alice });
    expect(data).toMatchObject([{ requests: 2, bytes_sent: 30 }]);
    const times = await query({ group_by: ['consumer_id'], metrics: ['response_time_p50', 'requests'] });
    const bob = await client.tenant.consumerId('bob');
    // The middles of the buckets up to 100 ms and up to 1 s.
    expect(times.map((row) => [row.consumer_id, row.response_time_p50])).toEqual(
      [
        [alice, expect.closeTo(32, -1)],
        [bob, expect.closeTo(316, -2)],
        [null, expect.closeTo(32, -1)],
      ].sort((a, b) => Number(a[0] ?? Infinity) - Number(b[0] ?? Infinity)),
    );
    const { data: consumers } = await client.tenant.consumers();
    const consumer = consumers.find(({ id }) => id === alice);
    expect(Date.parse(consumer!.last_request_at!)).toBe(first + 5_000 - 50);
    expect(await readCoverage({ group_by: ['consumer_id'] })).toBeUndefined();
  });

  it.each([true, false])(
    'have the request whose span ended just before its stream began, as in Node.js (cumulative: %s)',
    async (isCumulative) => {
      const first = minutesAgo(40);
      const common = { tookMs: 50, route: '/users', status: 200, isSampled: true, size: 10 };
      const requests: Request[] = [
        { ...common, at: first + 5_000, consumer: 'alice' },
        { ...common, at: first + 5_100, consumer: 'bob' },
      ];
      await sender.deliver('metrics', pointsOf(requests, first + 5_003, first + 9_000, isCumulative));
      await sender.deliver('traces', traces(requests.map((request) => spanOf(request))));
      const rows = await query({ group_by: ['consumer_id'] });
      expect(rows.map((row) => [row.consumer_id === null, row.requests])).toEqual([
        [false, 1],
        [false, 1],
      ]);
    },
  );

  it('are exact whatever arrives first, twice, late or after a restart', async () => {
    const minutes = 6;
    await fc.assert(
      fc.asyncProperty(
        fc.array(requestOf(minutesAgo(40), minutes), { minLength: 1, maxLength: 30 }),
        fc.boolean(),
        fc.noShrink(fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true }))),
        async (requests, isCumulative, randoms) => {
          client = await service.tenant();
          sender = new OtlpSender(collector.url, (await OtlpSender.create(service, client)).token);
          const first = Math.min(...requests.map(({ at }) => at - ((at - minutesAgo(0)) % MINUTE) - MINUTE));
          const start = first - (first % MINUTE);
          const bodies = buildBodies(requests, start, minutes + 2, isCumulative);
          await deliverAll(bodies, isCumulative, () => randoms.next().value);
          expect(await readSums(start)).toEqual(sumUp(requests, start));
        },
      ),
      RUNS,
    );
  }, 600_000);

  it('never have more than was counted if spans are sampled, and the response says so', async () => {
    const minutes = 6;
    await fc.assert(
      fc.asyncProperty(
        fc.array(requestOf(minutesAgo(40), minutes, fc.boolean()), { minLength: 1, maxLength: 30 }),
        fc.boolean(),
        fc.noShrink(fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true }))),
        async (requests, isCumulative, randoms) => {
          client = await service.tenant();
          sender = new OtlpSender(collector.url, (await OtlpSender.create(service, client)).token);
          const start = minutesAgo(42);
          await deliverAll(
            buildBodies(requests, start, minutes + 3, isCumulative),
            isCumulative,
            () => randoms.next().value,
          );
          const fields = ['path', 'status_code'];
          const totals = await query({ interval: 'minute', group_by: fields });
          const rows = await query({ interval: 'minute', group_by: ['consumer_id', ...fields] });
          const isOf = (total: Row) => (row: Row) =>
            ['period_start', ...fields].every((field) => row[field] === total[field]);
          for (const total of totals) {
            const parts = rows.filter(isOf(total));
            expect(parts.every(({ requests: n, bytes_sent }) => n > 0 && bytes_sent >= 0)).toBe(true);
            expect(parts.reduce((sum, row) => sum + row.requests, 0)).toBe(total.requests);
            expect(parts.reduce((sum, row) => sum + row.bytes_sent, 0)).toBe(total.bytes_sent);
          }
          expect(totals.reduce((sum, row) => sum + row.requests, 0)).toBe(requests.length);
          const seen = requests.filter(({ isSampled }) => isSampled).length;
          const coverage = await readCoverage({ group_by: ['consumer_id'] });
          if (seen < requests.length)
            expect(Number(coverage)).toBeCloseTo(Math.floor((seen / requests.length) * 1000) / 1000, 3);
          else expect(coverage).toBeUndefined();
        },
      ),
      RUNS,
    );
  }, 600_000);
});
