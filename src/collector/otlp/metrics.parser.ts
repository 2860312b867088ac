import { hashUuid } from '../../common/hash-uuid.js';
import { BINS_PER_OCTAVE, type Measure, ZERO_BIN, findBin } from '../../ingestion/bins.js';
import { LenientReader } from '../../ingestion/formats/decoders.js';
import { normalizeRoutePattern } from '../../ingestion/formats/path-pattern.js';
import { methodDecoder, readConsumer, statusCodeDecoder } from '../../ingestion/formats/request-decoders.js';
import { checkRetention, getTrafficRetention } from '../../ingestion/formats/timestamps.js';
import type { Message, MetricPoint } from '../message.js';
import { Attributes } from './attributes.js';
import type { ExportMetricsServiceRequest } from './generated/opentelemetry/proto/collector/metrics/v1/metrics_service_pb.js';
import {
  AggregationTemporality,
  type ExponentialHistogramDataPoint,
  type HistogramDataPoint,
  type Metric,
  type NumberDataPoint,
} from './generated/opentelemetry/proto/metrics/v1/metrics_pb.js';
import { type BodyContext, OriginMessages } from './origin.js';

const NANOSECONDS_IN_MS = 1_000_000n;
const MINUTE_MS = 60_000;
/** Bounds of the value of a bin, as `Int16` has them with room to spare. */
const MAX_BIN = 2_048;
/** Of the protocol of version 1 of the client libraries; they count no preflights. */
const LIBRARY_SCOPE = 'apitally';

/** What the histograms of requests measure, by the names of the semantic conventions. */
const MEASURES: ReadonlyMap<string, Measure> = new Map([
  ['http.server.request.duration', 'time'],
  ['http.server.request.body.size', 'received'],
  ['http.server.response.body.size', 'sent'],
]);
/** One unit of a duration in seconds. */
const SECONDS: Readonly<Record<string, number>> = { s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9 };

/**
 * Reads metrics: the histograms of requests become counts, gauges what the process uses. Any metrics at all say that the
 * environment is there; those of other names are passed over.
 */
export function parseMetrics(
  { resourceMetrics }: ExportMetricsServiceRequest,
  context: BodyContext,
): Message[] {
  const messages = new OriginMessages(context);
  for (const { resource, scopeMetrics } of resourceMetrics) {
    const message = messages.find(resource);
    for (const { scope, metrics } of scopeMetrics)
      for (const metric of metrics) addMetric(message, metric, scope?.name ?? '', context.now);
  }
  return messages.list();
}

function addMetric(message: Message, metric: Metric, scope: string, now: number): void {
  const measure = MEASURES.get(metric.name);
  const { data } = metric;
  if (data.case === 'gauge') addGauge(message, metric.name, data.value.dataPoints);
  if (measure === undefined) return;
  if (data.case !== 'histogram' && data.case !== 'exponentialHistogram') {
    if (data.case !== undefined) message.rejected.add(`metrics[]: ${metric.name} must be a histogram`);
    return;
  }
  const unit = measure === 'time' ? SECONDS[metric.unit || 's'] : 1;
  if (unit === undefined) {
    message.rejected.add(`metrics[].unit: ${metric.name} must be in seconds`);
    return;
  }
  const isCumulative = data.value.aggregationTemporality === AggregationTemporality.CUMULATIVE;
  for (const point of data.value.dataPoints)
    addPoint(message, { point, measure, unit, isCumulative, scope, name: metric.name, now });
}

interface Measured {
  point: HistogramDataPoint | ExponentialHistogramDataPoint;
  measure: Measure;
  unit: number;
  isCumulative: boolean;
  scope: string;
  name: string;
  now: number;
}

function addPoint(message: Message, measured: Measured): void {
  const { point, measure, unit, isCumulative, scope, name, now } = measured;
  const attributes = new Attributes(point.attributes);
  const original = attributes.findText('http.request.method_original');
  const named = attributes.findText('http.request.method', 'http.method');
  const method = methodDecoder.decode(named === '_OTHER' ? (original ?? named) : named);
  if (method === undefined) {
    message.rejected.add('data_points[].attributes: must have http.request.method');
    return;
  }
  if (scope === LIBRARY_SCOPE && method === 'OPTIONS') return;
  const timestamp = findTime(point);
  const outOfTime = checkRetention(timestamp, getTrafficRetention(now), now);
  if (outOfTime !== undefined) {
    message.rejected.add(`data_points[].time_unix_nano: ${outOfTime}`);
    return;
  }
  const reader = new LenientReader();
  const status = attributes.findNumber('http.response.status_code', 'http.status_code');
  const route = attributes.findText('http.route') ?? '';
  const identifier = attributes.findText('apitally.consumer.identifier', 'user.id', 'enduser.id') ?? '';
  const start = point.startTimeUnixNano;
  const consumer =
    identifier.trim() === '' ? null : readConsumer(identifier, 'data_points[].consumer', reader);
  const record: MetricPoint = {
    timestamp,
    env: message.env,
    consumer,
    method,
    path: route === '' ? null : normalizeRoutePattern(route),
    status_code: reader.read(status, 'data_points[].http.response.status_code', statusCodeDecoder) ?? 0,
    measure,
    count: Number(point.count),
    sum: (point.sum ?? 0) * unit,
    bins: readBins(point, unit),
    stream: isCumulative
      ? hashUuid([message.env, message.instanceUuid, scope, name, start, attributes.toKey()].join('\n'))
      : null,
    time_ns: point.timeUnixNano,
  };
  message.rejected.addMembers(reader.ignored);
  message.points.push(record);
}

/**
 * The time at which a point counts, in milliseconds since the Unix epoch: the start of what it covers, at most a minute before
 * its end. A stream that began days ago counts when it is seen.
 */
function findTime({ startTimeUnixNano, timeUnixNano }: Measured['point']): number {
  const toMs = (time: bigint) => Number(time / NANOSECONDS_IN_MS);
  return Math.max(toMs(startTimeUnixNano), toMs(timeUnixNano) - MINUTE_MS);
}

/** The bins of a histogram's buckets: of each the one of its geometric middle. */
function readBins(point: Measured['point'], unit: number): [k: number, n: number][] {
  const bins = new Map<number, number>();
  const add = (k: number, n: bigint) => {
    if (n > 0n) bins.set(k, (bins.get(k) ?? 0) + Number(n));
  };
  if ('explicitBounds' in point) {
    const { explicitBounds, bucketCounts } = point;
    for (const [index, n] of bucketCounts.entries())
      add(findBin(findMiddle(explicitBounds, index, point) * unit), n);
  } else {
    const { scale, positive, zeroCount } = point;
    add(ZERO_BIN, zeroCount);
    const perBucket = BINS_PER_OCTAVE / 2 ** scale;
    const shift = BINS_PER_OCTAVE * Math.log2(unit);
    for (const [index, n] of (positive?.bucketCounts ?? []).entries()) {
      const k = Math.round(perBucket * ((positive?.offset ?? 0) + index + 0.5) + shift);
      add(Math.min(Math.max(k, -MAX_BIN), MAX_BIN), n);
    }
  }
  return [...bins].sort(([a], [b]) => a - b);
}

/**
 * The geometric middle of a bucket with explicit bounds. The first has no lower bound but the smallest value, where that is given,
 * and the last no upper one but the largest: else it is the bound that there is.
 */
function findMiddle(bounds: readonly number[], index: number, { min, max }: HistogramDataPoint): number {
  const lower = bounds[index - 1];
  const upper = bounds[index];
  if (lower === undefined && upper === undefined) return between(min ?? 0, max ?? min ?? 0);
  if (lower === undefined || lower <= 0) {
    const top = Math.max(upper ?? 0, 0);
    return min !== undefined && min > 0 && min <= top ? between(min, top) : top / 2;
  }
  if (upper === undefined) return max !== undefined && max >= lower ? between(lower, max) : lower;
  return between(lower, upper);
}

function between(lower: number, upper: number): number {
  return lower <= 0 || upper <= 0 ? Math.max(lower, upper, 0) / 2 : Math.sqrt(lower * upper);
}

/** Processor time and memory of the process. */
function addGauge(message: Message, name: string, points: readonly NumberDataPoint[]): void {
  const { report } = message;
  const { value } = points.at(-1)?.value ?? {};
  const number = Number(value ?? NaN);
  if (!report || !Number.isFinite(number) || number < 0) return;
  if (name === 'process.cpu.utilization') report.cpu_percent = Math.min(number * 100, 1e6);
  if (name === 'process.memory.usage')
    report.memory_rss = Math.min(Math.round(number), Number.MAX_SAFE_INTEGER);
}
