import type { Steps } from '../../shared/async/slices.js';
import { hashUuid } from '../../shared/hash-uuid.js';
import type { Measure } from '../../records/bins.js';
import { LenientReader } from '../../records/decoding/decoders.js';
import { statusCodeDecoder } from '../decoding/request-decoders.js';
import { type Retention, checkRetention, getTrafficRetention } from '../../records/decoding/timestamps.js';
import type { Message, MetricPoint } from '../../write/batches/message.js';
import { MINUTE_MS } from '../../shared/time/units.js';
import { Attributes, findConsumer, findMethod, findStatusCode, toPath } from './attributes.js';
import { toMilliseconds } from './encoding.js';
import type { InstrumentationScope } from './generated/opentelemetry/proto/common/v1/common_pb.js';
import {
  AggregationTemporality,
  DataPointFlags,
  type Metric,
  type NumberDataPoint,
} from './generated/opentelemetry/proto/metrics/v1/metrics_pb.js';
import { type HistogramPoint, findFault, readBuckets } from './histogram-points.js';
import type { Parts } from './items.js';
import { type BodyContext, readMessages } from './origin.js';
import type { RecordHashes } from './record-hashes.js';

/** Scope of version 1 of the client libraries; they do not count preflight requests. */
const LIBRARY_SCOPE = 'apitally';

/** The histograms of requests, by their names in the semantic conventions, and in those before 1.23. */
const MEASURES: ReadonlyMap<string, { measure: Measure; isOlder: boolean }> = new Map([
  ['http.server.request.duration', { measure: 'time', isOlder: false }],
  ['http.server.request.body.size', { measure: 'received', isOlder: false }],
  ['http.server.response.body.size', { measure: 'sent', isOlder: false }],
  ['http.server.duration', { measure: 'time', isOlder: true }],
  ['http.server.request.size', { measure: 'received', isOlder: true }],
  ['http.server.response.size', { measure: 'sent', isOlder: true }],
]);
/** The scopes of Python's instrumentations, whose older metrics have the route as the target. */
const PYTHON = 'opentelemetry.instrumentation.';
/** One unit of a duration in seconds; Micrometer writes words. */
const SECONDS: ReadonlyMap<string, number> = new Map([
  ['s', 1],
  ['seconds', 1],
  ['ms', 1e-3],
  ['milliseconds', 1e-3],
  ['us', 1e-6],
  ['microseconds', 1e-6],
  ['ns', 1e-9],
  ['nanoseconds', 1e-9],
]);

/**
 * Parses metrics: histograms of requests become counts, gauges the resources of the process. Other metrics
 * only update the time of the last synchronization.
 */
export function parseMetrics(parts: Parts<Metric>, context: BodyContext): Steps<Message[]> {
  const { now } = context;
  // Computed once for all points: subtracting the months for each point took half of the time of parsing.
  const retention = getTrafficRetention(now);
  let [scope, scopeKey] = ['', ''];
  return readMessages(parts, context, (message, part, hashes) => {
    if (part.kind === 'scope') {
      scope = part.scope?.name ?? '';
      scopeKey = toScopeKey(part.scope, part.schemaUrl);
    } else if (part.kind === 'item')
      addMetric(message, part.item, { scope, scopeKey, hashes, now, retention });
  });
}

/** The source of metrics, and their time. */
interface Source {
  scope: string;
  /** Identifies the scope among those of the process. */
  scopeKey: string;
  hashes: RecordHashes;
  now: number;
  retention: Retention;
}

function addMetric(message: Message, metric: Metric, source: Source): void {
  const kind = MEASURES.get(metric.name);
  const { data } = metric;
  if (data.case === 'gauge') addGauge(message, metric.name, data.value.dataPoints);
  if (kind === undefined) return;
  const { measure, isOlder } = kind;
  if (data.case !== 'histogram' && data.case !== 'exponentialHistogram') {
    const points = data.value?.dataPoints.length ?? 0;
    if (points > 0) message.rejected.add(`metrics[]: ${metric.name} must be a histogram`, points);
    return;
  }
  const unit = measure === 'time' ? SECONDS.get(metric.unit || (isOlder ? 'ms' : 's')) : 1;
  const { dataPoints } = data.value;
  if (unit === undefined) {
    if (dataPoints.length > 0)
      message.rejected.add(`metrics[].unit: ${metric.name} must be a unit of time`, dataPoints.length);
    return;
  }
  const isCumulative = data.value.aggregationTemporality === AggregationTemporality.CUMULATIVE;
  for (const point of dataPoints)
    addPoint(message, source, { point, measure, isOlder, unit, isCumulative, name: metric.name });
}

interface Measured {
  point: HistogramPoint;
  measure: Measure;
  isOlder: boolean;
  unit: number;
  isCumulative: boolean;
  name: string;
}

function addPoint(message: Message, source: Source, measured: Measured): void {
  const { scope, scopeKey, hashes, now, retention } = source;
  const { point, measure, isOlder, unit, isCumulative, name } = measured;
  if (!hasValue(point)) return;
  const fault = findFault(point);
  if (fault !== undefined) {
    message.rejected.add(`data_points[].${fault}`);
    return;
  }
  const attributes = new Attributes(point.attributes);
  const method = findMethod(attributes);
  if (method === undefined) {
    message.rejected.add('data_points[].attributes: must have http.request.method');
    return;
  }
  if (scope === LIBRARY_SCOPE && method === 'OPTIONS') return;
  const timestamp = findTime(point);
  const outOfTime = checkRetention(timestamp, retention, now);
  if (outOfTime !== undefined) {
    message.rejected.add(`data_points[].time_unix_nano: ${outOfTime}`);
    return;
  }
  const reader = new LenientReader();
  // No response was sent: Python's SDK has no `error.type` either for a handler that raised.
  const status = findStatusCode(attributes, true);
  const start = point.startTimeUnixNano;
  const key = attributes.toKey();
  const origin = [message.env, message.instanceUuid, scopeKey, name];
  const consumer = findConsumer(attributes, 'data_points[].consumer', reader);
  const record: MetricPoint = {
    timestamp,
    env: message.env,
    consumer,
    method,
    path: toPath(findRoute(attributes, scope, isOlder), scope),
    status_code: reader.read(status, 'data_points[].http.response.status_code', statusCodeDecoder) ?? 0,
    measure,
    count: Number(point.count),
    sum: readSum(point, unit),
    ...readBuckets(point, unit, isCumulative),
    stream: isCumulative ? hashUuid([...origin, start, key].join('\n')) : null,
    names_consumers: scope === LIBRARY_SCOPE || consumer !== null,
    starts_ns: start,
    is_older: isOlder,
    starts_unknown: isCumulative && start === point.timeUnixNano,
    time_ns: point.timeUnixNano,
    record_hash: isCumulative ? null : hashes.next([...origin, key, ...listParts(point)]),
  };
  message.rejected.addMembers(reader.ignored);
  message.points.push(record);
}

function findRoute(attributes: Attributes, scope: string, isOlder: boolean): string {
  const older = isOlder && scope.startsWith(PYTHON) ? ['http.target'] : [];
  return attributes.findText('http.route', ...older) ?? '';
}

/** All that a point says of its values. */
function listParts(point: HistogramPoint): unknown[] {
  const { startTimeUnixNano, timeUnixNano, count, sum, min, max } = point;
  const common = [startTimeUnixNano, timeUnixNano, count, sum, min, max];
  if ('explicitBounds' in point) return [...common, point.explicitBounds, point.bucketCounts];
  const { scale, zeroCount, zeroThreshold, positive } = point;
  return [...common, scale, zeroCount, zeroThreshold, positive?.offset, positive?.bucketCounts];
}

/** All members identify a scope. If it has only a name, the key is the name, as in stored streams. */
function toScopeKey(scope: InstrumentationScope | undefined, schemaUrl: string): string {
  const { name = '', version = '', attributes = [] } = scope ?? {};
  if (version === '' && attributes.length === 0 && schemaUrl === '') return name;
  return JSON.stringify([name, version, new Attributes(attributes).toKey(), schemaUrl]);
}

/** Whether a point has a value. A point without a value says that its stream pauses or has ended. */
function hasValue({ flags }: { flags: number }): boolean {
  return (flags & DataPointFlags.NO_RECORDED_VALUE_MASK) === 0;
}

/**
 * The time of a point's counts in milliseconds since the Unix epoch: the start of its interval, at most a
 * minute before the end. A cumulative stream may have begun days ago.
 */
function findTime({ startTimeUnixNano, timeUnixNano }: HistogramPoint): number {
  return Math.max(toMilliseconds(startTimeUnixNano), toMilliseconds(timeUnixNano) - MINUTE_MS);
}

/** The sum of the values, in seconds or bytes; 0 if it is absent or invalid. */
function readSum({ sum = 0 }: HistogramPoint, unit: number): number {
  return sum > 0 ? Math.min(sum * unit, Number.MAX_SAFE_INTEGER) : 0;
}

/** Adds the CPU time or memory of the process. */
function addGauge(message: Message, name: string, points: readonly NumberDataPoint[]): void {
  const { report } = message;
  const { value } = points.findLast(hasValue)?.value ?? {};
  const number = Number(value ?? NaN);
  if (!report || !Number.isFinite(number) || number < 0) return;
  if (name === 'process.cpu.utilization') report.cpu_percent = Math.min(number * 100, 1e6);
  if (name === 'process.memory.usage')
    report.memory_rss = Math.min(Math.round(number), Number.MAX_SAFE_INTEGER);
}
