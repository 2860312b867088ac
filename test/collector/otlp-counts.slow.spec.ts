import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import {
  AggregationTemporality,
  DataPointFlags,
} from '../../src/sources/otlp/generated/opentelemetry/proto/metrics/v1/metrics_pb.js';
import { findBin, findMiddleOfBin } from '../../src/records/bins.js';
import { eventually } from '../setup/eventually.js';
import { Config } from '../../src/config/config.js';
import { TestCollector, TestService } from './setup/collector.js';
import {
  OtlpSender,
  attributes,
  metrics,
  nanosecondsAgo,
  readResponse,
  resource,
  serverSpan,
  traces,
} from './setup/otlp.js';

const { DELTA, CUMULATIVE } = AggregationTemporality;
const MS = 1_000_000n;
/** For which spans wait for a metric: longer than a few messages take, also on a busy machine. */
const DELAY_MS = 6_000;
const OK = { 'http.request.method': 'GET', 'http.route': '/users/:id', 'http.response.status_code': 200 };

let service: TestService;

beforeAll(async () => {
  service = await TestService.start({ COLLECTOR_SPAN_COUNT_DELAY_SECONDS: String(DELAY_MS / 1000) });
});

afterAll(() => service.stop());

interface Extremes {
  min?: number;
  max?: number;
}

interface Counted {
  requests: number;
  bytes_received?: number;
  response_time_p50?: number | null;
  response_time_p99?: number | null;
}

/** An app of its own: tests run at the same time, because messages that arrive together share a batch. */
async function createApp() {
  const client = await service.tenant();
  const sender = await OtlpSender.create(service, client);
  const counted = async (more: object = {}): Promise<Counted[]> => {
    const rows = await client.tenant.metrics({
      since: '2025-01-01',
      metrics: ['requests', 'bytes_received', 'response_time_p50', 'response_time_p99'],
      ...more,
    });
    return rows as unknown as Counted[];
  };
  const total = async () => (await counted())[0]?.requests ?? 0;
  /** How many response times are in bins. */
  const countBins = async (): Promise<number> => {
    const [row] = await service.api.store.rows<{ n: number }>(
      'test.bins',
      "SELECT sum(n) AS n FROM counts_per_15m_v1 WHERE app_id = {app_id:UInt32} AND measure = 'time'",
      { app_id: client.tenant.appId },
    );
    return row!.n;
  };
  const accuracy = async (window: object = { since: '2025-01-01' }): Promise<string | undefined> => {
    const body = { ...window, metrics: ['response_time_p50'] };
    return (await client.tenant.post('metrics', body)).headers['x-percentile-accuracy'];
  };
  return { client, sender, counted, total, countBins, accuracy };
}

interface PointInit {
  temporality?: AggregationTemporality;
  /** Nanoseconds since the epoch, or milliseconds ago. */
  start?: number | bigint;
  end?: number;
  values?: typeof OK;
  extremes?: object;
}

/** A point of the durations of requests, in a stream that counts from its start on. */
function deliverCumulative(
  sender: OtlpSender,
  kind: 'histogram' | 'exponentialHistogram',
  point: object,
): Promise<void> {
  const value = { aggregationTemporality: CUMULATIVE, dataPoints: [point] };
  const data = { case: kind, value } as const;
  return sender.deliver('metrics', metrics([{ name: 'http.server.request.duration', unit: 's', data }]));
}

/** A point of `http.server.request.duration` with the bounds 10 ms, 100 ms and 1 s. */
function duration(
  bucketCounts: readonly bigint[],
  { temporality = DELTA, start = 60_000, end = 0, values = OK, extremes = {} }: PointInit = {},
) {
  const count = bucketCounts.reduce((sum, n) => sum + n, 0n);
  const point = {
    startTimeUnixNano: typeof start === 'number' ? nanosecondsAgo(start) : start,
    timeUnixNano: nanosecondsAgo(end),
    attributes: attributes(values),
    explicitBounds: [0.01, 0.1, 1],
    bucketCounts: [...bucketCounts],
    count,
    sum: Number(count) * 0.05,
    ...extremes,
  };
  return {
    name: 'http.server.request.duration',
    unit: 's',
    data: {
      case: 'histogram' as const,
      value: { aggregationTemporality: temporality, dataPoints: [point] },
    },
  };
}

describe('requests counted by the metric of their durations', () => {
  it.concurrent('leaves out preflight requests of version 1 of the client libraries alone', async () => {
    const { sender, total } = await createApp();
    const preflight = duration([0n, 3n, 0n, 0n], { values: { ...OK, 'http.request.method': 'OPTIONS' } });
    await sender.deliver('metrics', metrics([preflight, duration([0n, 1n, 0n, 0n])], { scope: 'apitally' }));
    expect(await total()).toBe(1);
    await sender.deliver('metrics', metrics([preflight]));
    expect(await total()).toBe(4);
  });

  it.concurrent('counts delta points by their buckets, at the geometric middle of each', async () => {
    const { sender, counted } = await createApp();
    await sender.deliver('metrics', metrics([duration([0n, 98n, 2n, 0n])]));
    const [row] = await counted({ group_by: ['method', 'path', 'status_code'] });
    expect(row).toMatchObject({ method: 'GET', path: '/users/{id}', status_code: 200, requests: 100 });
    expect(row!.response_time_p50).toBeCloseTo(Math.sqrt(10 * 100), -1);
    expect(row!.response_time_p99).toBeCloseTo(Math.sqrt(100 * 1000), -1);
  });

  it.concurrent(
    'counts the points of a cumulative stream by their differences, also after a reset and beside a stream that began later',
    async () => {
      const { sender, total } = await createApp();
      const [startTime, now] = [nanosecondsAgo(120_000), nanosecondsAgo(0)];
      const send = (counts: bigint[], end: number, startTimeUnixNano = startTime) => {
        const metric = duration(counts, { temporality: CUMULATIVE });
        const times = { startTimeUnixNano, timeUnixNano: now - BigInt(end) * MS };
        Object.assign(metric.data.value.dataPoints[0]!, times);
        return sender.deliver('metrics', metrics([metric]));
      };
      await send([1n, 2n, 0n, 0n], 50_000);
      expect(await total()).toBe(3);
      await send([1n, 7n, 0n, 0n], 40_000);
      expect(await total()).toBe(8);
      // Older than the last point, as in a repeated message.
      await send([1n, 3n, 0n, 0n], 45_000);
      expect(await total()).toBe(8);
      await send([2n, 0n, 0n, 0n], 30_000);
      expect(await total()).toBe(10);
      await send([4n, 0n, 0n, 0n], 20_000, startTime + 1_000n * MS);
      expect(await total()).toBe(14);
      await send([5n, 0n, 0n, 0n], 10_000);
      expect(await total()).toBe(17);
    },
  );

  it.concurrent(
    'counts the points of a cumulative stream at their own times, in whatever order a message has them',
    async () => {
      const { sender, counted } = await createApp();
      const stream = { temporality: CUMULATIVE, start: nanosecondsAgo(600_000) };
      const early = duration([0n, 5n, 0n, 0n], { ...stream, end: 240_000 });
      const late = duration([0n, 9n, 0n, 0n], { ...stream, end: 0 });
      await sender.deliver('metrics', metrics([late, early]));
      expect(await counted({ interval: 'minute' })).toMatchObject([{ requests: 5 }, { requests: 4 }]);
    },
  );

  it.concurrent(
    'counts a cumulative stream by its differences however old its points are, and however long it pauses',
    async () => {
      const { sender, total } = await createApp();
      const DAY_MS = 86_400_000;
      const startTimeUnixNano = nanosecondsAgo(51 * DAY_MS);
      for (const [count, daysAgo] of [
        [33n, 50.2],
        [50n, 50.1],
        [100n, 50],
        [101n, 5],
      ] as const) {
        const metric = duration([count, 0n, 0n, 0n], { temporality: CUMULATIVE, end: daysAgo * DAY_MS });
        Object.assign(metric.data.value.dataPoints[0]!, { startTimeUnixNano });
        await sender.deliver('metrics', metrics([metric]));
        // Drops what the table keeps no longer.
        await service.api.store.command('OPTIMIZE TABLE metric_streams_v1 FINAL');
        expect(await total()).toBe(Number(count));
      }
    },
  );

  it.concurrent(
    'counts nothing for the first point of a cumulative stream that begins at an unknown time',
    async () => {
      const { sender, total } = await createApp();
      const startTimeUnixNano = nanosecondsAgo(50_000);
      const send = (counts: bigint[], timeUnixNano: bigint) => {
        const metric = duration(counts, { temporality: CUMULATIVE });
        Object.assign(metric.data.value.dataPoints[0]!, { startTimeUnixNano, timeUnixNano });
        return sender.deliver('metrics', metrics([metric]));
      };
      await send([100n, 200n, 0n, 0n], startTimeUnixNano);
      expect(await total()).toBe(0);
      await send([101n, 202n, 0n, 0n], startTimeUnixNano + 10_000n * MS);
      expect(await total()).toBe(3);
    },
  );

  it.concurrent(
    'counts the first point of a cumulative stream whose start is later than its time',
    async () => {
      const { sender, total } = await createApp();
      const metric = duration([1n, 2n, 0n, 0n], { temporality: CUMULATIVE });
      const timeUnixNano = nanosecondsAgo(50_000);
      Object.assign(metric.data.value.dataPoints[0]!, { startTimeUnixNano: timeUnixNano + MS, timeUnixNano });
      await sender.deliver('metrics', metrics([metric]));
      expect(await total()).toBe(3);
    },
  );

  it.concurrent.each(['histogram', 'exponentialHistogram'] as const)(
    'passes over points of a cumulative %s that have no recorded value, as when a stream pauses',
    async (kind) => {
      const { sender, total } = await createApp();
      const startTimeUnixNano = nanosecondsAgo(120_000);
      const send = (count: bigint, end: number, flags = 0) => {
        const times = { startTimeUnixNano, timeUnixNano: nanosecondsAgo(end) };
        const point = { ...times, attributes: attributes(OK), count, sum: 1, flags };
        return deliverCumulative(sender, kind, point);
      };
      await send(100n, 50_000);
      await send(0n, 40_000, DataPointFlags.NO_RECORDED_VALUE_MASK);
      await send(103n, 30_000);
      expect(await total()).toBe(103);
    },
  );

  it.concurrent(
    'keeps the buckets of a cumulative stream in their bins when its extremes change',
    async () => {
      const { sender, counted, countBins } = await createApp();
      const startTimeUnixNano = nanosecondsAgo(120_000);
      const send = (counts: bigint[], end: number, extremes: Extremes) => {
        const metric = duration(counts, { temporality: CUMULATIVE, end, extremes });
        Object.assign(metric.data.value.dataPoints[0]!, { startTimeUnixNano });
        return sender.deliver('metrics', metrics([metric]));
      };
      await send([10n, 0n, 0n, 10n], 50_000, { min: 0.009, max: 1.5 });
      // One more request, in a bucket between the extremes.
      await send([10n, 1n, 0n, 10n], 40_000, { min: 0.001, max: 9 });
      expect(await counted()).toMatchObject([{ requests: 21 }]);
      expect(await countBins()).toBe(21);
    },
  );

  it.concurrent(
    'subtracts the bins of a cumulative exponential histogram whose buckets got wider',
    async () => {
      const { sender, counted, countBins } = await createApp();
      const at = nanosecondsAgo(120_000);
      const send = (scale: number, offset: number, buckets: bigint[], end: number) => {
        const count = buckets.reduce((sum, n) => sum + n, 0n);
        const point = {
          ...{ startTimeUnixNano: at, timeUnixNano: nanosecondsAgo(end), attributes: attributes(OK) },
          ...{ scale, positive: { offset, bucketCounts: buckets }, count, sum: 1 },
        };
        return deliverCumulative(sender, 'exponentialHistogram', point);
      };
      await send(3, -28, [1n, 2n, 3n, 4n], 50_000);
      // The same ten in buckets of twice the width, and one of each more.
      await send(2, -14, [4n, 8n], 40_000);
      expect(await countBins()).toBe(12);
      expect(await counted()).toMatchObject([{ requests: 12 }]);
    },
  );

  it.concurrent(
    'keeps the response times when a cumulative exponential histogram lowers its scale from 6 to 5',
    async () => {
      const { sender, counted, countBins } = await createApp();
      const at = nanosecondsAgo(120_000);
      const send = (scale: number, times: [seconds: number, n: bigint][], end: number) => {
        const indexes = times.map(([seconds]) => Math.ceil(Math.log2(seconds) * 2 ** scale) - 1);
        const offset = Math.min(...indexes);
        const bucketCounts = Array<bigint>(Math.max(...indexes) - offset + 1).fill(0n);
        for (const [index, [, n]] of times.entries()) bucketCounts[indexes[index]! - offset]! += n;
        const point = {
          ...{ startTimeUnixNano: at, timeUnixNano: nanosecondsAgo(end), attributes: attributes(OK) },
          ...{ scale, positive: { offset, bucketCounts } },
          count: times.reduce((sum, [, n]) => sum + n, 0n),
        };
        return deliverCumulative(sender, 'exponentialHistogram', point);
      };
      const times: [number, bigint][] = [
        [1.005, 1000n],
        [0.99, 1n],
        [0.2, 1500n],
      ];
      await send(6, times, 50_000);
      await send(5, [...times, [0.1, 1n]], 40_000);
      const [row] = await counted();
      expect({ ...row, bins: await countBins() }).toMatchObject({ requests: 2502, bins: 2502 });
      expect(Math.abs(row!.response_time_p50! - 200)).toBeLessThan(5);
    },
  );

  it.concurrent('counts sizes that arrive before the durations of their instance', async () => {
    const { sender, counted } = await createApp();
    const size = (sum: number, temporality = DELTA, end = 0) => {
      const metric = duration([200n, 0n, 0n, 0n], { temporality, end });
      Object.assign(metric.data.value.dataPoints[0]!, { sum });
      return { ...metric, name: 'http.server.request.body.size', unit: 'By' };
    };
    await sender.deliver('metrics', metrics([size(900)]));
    const times = { temporality: CUMULATIVE, end: 30_000 };
    const stream = size(50, CUMULATIVE, 40_000);
    await sender.deliver('metrics', metrics([stream]));
    expect(await counted()).toEqual([]);
    await sender.deliver('metrics', metrics([duration([3n, 0n, 0n, 0n], times)]));
    expect(await counted()).toMatchObject([{ requests: 3, bytes_received: 950 }]);
    await sender.deliver('metrics', metrics([duration([4n, 0n, 0n, 0n])]));
    expect(await counted()).toMatchObject([{ requests: 7, bytes_received: 950 }]);
  });

  it.concurrent.each([
    ['bounds that do not increase', { explicitBounds: [0.1, 0.1, 1] }],
    ['bounds that are no numbers', { explicitBounds: [0.1, NaN, 1] }],
    ['another number of buckets than bounds', { bucketCounts: [1n, 0n] }],
    ['more than 2^53 values in its buckets', { bucketCounts: [1n, 2n ** 63n, 0n, 0n] }],
    ['a count beyond 2^53', { count: 2n ** 64n - 1n }],
  ])('rejects a point with %s, and counts the others', async (_, members) => {
    const { sender, counted } = await createApp();
    const [broken, valid] = [duration([1n, 0n, 0n, 0n]), duration([0n, 2n, 0n, 0n])];
    Object.assign(broken.data.value.dataPoints[0]!, members);
    const { status, bytes } = await sender.send('metrics', metrics([broken, valid]));
    expect({ status, response: readResponse('metrics', bytes) }).toMatchObject({
      status: 200,
      response: { partialSuccess: { rejectedDataPoints: 1n } },
    });
    expect(await counted()).toMatchObject([{ requests: 2 }]);
  });

  it.concurrent.each([
    ['a sum that is no number', { sum: NaN, min: NaN, max: NaN }],
    ['a sum that is infinite', { sum: Infinity, min: -1, max: Infinity }],
  ])('counts a point with %s', async (_, members) => {
    const { sender, counted } = await createApp();
    const metric = duration([1n, 0n, 0n, 2n]);
    Object.assign(metric.data.value.dataPoints[0]!, members);
    await sender.deliver('metrics', metrics([metric]));
    expect(await counted()).toMatchObject([{ requests: 3 }]);
  });

  it.concurrent.each([
    ['a scale of no histogram', { scale: -2_000_000_000 }, 'scale: must be from -2 to 20'],
    ['a scale that says nothing about times', { scale: -3 }, 'scale: must be from -2 to 20'],
    ['a zero threshold that is no number', { zeroThreshold: NaN }, 'zero_threshold: must be from 0 to 1'],
    ['a zero threshold above most times', { zeroThreshold: 1e9 }, 'zero_threshold: must be from 0 to 1'],
  ])('rejects an exponential histogram with %s, and counts the others', async (_, members, reason) => {
    const { sender, counted, accuracy } = await createApp();
    const valid = duration([0n, 2n, 0n, 0n]);
    const { attributes, startTimeUnixNano, timeUnixNano } = valid.data.value.dataPoints[0]!;
    const times = { attributes, startTimeUnixNano, timeUnixNano };
    const buckets = {
      scale: 3,
      zeroCount: 1n,
      positive: { offset: 0, bucketCounts: [1n] },
      count: 2n,
      sum: 1,
    };
    const dataPoints = [{ ...times, ...buckets, ...members }];
    const value = { aggregationTemporality: DELTA, dataPoints };
    const broken = { ...valid, data: { case: 'exponentialHistogram' as const, value } };
    const { status, bytes } = await sender.send('metrics', metrics([broken, valid]));
    expect(status).toBe(200);
    expect(readResponse('metrics', bytes)).toMatchObject({
      partialSuccess: { rejectedDataPoints: 1n, errorMessage: `data_points[].${reason}` },
    });
    expect(await counted()).toMatchObject([{ requests: 2 }]);
    expect(Number((await accuracy())!.split(' ')[0])).toBeLessThan(2.2);
  });

  it.concurrent('states the accuracy of the default buckets of SDKs, as the documents do', async () => {
    const { sender, accuracy } = await createApp();
    const explicitBounds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
    const buckets = explicitBounds.map(() => 1n);
    await sender.deliver('metrics', metrics([duration([...buckets, 0n], { extremes: { explicitBounds } })]));
    expect(await accuracy()).toBe('0.597 +4ms');
    for (const document of ['README.md', 'docs/read.md', 'docs/design.md', 'docs/contract.md'])
      expect(await readFile(document, 'utf8')).toContain('59.7 %');
  });

  it.concurrent.each([0.4, 1.4, 2.49, 3.5])(
    'states an accuracy that holds for %s ms, which is rounded',
    async (ms) => {
      const { sender, counted, accuracy } = await createApp();
      const extremes = { min: ms / 1000, max: ms / 1000 };
      await sender.deliver('metrics', metrics([duration([1n, 0n, 0n, 0n], { extremes })]));
      const [relative, absolute] = (await accuracy())!.split(' +');
      const [row] = await counted();
      const error = Math.abs(row!.response_time_p50! - ms);
      expect(error).toBeLessThanOrEqual(Number(relative) * ms + Number.parseFloat(absolute ?? '0'));
    },
  );

  it.concurrent(
    'states the accuracy of percentiles: that of the bins, then that of the widest bucket that has counts',
    async () => {
      const { sender, accuracy } = await createApp();
      expect(await accuracy()).toBe('0.011 +1ms');
      await sender.deliver('metrics', metrics([duration([1n, 0n, 0n, 0n])]));
      expect(await accuracy()).toBe('0.011 +6ms');
      await sender.deliver('metrics', metrics([duration([0n, 1n, 0n, 0n])]));
      const [relative, absolute] = (await accuracy())!.split(' ');
      // The middle of 10 and 100 ms is 3.16 times the lower one, that of its bin a bit more.
      const middle = findMiddleOfBin(findBin(Math.sqrt(10 * 100) / 1000));
      expect(Number(relative)).toBeGreaterThanOrEqual(middle / 0.01 - 1);
      expect(Number(relative)).toBeLessThan(2.2);
      expect(absolute).toBe('+6ms');
      const [tomorrow, later] = [1, 2].map((days) => new Date(Date.now() + days * 86_400_000).toISOString());
      expect(await accuracy({ since: tomorrow, until: later })).toBe('0.011 +1ms');
      expect(await accuracy({ since: '2025-01-01', until: '2025-01-02' })).toBe('0.011 +1ms');
      const other = await service.tenant();
      const { headers } = await other.tenant.post('metrics', {
        since: '2025-01-01',
        metrics: ['response_time_p50'],
      });
      expect(headers['x-percentile-accuracy']).toBe('0.011 +1ms');
    },
  );

  it.concurrent.each([
    ['first', [1, 2]],
    ['last', [2, 1]],
  ])('states the accuracy of the widest bucket of a message, which comes %s in it', async (_, places) => {
    const { sender, accuracy } = await createApp();
    const buckets = { 1: [0n, 1n, 0n, 0n], 2: [0n, 0n, 1n, 0n] };
    const narrow = { explicitBounds: [0.01, 0.1, 0.11] };
    const list = places.map((place) => duration(buckets[place as 1 | 2], { extremes: narrow }));
    await sender.deliver('metrics', metrics(list));
    expect(Number((await accuracy())!.split(' ')[0])).toBeGreaterThan(2.16);
  });

  it.concurrent('keeps the bytes of a cumulative stream whose sum is left out', async () => {
    const { sender, counted } = await createApp();
    const start = nanosecondsAgo(60_000);
    const point = (count: bigint, end: number, sum?: number) => {
      const metric = duration([0n, count, 0n, 0n], { temporality: CUMULATIVE, start, end });
      Object.assign(metric.data.value.dataPoints[0]!, { sum, explicitBounds: [1, 1_000, 1_000_000] });
      return { ...metric, name: 'http.server.request.body.size', unit: 'By' };
    };
    await sender.deliver('metrics', metrics([duration([0n, 3n, 0n, 0n]), point(1n, 2_000, 500)]));
    await sender.deliver('metrics', metrics([point(3n, 1_000)]));
    expect(await counted({ metrics: ['requests', 'bytes_received'] })).toMatchObject([
      { requests: 3, bytes_received: 500 },
    ]);
  });

  it.concurrent(
    'reads exponential histograms at any scale, zeros among them, and sizes as bytes',
    async () => {
      const { client, sender, counted } = await createApp();
      const histogram = (name: string, scale: number, offset: number, buckets: bigint[], sum: number) => ({
        name,
        unit: name.endsWith('size') ? 'By' : 's',
        data: {
          case: 'exponentialHistogram' as const,
          value: {
            aggregationTemporality: DELTA,
            dataPoints: [
              {
                startTimeUnixNano: nanosecondsAgo(60_000),
                timeUnixNano: nanosecondsAgo(0),
                attributes: attributes({ ...OK, 'apitally.consumer.identifier': 'bob' }),
                scale,
                zeroCount: 1n,
                positive: { offset, bucketCounts: buckets },
                count: buckets.reduce((all, n) => all + n, 1n),
                sum,
              },
            ],
          },
        },
      });
      // At scale 3 bucket -27 is (2^-3.375, 2^-3.25] seconds, 96 to 105 ms.
      const body = metrics(
        [
          histogram('http.server.request.duration', 3, -27, [0n, 9n], 0.9),
          histogram('http.server.request.body.size', 0, 9, [9n], 9_000),
        ],
        { scope: 'apitally' },
      );
      await sender.deliver('metrics', body);
      const [row] = await counted({ group_by: ['consumer_id'] });
      expect(row).toMatchObject({
        consumer_id: await client.tenant.consumerId('bob'),
        requests: 10,
        bytes_received: 9_000,
      });
      expect(Math.abs(row!.response_time_p50! - 1000 * 2 ** (-25.5 / 8))).toBeLessThan(2);
    },
  );

  it.concurrent('stores the resources of the process and the time of the last synchronization', async () => {
    const { client, sender, total } = await createApp();
    const gauge = {
      name: 'process.cpu.utilization',
      data: {
        case: 'gauge' as const,
        value: { dataPoints: [{ value: { case: 'asDouble' as const, value: 0.25 } }] },
      },
    };
    const before = Date.now();
    await sender.deliver('metrics', metrics([gauge]));
    const { body } = await service.api.get('/v1/apps', client.tenant.key);
    expect(Date.parse(body.data[0].envs[0].last_sync_at)).toBeGreaterThanOrEqual(before - 1);
    const [kept] = await service.api.store.rows<{ cpu_percent: number }>(
      'test.resources',
      'SELECT cpu_percent FROM instance_resources_v1 WHERE app_id = {app_id:UInt32}',
      { app_id: client.tenant.appId },
    );
    expect(kept).toEqual({ cpu_percent: 25 });
    expect(await total()).toBe(0);
  });

  it.concurrent(
    'counts what a point says, in the proportions of its buckets, if they exceed its count',
    async () => {
      const { sender, total, countBins } = await createApp();
      const begin = nanosecondsAgo(180_000);
      for (const [end, count, buckets] of [
        [120_000, 2n, [0n, 2n, 0n, 0n]],
        [60_000, 10n, [0n, 20n, 0n, 0n]],
        [0, 20n, [0n, 20n, 40n, 0n]],
      ] as const)
        await sender.deliver(
          'metrics',
          metrics([duration(buckets, { temporality: CUMULATIVE, start: begin, end, extremes: { count } })]),
        );
      const delta = duration([0n, 6n, 2n, 0n], { extremes: { count: 4n } });
      await sender.deliver('metrics', metrics([delta]));
      expect([await total(), await countBins()]).toEqual([24, 24]);
    },
  );
});

describe('requests that are in the metric under both of its names', () => {
  const of = () => resource({ 'service.instance.id': randomUUID() });
  const named = (init: PointInit = {}) => duration([0n, 5n, 0n, 0n], init);
  const older = (init: PointInit = {}) => {
    const { 'http.route': route } = OK;
    const values = {
      'http.method': 'GET',
      'http.route': route,
      'http.status_code': 200,
      'net.host.name': 'a',
    };
    const metric = duration([0n, 5n, 0n, 0n], { ...init, values: values as never });
    for (const point of metric.data.value.dataPoints) point.explicitBounds = [10, 100, 1_000];
    return { ...metric, name: 'http.server.duration', unit: 'ms' };
  };
  const createProcesses = () =>
    Promise.all(
      [DELTA, CUMULATIVE].map(async (temporality) => {
        const { sender, total } = await createApp();
        return { temporality, instance: of(), token: sender.token, total };
      }),
    );
  type Process = Awaited<ReturnType<typeof createProcesses>>[number];
  type Named = ReturnType<typeof named>;
  const deliverAll = (processes: readonly Process[], build: (process: Process) => readonly Named[]) =>
    Promise.all(
      processes.map((process) => {
        const body = metrics(build(process), { of: process.instance });
        // A restarted collector has another port.
        return new OtlpSender(service.collector.url, process.token).deliver('metrics', body);
      }),
    );
  const readTotals = (processes: readonly Process[]) =>
    Promise.all(processes.map(async ({ temporality, total }) => [temporality, await total()]));
  const restart = async () => {
    await service.collector.stop();
    service.collector = await TestCollector.start(service.api.store, service.api.app.get(Config));
  };

  const countOnce = async (how: string) => {
    const processes = await createProcesses();
    const begin = nanosecondsAgo(180_000);
    for (const [round, end] of [120_000, 60_000, 0].entries()) {
      const build = ({ temporality }: Process) => {
        const start = temporality === DELTA ? nanosecondsAgo(end + 60_000) : begin;
        const count = temporality === DELTA ? 5n : BigInt(5 * (round + 1));
        const init = { temporality, start, end, extremes: { bucketCounts: [0n, count, 0n, 0n], count } };
        const both = [named(init), older(init)];
        return how.includes('older') ? both.reverse() : both;
      };
      if (how === 'one body') await deliverAll(processes, build);
      else {
        await deliverAll(processes, (process) => build(process).slice(0, 1));
        if (how.includes('restart')) await restart();
        await deliverAll(processes, (process) => build(process).slice(1));
      }
    }
    expect(await readTotals(processes)).toEqual([
      [DELTA, 15],
      [CUMULATIVE, 15],
    ]);
  };

  it.concurrent.each(['one body', 'two bodies', 'two bodies, the older first'])(
    'counts them once, in %s, of an interval and cumulative',
    countOnce,
  );

  // A restart is one for all tests.
  it.each(['two bodies, a restart between'])(
    'counts them once, in %s, of an interval and cumulative',
    countOnce,
  );

  it.each([
    ['the older to the other', [older, named]],
    ['the other to the older', [named, older]],
  ] as const)(
    'counts all of a process that changes from %s name, with one instance ID',
    async (_, [before, after]) => {
      const processes = await createProcesses();
      await deliverAll(processes, ({ temporality }) => [
        before({ temporality, start: 180_000, end: 120_000 }),
      ]);
      await restart();
      await deliverAll(processes, ({ temporality }) => [after({ temporality, start: 110_000, end: 60_000 })]);
      await deliverAll(processes, ({ temporality }) => [after({ temporality, start: 50_000, end: 0 })]);
      expect(await readTotals(processes)).toEqual([
        [DELTA, 15],
        [CUMULATIVE, 15],
      ]);
    },
  );

  it.concurrent('counts the older metric alone beside spans, when it arrives within the delay', async () => {
    const { sender, total } = await createApp();
    const instance = of();
    await sender.deliver('traces', traces([serverSpan()], { of: instance }));
    await sender.deliver('metrics', metrics([older()], { of: instance }));
    await pause(DELAY_MS + 1_500);
    expect(await total()).toBe(5);
  });
});

describe('requests that are in spans and in a metric', () => {
  const of = () => resource({ 'service.instance.id': randomUUID() });
  /** Asks as often as the collector counts spans that waited. */
  const waitUntil = (call: () => Promise<boolean>) => eventually(call, 30_000, 1_000);

  it.concurrent(
    'counts the metric alone when it arrives within the delay, before or after the spans',
    async () => {
      const { client, sender, total } = await createApp();
      const [first, second] = [of(), of()];
      await sender.deliver('traces', traces([serverSpan(), serverSpan()], { of: first }));
      await sender.deliver('metrics', metrics([duration([0n, 20n, 0n, 0n])], { of: first }));
      await sender.deliver('metrics', metrics([duration([0n, 300n, 0n, 0n])], { of: second }));
      await sender.deliver('traces', traces([serverSpan()], { of: second }));
      await pause(DELAY_MS + 1_500);
      await sender.deliver('traces', traces([serverSpan()], { of: first }));
      expect(await total()).toBe(320);
      expect((await client.tenant.logs()).data).toHaveLength(4);
    },
  );

  it.concurrent(
    'counts spans alone when no metric arrives within the delay, also of a process that ended',
    async () => {
      const { sender, total } = await createApp();
      const instance = of();
      await sender.deliver(
        'traces',
        traces([serverSpan(), serverSpan({}, { traceState: 'ot=th:8' })], { of: instance }),
      );
      expect(await total()).toBe(0);
      await waitUntil(async () => (await total()) === 3);
      await sender.deliver('metrics', metrics([duration([0n, 20n, 0n, 0n])], { of: instance }));
      await sender.deliver('traces', traces([serverSpan()], { of: instance }));
      expect(await total()).toBe(4);
    },
  );

  it.concurrent(
    'counts the requests of a service of PHP as those of one instance, though each has an ID of its own',
    async () => {
      const { sender, total } = await createApp();
      const request = () => {
        const of = resource({
          'telemetry.sdk.language': 'php',
          'service.instance.id': randomUUID(),
          'host.name': 'web-1',
        });
        return sender.deliver('traces', traces([serverSpan()], { of }));
      };
      await request();
      await waitUntil(async () => (await total()) === 1);
      await request();
      expect(await total()).toBe(2);
    },
  );

  it.concurrent(
    'counts the sizes of an instance only if its metric counts, however late its durations begin',
    async () => {
      const { sender, counted, total } = await createApp();
      const [first, second] = [of(), of()];
      const size = { ...duration([0n, 0n, 0n, 3n]), name: 'http.server.request.body.size', unit: 'By' };
      Object.assign(size.data.value.dataPoints[0]!, { sum: 900 });
      for (const instance of [first, second])
        await sender.deliver('metrics', metrics([size], { of: instance }));
      const span = serverSpan({ 'http.request.body.size': 7 });
      await sender.deliver('traces', traces([span], { of: second }));
      await waitUntil(async () => (await total()) === 1);
      await sender.deliver('metrics', metrics([duration([3n, 0n, 0n, 0n])], { of: first }));
      await sender.deliver('metrics', metrics([duration([3n, 0n, 0n, 0n]), size], { of: second }));
      expect(await counted()).toMatchObject([{ requests: 4, bytes_received: 907 }]);
    },
  );

  it.concurrent(
    'counts each of two instances by its own, also where one message has spans of both',
    async () => {
      const { sender, total } = await createApp();
      const [bySpans, byMetric] = [of(), of()];
      await sender.deliver('traces', traces([serverSpan()], { of: bySpans }));
      await waitUntil(async () => (await total()) === 1);
      // Messages of Protocol Buffers that follow each other are one.
      const both = [bySpans, byMetric].map((instance) => traces([serverSpan()], { of: instance }));
      await sender.deliver('traces', Buffer.concat(both));
      await sender.deliver('metrics', metrics([duration([0n, 1n, 0n, 0n])], { of: byMetric }));
      expect(await total()).toBe(3);
    },
  );

  it.concurrent('counts a health check once, however often its span occurs', async () => {
    const { client, sender, total } = await createApp();
    const instance = of();
    const check = serverSpan({ 'http.route': '/healthz', 'url.path': '/healthz' });
    const another = serverSpan(
      { 'http.route': '/healthz', 'url.path': '/healthz' },
      { startTimeUnixNano: check.startTimeUnixNano! },
    );
    await sender.deliver('traces', traces([check, check], { of: instance }));
    await Promise.all([
      sender.deliver('traces', traces([check, serverSpan()], { of: instance })),
      sender.deliver('traces', traces([serverSpan(), check], { of: of() })),
    ]);
    await sender.deliver('traces', traces([another, check], { of: instance }));
    await waitUntil(async () => (await total()) >= 4);
    await sender.deliver('traces', traces([check, serverSpan()], { of: instance }));
    expect(await total()).toBe(5);
    expect((await client.tenant.logs()).data).toHaveLength(3);
  });

  it.concurrent.each([
    ['without an instance ID', {}],
    ['whose instance ID is a name', { 'service.instance.id': 'web-1' }],
  ])(
    'counts the spans of an environment though a process of another one %s sends the metric',
    async (_, id) => {
      const { sender, total } = await createApp();
      const of = { attributes: attributes({ 'service.name': 'shop', ...id }) };
      const deliver = (env: string, signal: 'traces' | 'metrics', body: Buffer) =>
        sender.send(signal, body, { headers: { 'Apitally-Env': env } });
      await deliver('v1', 'metrics', metrics([duration([5n, 0n, 0n, 0n])], { of }));
      await deliver('prod', 'traces', traces([serverSpan(), serverSpan(), serverSpan()], { of }));
      await deliver('v1', 'traces', traces([serverSpan()], { of }));
      await waitUntil(async () => (await total()) === 8);
    },
  );

  it.concurrent(
    'counts a process by its metric alone when its instance ID is a UUID, in any environments',
    async () => {
      const { sender, total } = await createApp();
      const of = resource({ 'service.instance.id': randomUUID() });
      const headers = { 'Apitally-Env': 'v1' };
      await sender.send('metrics', metrics([duration([5n, 0n, 0n, 0n])], { of }), { headers });
      await sender.deliver('traces', traces([serverSpan()], { of }));
      await pause(DELAY_MS + 1_500);
      expect(await total()).toBe(5);
    },
  );

  // Its spans would delay messages of others.
  it('counts spans alone when several instances have more of them than one batch takes', async () => {
    const { sender, total } = await createApp();
    const MINUTES = 7_000;
    for (const instance of ['one', 'two', 'three']) {
      const spans = Array.from({ length: MINUTES }, (_, minute) => {
        const startTimeUnixNano = nanosecondsAgo((minute + 1) * 60_000);
        return serverSpan({}, { startTimeUnixNano, endTimeUnixNano: startTimeUnixNano + MS });
      });
      await sender.deliver('traces', traces(spans, { of: resource({ 'service.instance.id': instance }) }));
    }
    await eventually(async () => (await total()) === 3 * MINUTES, 60_000, 1_000);
  });
});
