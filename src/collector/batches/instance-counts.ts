import { LRUCache } from 'lru-cache';
import type { ClickHouse } from '../../clickhouse/clickhouse.client.js';
import { chunkForLookup } from '../../common/chunk.js';
import type { Bin, Measure } from '../../ingestion/bins.js';
import { dateTime64 } from '../../ingestion/names/id-generator.js';
import type { RequestIds } from '../../ingestion/names/name-registry.js';
import { toCountRow } from '../../ingestion/row-encoder.js';
import type { MetricPoint, SpanCount } from '../message.js';

type CountRow = ReturnType<typeof toCountRow>;
type CountedBy = 'spans' | 'metric';

/** A count or a point of an instance, its names resolved. */
export interface OfInstance<R> {
  instance: string;
  record: R;
  ids: RequestIds;
}

/** Rows that say what is counted, and what is remembered for the next time. */
export interface InstanceRows {
  request_counts: CountRow[];
  counted_instances_v1: object[];
  pending_counts_v1: (CountRow & { instance_uuid: string; received_at: string })[];
  metric_streams_v1: StreamRow[];
}

interface StreamRow {
  app_id: number;
  stream: string;
  time_ns: string;
  count: number;
  sum: number;
  bins: [k: number, n: number][];
}

interface Instance {
  app_id: number;
  instance_uuid: string;
}

/** Decisions that are remembered: they never change. */
const REMEMBERED = 100_000;
const MAX_SETTLED = 1_000;

/** Columns are named with their table: an alias of the same name would stand for them. */
const DECISIONS = `
SELECT toString(c.instance_uuid) AS instance_uuid, any(c.counted_by) AS counted_by FROM counted_instances_v1 AS c
WHERE c.app_id = {app_id:UInt32} AND c.instance_uuid IN {instances:Array(UUID)}
GROUP BY c.instance_uuid`;
/** Of each instance the time since which it has waited. */
const WAITING = `
SELECT toString(p.instance_uuid) AS instance_uuid, toUnixTimestamp64Milli(min(p.received_at)) AS since
FROM pending_counts_v1 AS p
WHERE p.app_id = {app_id:UInt32} AND p.instance_uuid IN {instances:Array(UUID)}
GROUP BY p.instance_uuid`;
const PENDING = `
SELECT app_id, timestamp, app_env_id, endpoint_id, consumer_id, status_code, requests, bytes_received, bytes_sent, bins
FROM pending_counts_v1
WHERE app_id = {app_id:UInt32} AND instance_uuid IN {instances:Array(UUID)}`;
const DUE = `
SELECT p.app_id AS app_id, toString(p.instance_uuid) AS instance_uuid FROM pending_counts_v1 AS p
WHERE (p.app_id, p.instance_uuid) GLOBAL NOT IN (
  SELECT app_id, instance_uuid FROM counted_instances_v1
  WHERE (app_id, instance_uuid) GLOBAL IN (SELECT app_id, instance_uuid FROM pending_counts_v1)
)
GROUP BY p.app_id, p.instance_uuid
HAVING min(p.received_at) <= fromUnixTimestamp64Milli({before:Int64})
LIMIT {limit:UInt32}`;
const STREAMS = `
SELECT toString(s.stream) AS stream, toString(max(s.time_ns)) AS time_ns, argMax(s.count, s.time_ns) AS count,
  argMax(s.sum, s.time_ns) AS sum, argMax(s.bins, s.time_ns) AS bins
FROM metric_streams_v1 AS s
WHERE s.app_id = {app_id:UInt32} AND s.stream IN {streams:Array(UUID)}
GROUP BY s.stream`;

/**
 * Counts the requests of instances that tell of them by spans, by a metric, or by both. Of each instance one is counted, which is
 * decided once and kept: the metric, which is complete, as soon as it is there; spans where none came within the delay. Until
 * then its spans wait in the store.
 *
 * Whoever calls holds the claims of the instances, so that one writer at a time decides.
 */
export class InstanceCounts {
  private readonly decided = new LRUCache<string, CountedBy>({ max: REMEMBERED });

  /** @param delayMs how long an instance's spans wait for its metric */
  constructor(
    private readonly store: ClickHouse,
    private readonly delayMs: number,
  ) {}

  /** The rows of an app that follow from counts of spans and points of metrics that are new. */
  async count(
    appId: number,
    spans: readonly OfInstance<SpanCount>[],
    points: readonly OfInstance<MetricPoint>[],
  ): Promise<InstanceRows> {
    const rows = emptyRows();
    const instances = [...new Set([...spans, ...points].map(({ instance }) => instance))];
    if (instances.length === 0) return rows;
    const counted = await this.findDecisions(appId, instances);
    const decide = (instance: string, by: CountedBy) => {
      counted.set(instance, by);
      rows.counted_instances_v1.push(decisionRow(appId, instance, by));
    };
    for (const { instance, record } of points)
      if (record.measure === 'time' && !counted.has(instance)) decide(instance, 'metric');
    const undecided = new Set(spans.map(({ instance }) => instance).filter((one) => !counted.has(one)));
    for (const instance of await this.findDue(appId, [...undecided])) decide(instance, 'spans');
    const due = [...undecided].filter((instance) => counted.get(instance) === 'spans');
    rows.request_counts.push(...(await this.readPending(appId, due)));
    const of = (by: CountedBy | undefined) => spans.filter(({ instance }) => counted.get(instance) === by);
    rows.request_counts.push(...sumUp(appId, of('spans')).map(({ row }) => row));
    const received_at = dateTime64(Date.now());
    for (const { instance, row } of sumUp(appId, of(undefined)))
      rows.pending_counts_v1.push({ ...row, instance_uuid: instance, received_at });
    const byMetric = points.filter(({ instance }) => counted.get(instance) === 'metric');
    await this.countPoints(appId, byMetric, rows);
    return rows;
  }

  /** Instances whose spans have waited long enough, of all apps. */
  findAllDue(): Promise<Instance[]> {
    const params = { before: Date.now() - this.delayMs, limit: MAX_SETTLED };
    return this.store.rows<Instance>('instances.due', DUE, params);
  }

  /** The rows that count what instances of an app have waiting, as far as they are not decided yet. */
  async settle(appId: number, instances: readonly string[]): Promise<InstanceRows> {
    const rows = emptyRows();
    const counted = await this.findDecisions(appId, instances);
    const due = instances.filter((instance) => !counted.has(instance));
    rows.counted_instances_v1.push(...due.map((instance) => decisionRow(appId, instance, 'spans')));
    rows.request_counts.push(...(await this.readPending(appId, due)));
    return rows;
  }

  private async findDecisions(appId: number, instances: readonly string[]): Promise<Map<string, CountedBy>> {
    const counted = new Map<string, CountedBy>();
    const unknown: string[] = [];
    for (const instance of instances) {
      const known = this.decided.get(`${appId}/${instance}`);
      if (known) counted.set(instance, known);
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
        this.decided.set(`${appId}/${instance_uuid}`, counted_by);
      }
    }
    return counted;
  }

  /** Those of undecided instances whose spans have waited long enough. */
  private async findDue(appId: number, undecided: readonly string[]): Promise<string[]> {
    if (this.delayMs === 0) return [...undecided];
    const due: string[] = [];
    for (const instances of chunkForLookup(undecided)) {
      const waiting = await this.store.rows<{ instance_uuid: string; since: number | string }>(
        'instances.waiting',
        WAITING,
        { app_id: appId, instances },
      );
      const before = Date.now() - this.delayMs;
      due.push(...waiting.filter(({ since }) => Number(since) <= before).map((one) => one.instance_uuid));
    }
    return due;
  }

  private async readPending(appId: number, due: readonly string[]): Promise<CountRow[]> {
    const pending: CountRow[] = [];
    for (const instances of chunkForLookup(due))
      pending.push(
        ...(await this.store.rows<CountRow>('instances.pending', PENDING, { app_id: appId, instances })),
      );
    return pending;
  }

  /** Counts points; those of a cumulative stream by what they have more than the one before. */
  private async countPoints(
    appId: number,
    points: readonly OfInstance<MetricPoint>[],
    rows: InstanceRows,
  ): Promise<void> {
    const streams = [...new Set(points.map(({ record }) => record.stream).filter((one) => one !== null))];
    const last = new Map<string, StreamRow>();
    for (const some of chunkForLookup(streams))
      for (const row of await this.store.rows<StreamRow>('metric_streams.last', STREAMS, {
        app_id: appId,
        streams: some,
      }))
        last.set(row.stream, { ...row, app_id: appId, bins: row.bins });
    const changed = new Set<string>();
    for (const { record, ids } of points.toSorted((a, b) => Number(a.record.time_ns - b.record.time_ns))) {
      const before = record.stream === null ? undefined : last.get(record.stream);
      if (before && BigInt(before.time_ns) >= record.time_ns) continue;
      const { count, sum, bins } = before ? subtract(record, before) : record;
      if (record.stream !== null) {
        const { stream, time_ns } = record;
        const row = { count: record.count, sum: record.sum, bins: record.bins };
        last.set(stream, { app_id: appId, stream, time_ns: time_ns.toString(), ...row });
        changed.add(stream);
      }
      if (count > 0) rows.request_counts.push(pointRow(appId, { ...record, count, sum, bins }, ids));
    }
    rows.metric_streams_v1.push(...[...last.values()].filter(({ stream }) => changed.has(stream)));
  }
}

export function emptyRows(): InstanceRows {
  return { request_counts: [], counted_instances_v1: [], pending_counts_v1: [], metric_streams_v1: [] };
}

function decisionRow(app_id: number, instance_uuid: string, counted_by: CountedBy) {
  return { app_id, instance_uuid, counted_by, decided_at: dateTime64(Date.now()) };
}

/** What a cumulative point has more than the one before it; all of it after a reset, which makes it less. */
function subtract(point: MetricPoint, before: StreamRow): Pick<MetricPoint, 'count' | 'sum' | 'bins'> {
  if (point.count < before.count) return point;
  const known = new Map(before.bins);
  const bins = point.bins
    .map(([k, n]): [number, number] => [k, n - (known.get(k) ?? 0)])
    .filter(([, n]) => n > 0);
  return { count: point.count - before.count, sum: Math.max(0, point.sum - before.sum), bins };
}

function pointRow(appId: number, point: MetricPoint, ids: RequestIds): CountRow {
  const { measure, count, sum } = point;
  const sumOf = (one: Measure) => (measure === one ? Math.round(sum) : 0);
  return toCountRow(
    appId,
    {
      ...point,
      requests: measure === 'time' ? count : 0,
      bytes_received: sumOf('received'),
      bytes_sent: sumOf('sent'),
      bins: point.bins.map(([k, n]): Bin => [measure, k, n]),
    },
    ids,
  );
}

const MINUTE_MS = 60_000;

/** The counts of each instance, minute, name and status as one row: no table is finer than a minute. */
function sumUp(
  appId: number,
  counts: readonly OfInstance<SpanCount>[],
): { instance: string; row: CountRow }[] {
  const sums = new Map<string, OfInstance<SpanCount> & { spread: Map<string, number> }>();
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
    sum.record.requests += record.requests;
    sum.record.bytes_received += record.bytes_received;
    sum.record.bytes_sent += record.bytes_sent;
    for (const [measure, k, n] of record.bins) {
      const bin = `${measure},${k}`;
      sum.spread.set(bin, (sum.spread.get(bin) ?? 0) + n);
    }
  }
  return Array.from(sums.values(), ({ instance, record, ids, spread }) => {
    const bins = Array.from(spread, ([bin, n]): Bin => {
      const [measure, k] = bin.split(',') as [Measure, string];
      return [measure, Number(k), n];
    });
    return { instance, row: toCountRow(appId, { ...record, bins }, ids) };
  });
}
