import { type MessageInitShape, create, toBinary } from '@bufbuild/protobuf';
import { finish } from '../../src/shared/async/slices.js';
import type { Message } from '../../src/write/batches/message.js';
import {
  type ExportMetricsServiceRequest,
  ExportMetricsServiceRequestSchema,
} from '../../src/sources/otlp/generated/opentelemetry/proto/collector/metrics/v1/metrics_service_pb.js';
import {
  AggregationTemporality,
  DataPointFlags,
  type MetricSchema,
} from '../../src/sources/otlp/generated/opentelemetry/proto/metrics/v1/metrics_pb.js';
import { readItems } from '../../src/sources/otlp/items.js';
import { parseMetrics } from '../../src/sources/otlp/metrics.parser.js';

const NOW = Date.UTC(2026, 10, 22, 12);
const NOW_NS = BigInt(NOW) * 1_000_000n;
const FLAGGED = DataPointFlags.NO_RECORDED_VALUE_MASK;
const DURATION = 'http.server.request.duration';

type MetricInit = Exclude<MessageInitShape<typeof MetricSchema>, { $typeName: string }>;

const text = (value: string) => ({ value: { case: 'stringValue' as const, value } });

const POINT = {
  startTimeUnixNano: NOW_NS - 60_000_000_000n,
  timeUnixNano: NOW_NS,
  attributes: [{ key: 'http.request.method', value: text('GET') }],
  count: 3n,
};

/** The message of metrics of one process. */
function parse(metrics: MetricInit[]): Message {
  const request = create(ExportMetricsServiceRequestSchema, {
    resourceMetrics: [{ scopeMetrics: [{ metrics }] }],
  });
  return parseOne(request);
}

function parseOne(request: ExportMetricsServiceRequest): Message {
  const bytes = Buffer.from(toBinary(ExportMetricsServiceRequestSchema, request));
  const context = {
    digest: 'x',
    env: undefined,
    now: NOW,
    graphql: false,
    maxSpanWeight: 1,
    expansion: { remaining: 0 },
  };
  return finish(parseMetrics(readItems('metrics', bytes, 'protobuf'), context))[0]!;
}

function histogram(dataPoints: object[], { name = DURATION, unit = 's' } = {}): MetricInit {
  const value = { aggregationTemporality: AggregationTemporality.DELTA, dataPoints };
  return { name, unit, data: { case: 'histogram', value } };
}

describe('points without a recorded value', () => {
  it('are neither counted nor rejected', () => {
    const message = parse([histogram([{ ...POINT, flags: FLAGGED, count: 0n, attributes: [] }, POINT])]);
    expect(message.points).toMatchObject([{ count: 3 }]);
    expect(message.rejected.count).toBe(0);
  });

  it('do not report the resources of the process', () => {
    const value = { case: 'asDouble' as const, value: 0 };
    const dataPoints = [{ value: { ...value, value: 0.5 } }, { value, flags: FLAGGED }];
    const message = parse([
      { name: 'process.cpu.utilization', data: { case: 'gauge', value: { dataPoints } } },
    ]);
    expect(message.report?.cpu_percent).toBe(50);
  });
});

describe('the method of a point', () => {
  it.each([
    [{ 'http.request.method': '_OTHER' }, '_OTHER'],
    [{ 'http.request.method': '', 'http.method': 'GET' }, 'GET'],
    [{ 'http.method': 'X.GET' }, '_OTHER'],
  ])('is that of the attributes %p', (values, method) => {
    const attributes = Object.entries(values).map(([key, value]) => ({ key, value: text(value) }));
    expect(parse([histogram([{ ...POINT, attributes }])]).points).toMatchObject([{ method }]);
  });
});

it('has the consumer of the first attribute that is not empty', () => {
  const values = { 'apitally.consumer.identifier': '', 'user.id': 'u', 'enduser.id': 'e' };
  const attributes = Object.entries(values).map(([key, value]) => ({ key, value: text(value) }));
  const point = { ...POINT, attributes: [...POINT.attributes, ...attributes] };
  expect(parse([histogram([point])]).points).toMatchObject([{ consumer: { identifier: 'u' } }]);
});

describe('cumulative streams', () => {
  const value = { aggregationTemporality: AggregationTemporality.CUMULATIVE, dataPoints: [POINT] };
  const metrics = [{ name: DURATION, data: { case: 'histogram' as const, value } }];
  const attributes = [{ key: 'a', value: text('b') }];

  it('are those that say so', () => {
    const data = { case: 'histogram' as const, value: { dataPoints: [POINT] } };
    const { points } = parse([...metrics, { name: DURATION, data }]);
    expect(points.map(({ stream }) => stream === null)).toEqual([false, true]);
  });

  it('are identified by all that their scope has', () => {
    const scopes = [
      { scope: { name: 'x' } },
      { scope: { name: 'x', version: '1' } },
      { scope: { name: 'x', version: '2' } },
      { scope: { name: 'x', attributes } },
      { scope: { name: 'x' }, schemaUrl: 'https://example.com' },
    ];
    const scopeMetrics = scopes.map((scope) => ({ ...scope, metrics }));
    const { points } = parseOne(
      create(ExportMetricsServiceRequestSchema, { resourceMetrics: [{ scopeMetrics }] }),
    );
    expect(new Set(points.map(({ stream }) => stream)).size).toBe(scopes.length);
    // The first one as it is in stores: another key would count all its requests again.
    expect(points[0]?.stream).toBe('95121990-3d74-8288-9a05-54e06d96a6fe');
  });
});

it.each([
  ['another type', { name: DURATION, data: { case: 'sum' as const, value: { dataPoints: [{}, {}, {}] } } }],
  ['another unit', histogram([POINT, POINT, POINT], { unit: 'min' })],
])('rejects each point of a metric of %s', (_, metric) => {
  expect(parse([metric]).rejected.count).toBe(3);
});

it('rejects a point whose unit is the name of what every object has', () => {
  const { points, rejected } = parse([histogram([POINT], { unit: 'constructor' })]);
  expect([points, rejected.count]).toEqual([[], 1]);
});

it.each([
  ['the start of its interval', 10_000, 10_000],
  ['a minute before its end, if it is longer', 3_600_000, 60_000],
])('counts a point at %s', (_, lengthMs, beforeMs) => {
  const startTimeUnixNano = NOW_NS - BigInt(lengthMs) * 1_000_000n;
  expect(parse([histogram([{ ...POINT, startTimeUnixNano }])]).points).toMatchObject([
    { timestamp: NOW - beforeMs },
  ]);
});

it('counts a point without a status as a 500, which has no error type where Python raised', () => {
  expect(parse([histogram([POINT])]).points).toMatchObject([{ status_code: 500 }]);
});

it.each([
  ['as many counts as bounds', [1n, 2n]],
  ['one more', [1n, 1n, 1n]],
])('takes an infinite last bound with %s', (_, bucketCounts) => {
  const { points, rejected } = parse([
    histogram([{ ...POINT, explicitBounds: [0.1, Infinity], bucketCounts }]),
    histogram([{ ...POINT, explicitBounds: [0.1], bucketCounts: [1n, 2n] }]),
  ]);
  expect(rejected.count).toBe(0);
  expect(points[0]!.bins).toEqual(points[1]!.bins);
  expect(points[0]!.bins.map(({ n }) => n)).toEqual([1, 2]);
});

it('takes buckets that exceed the count, as of JavaScript', () => {
  const { points, rejected } = parse([
    histogram([{ ...POINT, explicitBounds: [1], bucketCounts: [4n, 4n] }]),
  ]);
  expect([points.length, rejected.count]).toEqual([1, 0]);
});

it.each([
  ['bounds that do not increase', { explicitBounds: [1, 1], bucketCounts: [1n, 1n, 1n] }],
  ['more buckets than its bounds make', { explicitBounds: [1], bucketCounts: [1n, 1n, 1n] }],
])('rejects a point with %s', (_, buckets) => {
  const { points, rejected } = parse([histogram([{ ...POINT, ...buckets }])]);
  expect([points, rejected.count]).toEqual([[], 1]);
});
