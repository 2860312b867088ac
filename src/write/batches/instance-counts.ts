import { createCache } from '../../shared/create-cache.js';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { chunkForLookup } from '../../shared/chunk.js';
import { hashUuid } from '../../shared/hash-uuid.js';
import { type Bin, type Measure, findBin } from '../../records/bins.js';
import type { RequestIds, WithIds } from '../../records/names/name-registry.js';
import type { CountRecord, RequestRecord } from '../../records/request-record.js';
import { NIL_UUID } from '../../shared/nil-uuid.js';
import { toCountRow } from '../row-encoder.js';
import { DAY_MS, MINUTE_MS } from '../../shared/time/units.js';
import type { MetricPoint, SpanCount } from './message.js';
import { subtractBins } from './bucket-places.js';
import {
  type AssignmentRows,
  RequestAssignment,
  type Interval,
  type Requests,
} from './request-assignment.js';
import { type AccuracyRow, utcDay } from './interval-days.js';
import { Slices, type Steps } from '../../shared/async/slices.js';

type CountRow = ReturnType<typeof toCountRow>;
type CountedBy = 'spans' | 'metric' | 'older_metric';
type PendingSize = CountRow & { instance: string };

/** A count or a point of an instance, with its names resolved. */
export interface OfInstance<R> {
  instance: string;
  record: R;
  ids: RequestIds;
  /** The endpoint without the operation. */
  route_id: number;
}

/** The rows of counts, and the rows needed to count later ones. */
export interface InstanceRows extends AssignmentRows {
  request_counts: CountRow[];
  percentile_accuracy_v1: AccuracyRow[];
  counted_instances_v1: ReturnType<typeof decisionRow>[];
  pending_counts_v1: (CountRow & { instance_uuid: string; received_at: number })[];
  metric_streams_v1: StreamRow[];
  consumer_coverage_v1: CoverageRow[];
}

/** How many requests the metric of an instance counted on a day, and how many of their spans arrived. */
interface CoverageRow {
  app_id: number;
  day: string;
  instance_uuid: string;
  measured: number;
  seen: number;
}

interface StreamRow {
  app_id: number;
  stream: string;
  time_ns: string;
  count: number;
  sum: number;
  /** Bins by the place of their bucket. */
  bins: [place: number, n: number][];
}

/** The requests that a point adds: bins by k. */
interface Added {
  count: number;
  sum: number;
  bins: [k: number, n: number][];
}

/** Instances of an app whose spans are due to be counted. */
export interface DueInstances {
  readonly app_id: number;
  readonly instances: string[];
}

/** Cached decisions: those for spans never change. */
const MAX_CACHED_DECISIONS = 100_000;
const MAX_DUE = 1_000;
/** Largest number of pending rows in one batch, unless a single instance has more. */
const MAX_PENDING_ROWS = 20_000;
/**
 * Pending rows of sizes that are counted when instances send their first durations; older ones are not
 * counted.
 */
const MAX_PENDING_SIZES = 100_000;
const SIZES = ['received', 'sent'] as const;
/** How long before the start of a point its first request may have ended; intervals of deltas may adjoin. */
const FIRST_OF_DELTA_MS = 100;
const FIRST_OF_STREAM_MS = 1_000;
/** How long before their time the requests of a client library's counts may have ended. */
const SYNC_MS = 600_000;
/** Larger errors say no more. */
const MAX_ERROR = 1_000_000;

/** Columns are qualified by their table: an alias of the same name would hide them. */
const DECISIONS = `
SELECT toString(c.instance_uuid) AS instance_uuid, argMax(c.counted_by, c.decided_at) AS counted_by FROM counted_instances_v1 AS c
WHERE c.app_id = {app_id:UInt32} AND c.instance_uuid IN {instances:Array(UUID)}
GROUP BY c.instance_uuid`;
/** Rows without requests hold sizes; the other rows hold spans. */
const PENDING = (first: string) => `
SELECT ${first}app_id, toUnixTimestamp64Milli(timestamp) AS timestamp, app_env_id, endpoint_id, consumer_id, status_code, requests, bytes_received, bytes_sent, bins
FROM pending_counts_v1
WHERE app_id = {app_id:UInt32} AND instance_uuid IN {instances:Array(UUID)}`;
const PENDING_SPANS = `${PENDING('')} AND requests > 0`;
const PENDING_SIZES = `${PENDING('toString(instance_uuid) AS instance, ')} AND requests = 0 ORDER BY received_at DESC LIMIT {limit:UInt32}`;
const DUE = `
SELECT p.app_id AS app_id, toString(p.instance_uuid) AS instance_uuid, count() AS pending FROM pending_counts_v1 AS p
WHERE p.requests > 0 AND p.app_id NOT IN {without:Array(UInt32)} AND (p.app_id, p.instance_uuid) GLOBAL NOT IN (
  SELECT app_id, instance_uuid FROM counted_instances_v1
  WHERE (app_id, instance_uuid) GLOBAL IN (SELECT app_id, instance_uuid FROM pending_counts_v1)
)
GROUP BY p.app_id, p.instance_uuid
HAVING min(p.received_at) <= fromUnixTimestamp64Milli({before:Int64})
ORDER BY app_id, instance_uuid
LIMIT {limit:UInt32}`;
const STREAMS = `
SELECT toString(s.stream) AS stream, toString(max(s.time_ns)) AS time_ns, argMax(s.count, s.time_ns) AS count,
  argMax(s.sum, s.time_ns) AS sum, argMax(s.bins, s.time_ns) AS bins
FROM metric_streams_v1 AS s
WHERE s.app_id = {app_id:UInt32} AND s.stream IN {streams:Array(UUID)}
GROUP BY s.stream`;

/**
 * Counts the requests of instances that send spans, a metric, or both. Each instance is counted by one of
 * them. Decision per instance, once, and stored: the metric if one arrives within `delayMs`, because it is
 * complete, otherwise spans. Until then the counts of its spans are pending in the store, and so are its
 * sizes, which only count with the metric. Spans of an instance with a metric only say which consumers its
 * requests have.
 *
 * An instance may send the metric under its older name too, or after an update under the other one. It is
 * counted by one name, and by the other from where that begins after all that was counted.
 *
 * The caller holds the claims of the instances, so that only one writer decides at a time.
 */
export class InstanceCounts {
  private readonly bySpans = createCache<string, true>(MAX_CACHED_DECISIONS);
  private readonly assignment: RequestAssignment;

  /** @param delayMs how long an instance's spans wait for its metric */
  constructor(
    private readonly store: ClickHouse,
    private readonly delayMs: number,
  ) {
    this.assignment = new RequestAssignment(store);
  }

  /**
   * Adds the rows for new counts of spans and new points of metrics of an app.
   *
   * @param operated endpoints of the app that have operations of their own
   */
  async count(
    appId: number,
    spans: readonly OfInstance<SpanCount>[],
    points: readonly OfInstance<MetricPoint>[],
    operated: ReadonlySet<number>,
    rows: InstanceRows,
  ): Promise<void> {
    // There may be tens of thousands of both.
    const work = new Slices();
    const instances = [...new Set([...spans, ...points].map(({ instance }) => instance))];
    const counted = await work.wait(this.findDecisions(appId, instances));
    const decide = (instance: string, by: CountedBy) => {
      if (counted.has(instance)) return;
      counted.set(instance, by);
      rows.counted_instances_v1.push(decisionRow(appId, instance, by));
    };
    const times = points.filter(({ record }) => record.measure === 'time');
    const named = new Set(times.filter(({ record }) => !record.is_older).map(({ instance }) => instance));
    const started = [...new Set(times.map(({ instance }) => instance))].filter(
      (instance) => !counted.has(instance),
    );
    for (const instance of started) decide(instance, named.has(instance) ? 'metric' : 'older_metric');
    for (const instance of await this.findRenamed(appId, times, counted)) {
      const by = counted.get(instance) === 'metric' ? 'older_metric' : 'metric';
      counted.set(instance, by);
      rows.counted_instances_v1.push(decisionRow(appId, instance, by));
    }
    if (this.delayMs === 0) for (const { instance } of spans) decide(instance, 'spans');
    const received_at = Date.now();
    const add = (instance: string, row: CountRow) => {
      if (counted.has(instance)) rows.request_counts.push(row);
      // To spread the row takes forty times as long.
      else rows.pending_counts_v1.push(Object.assign(row, { instance_uuid: instance, received_at }));
    };
    const isBySpans = ({ instance }: { instance: string }) => (counted.get(instance) ?? 'spans') === 'spans';
    for (const { instance, row } of await work.run(sumUp(appId, spans.filter(isBySpans)))) add(instance, row);
    if (work.isOver) await work.giveWay();
    const measured: Requests[] = [];
    for (const row of await this.findPendingSizes(
      appId,
      started.filter((instance) => named.has(instance)),
    )) {
      const { instance, ...size } = row;
      rows.request_counts.push(size);
      measured.push(...listPendingSizes(instance, size));
    }
    const intervals: Interval[] = [];
    const byMetric = points.filter(
      ({ instance, record }) => countedBy(record) === (counted.get(instance) ?? 'metric'),
    );
    for (const row of lastPoints(appId, byMetric)) rows.metric_streams_v1.push(row);
    const counting = this.countPoints(appId, byMetric, rows, (interval, added) => {
      intervals.push(interval);
      if (!added) return;
      const { instance_uuid } = interval;
      add(instance_uuid, added.row);
      if (counted.has(instance_uuid)) measured.push(added.requests);
    });
    await work.wait(counting);
    // Only what names no consumers itself is assigned to consumers by spans.
    const naming = new Set(
      points.filter(({ record }) => record.names_consumers).map(({ instance }) => instance),
    );
    const isUnnamed = ({ instance_uuid }: { instance_uuid: string }) => !naming.has(instance_uuid);
    const seen = spans.filter(({ instance }) => counted.get(instance) !== 'spans');
    const assignable = seen.filter(
      ({ ids, route_id }) => ids.consumer_id !== 0 || ids.endpoint_id !== route_id,
    );
    const unnamed = measured.filter(isUnnamed);
    const isOpen = (of: Interval) => isUnnamed(of) || operated.has(of.endpoint_id);
    const assigning = this.assignment.assign(
      appId,
      [...measured.filter(isOpen), ...assignable.flatMap(listMeasures)],
      intervals.filter(isOpen),
      (instance) => (counted.get(instance) ?? 'spans') !== 'spans',
      rows,
    );
    await work.wait(assigning);
    if (work.isOver) await work.giveWay();
    for (const row of listActivity(appId, assignable)) rows.request_counts.push(row);
    for (const row of sumCoverage(appId, unnamed, seen)) rows.consumer_coverage_v1.push(row);
  }

  /**
   * Gives requests that client libraries counted by their route to the operations of logged ones. Log files
   * name no instance.
   *
   * @param counts of endpoints that have operations
   */
  async assignOperations(
    appId: number,
    counts: readonly WithIds<CountRecord>[],
    logged: readonly (WithIds<RequestRecord> & { route_id: number })[],
    rows: InstanceRows,
  ): Promise<void> {
    const counted = counts.flatMap((count): Requests[] => {
      const { record, ids } = count;
      const names = { ...ids, ...toInterval(count), status_code: record.status_code };
      const { timestamp, requests, bins } = record;
      const times = { measure: 'time' as const, requests, bytes: 0, bins: listBins(bins, 'time') };
      return [times, ...listSizes(record)].map((of) => ({ ...names, ...of, ...BY_CONSUMER, timestamp }));
    });
    const seen = logged.flatMap(listLoggedMeasures);
    if (counted.length + seen.length > 0)
      await this.assignment.assign(appId, [...counted, ...seen], counts.map(toInterval), () => true, rows);
  }

  /** Instances that are counted by one name of the metric, and whose points of the other begin after that. */
  private async findRenamed(
    appId: number,
    times: readonly OfInstance<MetricPoint>[],
    counted: ReadonlyMap<string, CountedBy>,
  ): Promise<string[]> {
    const starts = new Map<string, bigint>();
    for (const { instance, record } of times) {
      const by = counted.get(instance);
      if (by === 'spans' || by === countedBy(record)) continue;
      const earliest = starts.get(instance);
      if (earliest === undefined || record.starts_ns < earliest) starts.set(instance, record.starts_ns);
    }
    const last = await this.findLast(appId, [...starts.keys()].map(lastPointOf));
    return [...starts].flatMap(([instance, start]) => {
      const point = last.get(lastPointOf(instance));
      return point && BigInt(point.time_ns) <= start ? [instance] : [];
    });
  }

  /**
   * Finds sizes of instances whose first durations arrive: an OpenTelemetry Collector may split one export of
   * an SDK.
   */
  private async findPendingSizes(app_id: number, instances: readonly string[]): Promise<PendingSize[]> {
    const found: PendingSize[] = [];
    for (const some of chunkForLookup(instances)) {
      const params = { app_id, instances: some, limit: MAX_PENDING_SIZES };
      found.push(...(await this.store.rows<PendingSize>('instances.pending_sizes', PENDING_SIZES, params)));
    }
    return found;
  }

  /**
   * Instances whose pending spans are older than the delay, grouped by app and small enough for a batch.
   *
   * @param without apps that are left out
   */
  async findDue(without: readonly number[]): Promise<DueInstances[]> {
    const params = { before: Date.now() - this.delayMs, limit: MAX_DUE, without };
    const due = await this.store.rows<{ app_id: number; instance_uuid: string; pending: number }>(
      'instances.due',
      DUE,
      params,
    );
    const groups: (DueInstances & { pending: number })[] = [];
    for (const { app_id, instance_uuid, pending } of due) {
      const last = groups.at(-1);
      if (last?.app_id === app_id && last.pending + pending <= MAX_PENDING_ROWS) {
        last.instances.push(instance_uuid);
        last.pending += pending;
      } else groups.push({ app_id, instances: [instance_uuid], pending });
    }
    return groups;
  }

  /** Adds the rows that count the pending spans of those instances that are still undecided. */
  async settle({ app_id, instances }: DueInstances, rows: InstanceRows): Promise<void> {
    const counted = await this.findDecisions(app_id, instances);
    const undecided = instances.filter((instance) => !counted.has(instance));
    for (const some of chunkForLookup(undecided)) {
      const pending = await this.store.rows<CountRow>('instances.pending', PENDING_SPANS, {
        app_id,
        instances: some,
      });
      for (const row of pending) rows.request_counts.push(row);
      for (const instance of some) rows.counted_instances_v1.push(decisionRow(app_id, instance, 'spans'));
    }
  }

  private async findDecisions(appId: number, instances: readonly string[]): Promise<Map<string, CountedBy>> {
    const counted = new Map<string, CountedBy>();
    const unknown: string[] = [];
    for (const instance of instances) {
      if (this.bySpans.get(`${appId}/${instance}`)) counted.set(instance, 'spans');
      else unknown.push(instance);
    }
    for (const some of chunkForLookup(unknown)) {
      const params = { app_id: appId, instances: some };
      const found = await this.store.rows<{ instance_uuid: string; counted_by: CountedBy }>(
        'instances.decisions',
        DECISIONS,
        params,
      );
      for (const { instance_uuid, counted_by } of found) {
        counted.set(instance_uuid, counted_by);
        if (counted_by === 'spans') this.bySpans.set(`${appId}/${instance_uuid}`, true);
      }
    }
    return counted;
  }

  private async findLast(app_id: number, streams: readonly string[]): Promise<Map<string, StreamRow>> {
    const last = new Map<string, StreamRow>();
    for (const some of chunkForLookup(streams))
      for (const row of await this.store.rows<StreamRow>('metric_streams.last', STREAMS, {
        app_id,
        streams: some,
      }))
        last.set(row.stream, { ...row, app_id });
    return last;
  }

  /**
   * Counts points; a cumulative point counts by its difference from the last one of its stream.
   *
   * @param add called with the interval of each new point, and with what it adds
   */
  private async countPoints(
    appId: number,
    points: readonly OfInstance<MetricPoint>[],
    rows: InstanceRows,
    add: (interval: Interval, added?: { row: CountRow; requests: Requests }) => void,
  ): Promise<void> {
    const streams = [
      ...new Set(points.map(({ record }) => record.stream).filter((stream) => stream !== null)),
    ];
    const last = await this.findLast(appId, streams);
    const changed = new Map<string, StreamRow>();
    const accuracy: AccuracyRow[] = [];
    const sorted = points.toSorted((a, b) => Number(a.record.time_ns - b.record.time_ns));
    await new Slices().forEach(sorted, ({ instance, record, ids }) => {
      const before = record.stream === null ? undefined : last.get(record.stream);
      if (before && BigInt(before.time_ns) >= record.time_ns) return;
      const added = subtract(record, before);
      if (record.stream !== null) {
        const { stream, time_ns } = record;
        const bins = record.bins.map(({ place, n }): [number, number] => [place, n]);
        const state = { count: record.count, sum: record.sum, bins };
        const row = { app_id: appId, stream, time_ns: time_ns.toString(), ...state };
        last.set(stream, row);
        changed.set(stream, row);
      }
      const interval = {
        instance_uuid: instance,
        endpoint_id: ids.endpoint_id,
        starts_at: findStart(record, before),
        ends_at: toMilliseconds(record.time_ns),
      };
      // Later points are counted from its count (OpenTelemetry, metrics data model, unknown start time).
      if (added.count === 0 || record.starts_unknown) {
        add(interval);
        return;
      }
      const row = pointRow(appId, record, added, ids);
      add(interval, { row, requests: pointRequests(interval, record, added, ids) });
      if (record.measure === 'time') accuracy.push(accuracyRow(appId, record));
    });
    for (const row of changed.values()) rows.metric_streams_v1.push(row);
    for (const row of findWorst(accuracy)) rows.percentile_accuracy_v1.push(row);
  }
}

/**
 * The start of a point's interval in milliseconds. In Node.js it is the moment at which the first request was
 * counted, just after its span ended.
 */
function findStart({ starts_ns, stream }: MetricPoint, before: StreamRow | undefined): number {
  if (before) return toMilliseconds(BigInt(before.time_ns));
  return Math.max(0, toMilliseconds(starts_ns) - (stream === null ? FIRST_OF_DELTA_MS : FIRST_OF_STREAM_MS));
}

function toMilliseconds(epochNs: bigint): number {
  return Number(epochNs / 1_000_000n);
}

function countedBy({ is_older }: MetricPoint): CountedBy {
  return is_older ? 'older_metric' : 'metric';
}

/** The stream whose last point has the time of the last counted one of an instance. */
function lastPointOf(instance: string): string {
  return hashUuid(`${instance}\nlast point`);
}

function lastPoints(app_id: number, points: readonly OfInstance<MetricPoint>[]): StreamRow[] {
  const last = new Map<string, bigint>();
  for (const { instance, record } of points)
    if (record.measure === 'time' && record.time_ns > (last.get(instance) ?? 0n))
      last.set(instance, record.time_ns);
  return Array.from(last, ([instance, time_ns]) => ({
    app_id,
    stream: lastPointOf(instance),
    time_ns: time_ns.toString(),
    count: 0,
    sum: 0,
    bins: [],
  }));
}

function decisionRow(app_id: number, instance_uuid: string, counted_by: CountedBy) {
  return { app_id, instance_uuid, counted_by, decided_at: Date.now() };
}

/**
 * The difference between a cumulative point and the previous one; the whole point after a reset, which lowers
 * the count.
 */
function subtract(point: MetricPoint, before: StreamRow | undefined): Added {
  const { count, sum } = point;
  if (!before || count < before.count) return { count, sum, bins: fitBins(subtractBins(point, []), count) };
  const bins = fitBins(subtractBins(point, before.bins), count - before.count);
  return { count: count - before.count, sum: Math.max(0, sum - before.sum), bins };
}

/** Bins of at most `count` values, in their proportions: buckets of JavaScript's SDK may have more. */
function fitBins(bins: Added['bins'], count: number): Added['bins'] {
  const all = bins.reduce((sum, [, n]) => sum + n, 0);
  if (all <= count) return bins;
  let [seen, kept] = [0, 0];
  return bins.flatMap(([k, n]): Added['bins'] => {
    seen += n;
    const fitting = Math.round((seen / all) * count) - kept;
    kept += fitting;
    return fitting > 0 ? [[k, fitting]] : [];
  });
}

function accuracyRow(app_id: number, point: MetricPoint): AccuracyRow {
  const { timestamp, relative_error, absolute_error } = point;
  return {
    app_id,
    day: utcDay(timestamp),
    relative_error: Math.min(relative_error, MAX_ERROR),
    absolute_error_ms: Math.min(absolute_error * 1000, MAX_ERROR),
  };
}

/** The largest errors of each day. */
function findWorst(rows: readonly AccuracyRow[]): AccuracyRow[] {
  const worst = new Map<string, AccuracyRow>();
  for (const row of rows) {
    const { relative_error, absolute_error_ms } = worst.get(row.day) ?? row;
    worst.set(row.day, {
      ...row,
      relative_error: Math.max(row.relative_error, relative_error),
      absolute_error_ms: Math.max(row.absolute_error_ms, absolute_error_ms),
    });
  }
  return [...worst.values()];
}

function pointRow(appId: number, point: MetricPoint, { count, sum, bins }: Added, ids: RequestIds): CountRow {
  const { measure } = point;
  const getSum = (wanted: Measure) => (measure === wanted ? Math.round(sum) : 0);
  return toCountRow(
    appId,
    {
      ...point,
      requests: measure === 'time' ? count : 0,
      bytes_received: getSum('received'),
      bytes_sent: getSum('sent'),
      bins: bins.map(([k, n]): Bin => [measure, k, n]),
    },
    ids,
  );
}

/** What a point adds, until spans name its consumers. */
function pointRequests(
  interval: Interval,
  { measure, status_code, timestamp, names_consumers }: MetricPoint,
  { count, sum, bins }: Added,
  { app_env_id, consumer_id }: RequestIds,
): Requests {
  const bytes = measure === 'time' ? 0 : Math.round(sum);
  const names = { ...interval, app_env_id, consumer_id, status_code, operation_id: 0 };
  const source = names_consumers ? 'count_by_consumer' : 'count';
  return { ...names, measure, source, sampled: false, timestamp, requests: count, bytes, bins };
}

/** The same of pending sizes, whose interval is the minute of their counts. */
function listPendingSizes(instance_uuid: string, row: CountRow): Requests[] {
  const { timestamp, app_env_id, endpoint_id, consumer_id, status_code } = row;
  const times = { timestamp, starts_at: timestamp, ends_at: timestamp + MINUTE_MS };
  const names = { instance_uuid, app_env_id, endpoint_id, consumer_id, status_code, operation_id: 0 };
  return listSizes(row).map((of) => ({ ...names, ...times, ...of, source: 'count', sampled: false }));
}

/** The sizes of counts: how many requests have one, and their sum. */
function listSizes({
  bins,
  bytes_received,
  bytes_sent,
}: Pick<CountRecord, 'bins' | 'bytes_received' | 'bytes_sent'>) {
  return SIZES.flatMap((measure) => {
    const ofMeasure = listBins(bins, measure);
    const requests = ofMeasure.reduce((sum, [, n]) => sum + n, 0);
    const bytes = measure === 'received' ? bytes_received : bytes_sent;
    return requests === 0 ? [] : { measure, requests, bytes, bins: ofMeasure };
  });
}

function listBins(bins: readonly Bin[], measure: Measure): [k: number, n: number][] {
  return bins.flatMap(([of, k, n]): [number, number][] => (of === measure ? [[k, n]] : []));
}

const BY_CONSUMER = { source: 'count_by_consumer', operation_id: 0, sampled: false } as const;

/** The interval of the counts of a client library, which sends them each minute, or later after failures. */
function toInterval({ record: { timestamp }, ids: { endpoint_id } }: WithIds<CountRecord>): Interval {
  return { instance_uuid: NIL_UUID, endpoint_id, starts_at: timestamp - SYNC_MS, ends_at: timestamp };
}

/** The measures of a logged request with an operation. */
function listLoggedMeasures({
  record,
  ids: { app_env_id, consumer_id, endpoint_id: operation_id },
  route_id,
}: WithIds<RequestRecord> & { route_id: number }): Requests[] {
  const { timestamp, status_code, response_time_ms, request_size_bytes, response_size_bytes } = record;
  const ended_at = timestamp + (response_time_ms ?? 0);
  const names = { instance_uuid: NIL_UUID, app_env_id, consumer_id, endpoint_id: route_id, operation_id };
  const times = { starts_at: ended_at, ends_at: ended_at, timestamp };
  const rest = { ...names, ...times, status_code, source: 'span', sampled: false, requests: 1 } as const;
  const time = response_time_ms === null ? [] : [findBin(response_time_ms / 1000)];
  const sizes = [
    ['received', request_size_bytes],
    ['sent', response_size_bytes],
  ] as const;
  return [
    { ...rest, measure: 'time', bytes: 0, bins: time.map((k) => [k, 1]) },
    ...sizes.flatMap(([measure, bytes]): Requests[] =>
      bytes === null ? [] : [{ ...rest, measure, bytes, bins: [[findBin(bytes), 1]] }],
    ),
  ];
}

/** The measures of a span's requests. */
function listMeasures({
  instance: instance_uuid,
  record,
  ids,
  route_id: endpoint_id,
}: OfInstance<SpanCount>): Requests[] {
  const { app_env_id, consumer_id } = ids;
  const operation_id = ids.endpoint_id === endpoint_id ? 0 : ids.endpoint_id;
  const { status_code, requests, timestamp, ended_at, bytes_received, bytes_sent } = record;
  const names = { instance_uuid, app_env_id, endpoint_id, consumer_id, status_code };
  const times = { starts_at: ended_at, ends_at: ended_at, timestamp };
  return record.bins.map(([measure, k, n]) => {
    const bytes = { time: 0, received: bytes_received, sent: bytes_sent }[measure];
    const counts = { requests, bytes, bins: [[k, n]] satisfies Requests['bins'] };
    return { ...names, ...times, measure, ...counts, source: 'span', operation_id, sampled: requests > 1 };
  });
}

/** Rows that count nothing, and say when each consumer made its last request. */
function listActivity(appId: number, spans: readonly OfInstance<SpanCount>[]): CountRow[] {
  const last = new Map<number, OfInstance<SpanCount>>();
  for (const span of spans) {
    const { consumer_id } = span.ids;
    if (span.record.timestamp > (last.get(consumer_id)?.record.timestamp ?? -1)) last.set(consumer_id, span);
  }
  const none = { requests: 0, bytes_received: 0, bytes_sent: 0, bins: [] };
  return Array.from(last.values(), ({ record, ids }) => toCountRow(appId, { ...record, ...none }, ids));
}

function sumCoverage(
  app_id: number,
  measured: readonly Requests[],
  spans: readonly OfInstance<SpanCount>[],
): CoverageRow[] {
  const rows = new Map<string, CoverageRow>();
  const getRow = (instance_uuid: string, timestamp: number) => {
    const key = `${instance_uuid}/${Math.floor(timestamp / DAY_MS)}`;
    const row = rows.get(key) ?? { app_id, day: utcDay(timestamp), instance_uuid, measured: 0, seen: 0 };
    rows.set(key, row);
    return row;
  };
  for (const { measure, instance_uuid, timestamp, requests } of measured)
    if (measure === 'time') getRow(instance_uuid, timestamp).measured += requests;
  for (const { instance, record } of spans) getRow(instance, record.timestamp).seen++;
  return [...rows.values()];
}

/** Sums stay within the integers of a row, even if spans claim to stand for very many others. */
function add(a: number, b: number): number {
  return Math.min(a + b, Number.MAX_SAFE_INTEGER);
}

/** Sums the counts of each instance, minute, name and status to one row: no table is finer than a minute. */
function* sumUp(
  appId: number,
  counts: readonly OfInstance<SpanCount>[],
): Steps<{ instance: string; row: CountRow }[]> {
  type Sum = Omit<OfInstance<SpanCount>, 'route_id'> & { spread: Map<string, number> };
  const sums = new Map<string, Sum>();
  for (const { instance, record, ids } of counts) {
    const { app_env_id, endpoint_id, consumer_id } = ids;
    const minute = Math.floor(record.timestamp / MINUTE_MS);
    const key = [instance, minute, app_env_id, endpoint_id, consumer_id, record.status_code].join();
    let sum = sums.get(key);
    if (!sum) {
      const none = { requests: 0, bytes_received: 0, bytes_sent: 0 };
      sum = { instance, ids, record: { ...record, ...none }, spread: new Map() };
      sums.set(key, sum);
    }
    sum.record.timestamp = Math.max(sum.record.timestamp, record.timestamp);
    sum.record.requests = add(sum.record.requests, record.requests);
    sum.record.bytes_received = add(sum.record.bytes_received, record.bytes_received);
    sum.record.bytes_sent = add(sum.record.bytes_sent, record.bytes_sent);
    for (const [measure, k, n] of record.bins) {
      const bin = `${measure},${k}`;
      sum.spread.set(bin, add(sum.spread.get(bin) ?? 0, n));
    }
    yield;
  }
  return Array.from(sums.values(), ({ instance, record, ids, spread }) => {
    const bins = Array.from(spread, ([bin, n]): Bin => {
      const [measure, k] = bin.split(',') as [Measure, string];
      return [measure, Number(k), n];
    });
    return { instance, row: toCountRow(appId, { ...record, bins }, ids) };
  });
}
