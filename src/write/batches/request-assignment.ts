import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { chunkForLookup } from '../../shared/chunk.js';
import { Slices } from '../../shared/async/slices.js';
import type { Bin, Measure } from '../../records/bins.js';

/** Requests of an instance with the same names, status and time: of a metric, or of a span. */
export interface Requests {
  readonly instance_uuid: string;
  readonly app_env_id: number;
  /** As the metric counts it: without an operation. */
  readonly endpoint_id: number;
  readonly status_code: number;
  readonly measure: Measure;
  readonly consumer_id: number;
  /** `count`: of a metric that names no consumers. */
  readonly source: 'span' | 'count' | 'count_by_consumer';
  /** The endpoint with the operation that a span names; 0 without one. */
  readonly operation_id: number;
  /** Whether a span stands for other requests as well. */
  readonly sampled: boolean;
  /** The interval of a point, in milliseconds since the epoch; of a span twice its end. */
  readonly starts_at: number;
  readonly ends_at: number;
  /** Of the counts. */
  readonly timestamp: number;
  requests: number;
  /** Sum of the sizes; 0 for times. */
  bytes: number;
  /** How many are in which bin. */
  bins: [k: number, n: number][];
}

/** The interval of a point. */
export type Interval = Pick<Requests, 'instance_uuid' | 'endpoint_id' | 'starts_at' | 'ends_at'>;

export interface AssignmentRows {
  assigned_counts: ReturnType<typeof assignedRow>[];
  unassigned_requests_v1: ReturnType<typeof unassignedRow>[];
}

/** Requests with what was taken of them, of a row that is in the store or new. */
interface Balance {
  readonly of: Requests;
  readonly isStored: boolean;
  readonly remaining: { requests: number; bytes: number; bins: Map<number, number> };
}

/** How long spans and the points that count them wait for each other. */
const WAIT_MS = 3 * 86_400_000;
/** So that senders cannot fill many days. */
const MAX_AHEAD_MS = 86_400_000;
/** Clocks of spans and metrics differ, and a request is not counted at the moment its span ends. */
const CLOCK_ERROR_MS = 1_000;
/** Requests that a sampled span stands for were about that long before or after it. */
const SAMPLED_SPREAD_MS = 3_600_000;
/** Later than all times, in the year 2286. */
const NEVER = 10_000_000_000_000;
/** Rows of the store that are matched with one batch; the others stay without consumer. */
const MAX_ROWS = 100_000;
/** Comparisons of spans with points for one batch: a few seconds at most. Other spans stay without one. */
const MAX_COMPARISONS = 20_000_000;

const UNASSIGNED = `
SELECT toString(u.instance_uuid) AS instance_uuid, u.app_env_id, u.endpoint_id, u.status_code, u.measure, u.consumer_id, u.source,
  u.operation_id, u.sampled,
  toUnixTimestamp64Milli(u.starts_at) AS starts_at, toUnixTimestamp64Milli(u.ends_at) AS ends_at,
  toUnixTimestamp64Milli(u.timestamp) AS timestamp, sum(u.requests) AS requests, sum(u.bytes) AS bytes,
  arrayZip((sumMap(u.bins.1, u.bins.2) AS sums).1, sums.2) AS bins
FROM unassigned_requests_v1 AS u
WHERE u.app_id = {app_id:UInt32} AND u.instance_uuid IN {instances:Array(UUID)} AND u.endpoint_id IN {endpoints:Array(UInt32)}
  AND u.ends_at > fromUnixTimestamp64Milli({after:Int64})
  AND (u.source != 'span' AND u.ends_at >= fromUnixTimestamp64Milli({from:Int64}) AND u.starts_at <= fromUnixTimestamp64Milli({to:Int64})
    OR u.source = 'span' AND u.ends_at >= fromUnixTimestamp64Milli(if(u.sampled, {sampled_from:Int64}, {points_from:Int64}))
      AND u.ends_at <= fromUnixTimestamp64Milli(if(u.sampled, {sampled_to:Int64}, {points_to:Int64})))
GROUP BY ALL
HAVING requests > 0
ORDER BY ends_at
LIMIT {limit:UInt32}`;

/**
 * Gives the requests that a metric counted without consumer to the consumers of their spans, and those that
 * it counted by their route to the operations of their spans. The totals stay as the metric has them: each
 * assignment counts a request of a consumer or an operation and takes one without it back, at the same time.
 * So consumers and operations never have more than the metric counted of an endpoint with a status.
 *
 * A span belongs to the point in whose interval it ended. Both wait in the store for each other, so the order
 * in which they arrive does not matter. A span that stands for more requests than its interval has left takes
 * the rest nearby.
 *
 * The caller holds the claims of the instances.
 */
export class RequestAssignment {
  constructor(private readonly store: ClickHouse) {}

  /**
   * @param found new requests of spans with a consumer or an operation, and of points
   * @param intervals of all points, also of those without requests
   * @param isCounted whether the instance is counted by its metric; of others the spans only wait
   */
  async assign(
    app_id: number,
    found: readonly Requests[],
    intervals: readonly Interval[],
    isCounted: (instance: string) => boolean,
    rows: AssignmentRows,
  ): Promise<void> {
    const work = new Slices();
    const now = Date.now();
    const after = now - WAIT_MS;
    const isRecent = ({ ends_at }: Interval) => ends_at > after && ends_at < now + MAX_AHEAD_MS;
    const recent = found.filter(isRecent);
    const decided = recent.filter(({ instance_uuid }) => isCounted(instance_uuid));
    const recentIntervals = intervals.filter(isRecent);
    const balances: Balance[] = [];
    await work.forEach(recent, (of) => {
      balances.push(toBalance(of, false));
    });
    const stored = await work.wait(this.findStored(app_id, decided, recentIntervals, after));
    await work.forEach(stored, (of) => {
      balances.push(toBalance(of, true));
    });
    const latest = new Map<string, number>();
    for (const { instance_uuid, ends_at } of recentIntervals)
      latest.set(instance_uuid, Math.max(latest.get(instance_uuid) ?? 0, ends_at));
    let comparisons = MAX_COMPARISONS;
    const counted = balances.filter(({ of }) => isCounted(of.instance_uuid));
    for (const cell of await groupByCell(counted, work)) {
      if (work.isOver) await work.giveWay();
      const points = groupByConsumer(cell.filter(({ of }) => of.source !== 'span'));
      // Spans of one request first: their point is known.
      const seen = cell
        .filter(({ of }) => of.source === 'span')
        .sort((a, b) => Number(a.of.sampled) - Number(b.of.sampled) || a.of.ends_at - b.of.ends_at);
      await work.forEach(seen, (span) => {
        const isPast = span.of.sampled || (latest.get(span.of.instance_uuid) ?? 0) >= span.of.ends_at;
        const spread = isPast ? (span.of.sampled ? SAMPLED_SPREAD_MS : CLOCK_ERROR_MS) : 0;
        for (const open of listOpen(points, span.of)) {
          while (span.remaining.requests > 0 && comparisons > 0) {
            const { point, compared } = open.findNearest(span.of.ends_at, spread);
            comparisons -= compared;
            if (!point) break;
            rows.assigned_counts.push(...take(app_id, span, point));
            if (point.remaining.requests === 0) open.remove(point);
          }
        }
      });
    }
    await work.forEach(balances, ({ of, isStored, remaining }) => {
      const before = isStored ? of : { requests: 0, bytes: 0, bins: [] };
      if (remaining.requests === before.requests) return;
      const bins = new Map(remaining.bins);
      for (const [k, n] of before.bins) bins.set(k, (bins.get(k) ?? 0) - n);
      const requests = remaining.requests - before.requests;
      const bytes = remaining.bytes - before.bytes;
      const changed = [...bins].filter(([, n]) => n !== 0);
      rows.unassigned_requests_v1.push(unassignedRow(app_id, { ...of, requests, bytes, bins: changed }));
    });
  }

  /** What may belong to new points and spans: requests of the same instances at about their times. */
  private async findStored(
    app_id: number,
    requests: readonly Requests[],
    points: readonly Interval[],
    after: number,
  ): Promise<Requests[]> {
    const spans = requests.filter(({ source }) => source === 'span');
    const instances = [...new Set([...spans, ...points].map(({ instance_uuid }) => instance_uuid))];
    if (instances.length === 0) return [];
    const spread = spans.some(({ sampled }) => sampled) ? SAMPLED_SPREAD_MS : CLOCK_ERROR_MS;
    const ofSpans = findRange(spans, spread);
    const ofPoints = findRange(points, CLOCK_ERROR_MS);
    const endpoints = [...new Set([...requests, ...points].map(({ endpoint_id }) => endpoint_id))];
    const ofSampled = findRange(points, SAMPLED_SPREAD_MS);
    const stored: Requests[] = [];
    for (const some of chunkForLookup(instances)) {
      const found = await this.store.rows<Requests>('instances.unassigned', UNASSIGNED, {
        app_id,
        instances: some,
        endpoints,
        after,
        // A span that ended at the edge of a point may belong to the one before.
        from: Math.min(ofSpans.from, ofPoints.from),
        to: Math.max(ofSpans.to, ofPoints.to),
        points_from: ofPoints.from,
        points_to: ofPoints.to,
        sampled_from: ofSampled.from,
        sampled_to: ofSampled.to,
        limit: MAX_ROWS,
      });
      stored.push(...found);
    }
    return stored;
  }
}

function findRange(of: readonly Interval[], spread: number) {
  let [from, to] = [NEVER, 0];
  for (const { starts_at, ends_at } of of) {
    from = Math.min(from, starts_at - spread);
    to = Math.max(to, ends_at + spread);
  }
  return { from, to };
}

function toBalance(of: Requests, isStored: boolean): Balance {
  const { requests, bytes } = of;
  const bins = new Map<number, number>();
  for (const [k, n] of of.bins) bins.set(k, (bins.get(k) ?? 0) + n);
  return { of, isStored, remaining: { requests, bytes, bins } };
}

/** Groups by what a point and its spans have in common except the time. */
async function groupByCell(balances: readonly Balance[], work: Slices): Promise<Iterable<Balance[]>> {
  const cells = new Map<string, Balance[]>();
  await work.forEach(balances, (balance) => {
    const { instance_uuid, measure, app_env_id, endpoint_id, status_code } = balance.of;
    const key = [instance_uuid, measure, app_env_id, endpoint_id, status_code].join();
    const cell = cells.get(key);
    if (cell) cell.push(balance);
    else cells.set(key, [balance]);
  });
  return cells.values();
}

/** Points by consumer; null: they name none. */
function groupByConsumer(points: readonly Balance[]): Map<number | null, OpenPoints> {
  const groups = new Map<number | null, Balance[]>();
  for (const point of points) {
    const consumer = point.of.source === 'count' ? null : point.of.consumer_id;
    const group = groups.get(consumer);
    if (group) group.push(point);
    else groups.set(consumer, [point]);
  }
  return new Map(Array.from(groups, ([consumer, group]) => [consumer, new OpenPoints(group)]));
}

/** The points that a span may take from: those of its consumer only lack the operation. */
function listOpen(points: ReadonlyMap<number | null, OpenPoints>, { consumer_id, operation_id }: Requests) {
  const consumers = operation_id === 0 ? [null] : [consumer_id, null];
  return consumers.flatMap((consumer) => points.get(consumer) ?? []);
}

/** Points with requests left, by the end of their intervals. */
class OpenPoints {
  private readonly points: Balance[];
  private readonly longest: number;

  constructor(points: readonly Balance[]) {
    this.points = points
      .filter(({ remaining }) => remaining.requests > 0)
      .sort((a, b) => a.of.ends_at - b.of.ends_at || b.of.starts_at - a.of.starts_at);
    this.longest = this.points.reduce((longest, { of }) => Math.max(longest, of.ends_at - of.starts_at), 0);
  }

  /**
   * The point from which a span that ended at a time takes requests first: the shortest point in whose
   * interval it ended, else the nearest point.
   *
   * @param spread how far away the interval may be
   */
  findNearest(time: number, spread: number): { point: Balance | undefined; compared: number } {
    const from = this.countEndedBefore(time);
    const before = this.points[from - 1];
    let point: Balance | undefined;
    let least = spread;
    let shortest = Infinity;
    if (before && time - before.of.ends_at <= least) {
      point = before;
      least = time - before.of.ends_at;
      shortest = before.of.ends_at - before.of.starts_at;
    }
    let at = from;
    for (; at < this.points.length; at++) {
      const candidate = this.points[at];
      if (!candidate) break;
      const { starts_at, ends_at } = candidate.of;
      if (ends_at - this.longest + 1 - time > least) break;
      const distance = Math.max(0, starts_at + 1 - time);
      const length = ends_at - starts_at;
      if (distance > least || (distance === least && length >= shortest)) continue;
      point = candidate;
      least = distance;
      shortest = length;
    }
    return { point, compared: at - from + 1 };
  }

  remove(point: Balance): void {
    const at = this.points.indexOf(point, this.countEndedBefore(point.of.ends_at));
    this.points.splice(at, 1);
  }

  /** By binary search. */
  private countEndedBefore(time: number): number {
    let [low, high] = [0, this.points.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.points[middle]?.of.ends_at ?? Infinity) < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Takes as many requests of a point as it has and the span stands for. */
function take(app_id: number, span: Balance, point: Balance) {
  const requests = Math.min(span.remaining.requests, point.remaining.requests);
  const share = Math.round(span.remaining.bytes * (requests / span.remaining.requests));
  // The last requests of a point have what is left of its sizes.
  const isLast = requests === point.remaining.requests;
  const bytes = isLast ? point.remaining.bytes : Math.min(point.remaining.bytes, share);
  const bins = takeBins(requests, span, point);
  for (const { remaining } of [span, point]) remaining.requests -= requests;
  span.remaining.bytes = span.remaining.requests === 0 ? 0 : Math.max(0, span.remaining.bytes - bytes);
  point.remaining.bytes -= bytes;
  const taken = { ...point.of, requests, bytes, bins };
  const { consumer_id, operation_id } = span.of;
  const assigned = { ...taken, consumer_id, endpoint_id: operation_id || taken.endpoint_id };
  return [assignedRow(app_id, assigned, 1n), assignedRow(app_id, taken, -1n)];
}

/** The point's buckets are wider than the bins of spans, so each takes from the nearest one that has any. */
function takeBins(requests: number, span: Balance, point: Balance): [k: number, n: number][] {
  const taken = new Map<number, number>();
  let rest = requests;
  for (const [k, n] of span.remaining.bins) {
    let wanted = Math.min(n, rest);
    rest -= wanted;
    change(span.remaining.bins, k, -wanted);
    while (wanted > 0) {
      let nearest: number | undefined;
      for (const other of point.remaining.bins.keys())
        if (nearest === undefined || Math.abs(other - k) < Math.abs(nearest - k)) nearest = other;
      if (nearest === undefined) break;
      const some = Math.min(wanted, point.remaining.bins.get(nearest) ?? 0);
      change(point.remaining.bins, nearest, -some);
      taken.set(nearest, (taken.get(nearest) ?? 0) + some);
      wanted -= some;
    }
  }
  return [...taken];
}

function change(bins: Map<number, number>, k: number, by: number): void {
  const n = (bins.get(k) ?? 0) + by;
  if (n > 0) bins.set(k, n);
  else bins.delete(k);
}

/** A row of `request_counts`: its sums are of 64 bits without a sign, so -n is 2^64 - n. */
function assignedRow(app_id: number, taken: Requests, sign: 1n | -1n) {
  const { timestamp, app_env_id, endpoint_id, consumer_id, status_code, measure, requests, bytes, bins } =
    taken;
  const signed = (n: number) => BigInt.asUintN(64, sign * BigInt(n)).toString();
  const sum = (wanted: Measure, n: number) => signed(measure === wanted ? n : 0);
  return {
    app_id,
    timestamp,
    app_env_id,
    endpoint_id,
    consumer_id,
    status_code,
    requests: sum('time', requests),
    bytes_received: sum('received', bytes),
    bytes_sent: sum('sent', bytes),
    bins: bins.map(([k, n]): [Bin[0], Bin[1], string] => [measure, k, signed(n)]),
    assigned: true,
  };
}

function unassignedRow(app_id: number, requests: Requests) {
  return { app_id, ...requests };
}
