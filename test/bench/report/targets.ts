import type { ImportGrowth } from '../sections/import-growth.js';
import type { Operation } from '../sections/operations.js';
import { figure } from './markdown.js';
import type { Results } from './results.js';

export interface Target {
  name: string;
  /** The bound, as text. */
  target: string;
  measured: string;
  /** Undefined when it was not measured. */
  met: boolean | undefined;
}

const FILTERS = [
  'consumer-rare',
  'consumer-middling',
  'consumer-absent',
  'status-5xx',
  'path-rare',
  'env',
  'page-excluded',
];
const PAGES_GROWTH = ['page-100', 'page-deep'];

/**
 * The targets, met or not. They are set for 30 million rows: with fewer, the verdict says no more than the
 * figure.
 */
export function checkTargets(results: Results): Target[] {
  const { operations } = results;
  const by = (id: string) => operations.find((operation) => operation.id === id);
  return [
    atMost('p50 of a page of 100 over HTTP / floor', 1.25, toFloor(by('page-100'))),
    atMost('p50 of a page of 1,000 over HTTP / floor', 1.15, toFloor(by('page-1000'))),
    atLeast('queries/s at 8 at once / floor at 8 (page of 100)', 0.9, eightAtOnce(results)),
    ...PAGES_GROWTH.map((id) => atMost(`growth: ${by(id)?.title ?? id}`, 1.5, growth(by(id)))),
    atMost('growth: details', 1.5, growth(by('details'))),
    atMost(
      'growth: traffic in UTC days, the worst',
      1.2,
      worst(operations, /^traffic-(30d|13m)-utc$/, growth),
    ),
    atMost('fast query’s p95 beside a slow one / alone', 3, besideRatio(results)),
    atMost('first page of the hot app, 15 days, p50 ms', 6.5, by('page-100')?.stats.http?.p50),
    atMost('every filter case, the worst p50 ms', 100, worstFilter(operations)),
    atMost('metrics of 24 h by hour, p50 over HTTP / floor', 1.35, toFloor(by('metrics-24h'))),
    atMost('metrics of 13 months by day, UTC, p50 ms', 100, by('metrics-13m')?.stats.http?.p50),
    atMost('metrics of 13 months by day, Kolkata, p50 ms', 1_500, by('metrics-13m-kolkata')?.stats.http?.p50),
    atMost('dashboard: first chart after load, first visit, ms', 300, afterLoad(results)),
    atMost('alerts: 1,000 rules, seconds of a core each minute', 6, results.alerts?.processorSeconds),
    ...againstPostgres(results),
    ...importTargets(results),
    ...(['own', 'foreign'] as const).map((identities) => {
      const largest = results.importGrowth
        .filter((measurement) => measurement.identities === identities)
        .at(-1);
      const ratio = importGrowthRatio(results.importGrowth, largest);
      return atMost(`import with ${identities} UUIDs beside most known requests / fewest`, 1.15, ratio);
    }),
    atLeast(
      'OTLP, spans/s until their rows are encoded',
      40_000,
      results.collector?.otlp?.parsed_spans_per_second,
    ),
    atLeast(
      'OTLP, requests/s of one core',
      15_000,
      results.collector?.otlp?.stored_requests_alone_per_second,
    ),
  ];
}

function atMost(name: string, bound: number, value: number | undefined): Target {
  return verdict(name, `≤ ${bound}`, value, (measured) => measured <= bound);
}

function atLeast(name: string, bound: number, value: number | undefined): Target {
  return verdict(name, `≥ ${bound}`, value, (measured) => measured >= bound);
}

function verdict(
  name: string,
  target: string,
  value: number | undefined,
  holds: (value: number) => boolean,
): Target {
  const isMeasured = value !== undefined && !Number.isNaN(value);
  return { name, target, measured: figure(value), met: isMeasured ? holds(value) : undefined };
}

function ratio(over: number | undefined, under: number | undefined): number | undefined {
  return over === undefined || under === undefined ? undefined : over / under;
}

/** Over HTTP, to the engine through the client alone. */
export function toFloor(operation: Operation | undefined): number | undefined {
  return ratio(operation?.stats.http?.p50, operation?.stats.floor?.p50);
}

/** This data set to the small one. */
export function growth(operation: Operation | undefined): number | undefined {
  return ratio(operation?.besideSmall.http?.p50, operation?.besideSmall.small?.p50);
}

/** How many times as long another database takes, client to client, without HTTP on either side. */
export function peerRatio(operation: Operation | undefined, peer: 'postgres' | 'duckdb'): number | undefined {
  return ratio(operation?.besidePeers[peer]?.p50, operation?.besidePeers.floor?.p50);
}

function eightAtOnce({ atOnce }: Results): number | undefined {
  const eight = atOnce.find(({ id, concurrency }) => id === 'page-100' && concurrency === 8);
  return ratio(eight?.httpPerSecond, eight?.floorPerSecond);
}

function afterLoad({ dashboard }: Results): number | undefined {
  return dashboard && dashboard.first.chart - dashboard.first.loaded;
}

function besideRatio({ beside }: Results): number | undefined {
  return ratio(beside?.besideP95, beside?.aloneP95);
}

function worst(
  operations: readonly Operation[],
  ids: RegExp,
  measure: (operation: Operation) => number | undefined,
): number | undefined {
  const values = operations.filter(({ id }) => ids.test(id)).flatMap((operation) => measure(operation) ?? []);
  return values.length === 0 ? undefined : Math.max(...values);
}

function worstFilter(operations: readonly Operation[]): number | undefined {
  const ids = new RegExp(`^(${FILTERS.join('|')})$`);
  return worst(operations, ids, ({ stats }) => stats.http?.p50);
}

function againstPostgres(results: Results): Target[] {
  if (results.peers.length === 0) return [];
  const ratios = (ids: RegExp) =>
    results.operations
      .filter(({ id }) => ids.test(id))
      .map((operation) => ({ title: operation.title, times: peerRatio(operation, 'postgres') }));
  const each = [
    ...ratios(new RegExp(`^(${FILTERS.join('|')})$`)),
    ...ratios(/^traffic-13m-(utc|ny|kolkata)$/),
  ];
  return [
    ...each.map(({ title, times }) => atLeast(`PostgreSQL / floor: ${title}`, 3, times)),
    atLeast('PostgreSQL / ours: bytes per request', 3, bytesRatio(results)),
  ];
}

/** Of request logs and details together, indexes included. */
export function bytesRatio({ tables, peerBytes }: Results): number | undefined {
  const ours = tables
    .filter(({ table }) => /^request_(logs|details)_v/.test(table))
    .reduce((sum, { bytes }) => sum + bytes, 0);
  const theirs = (peerBytes?.request_logs?.postgres ?? NaN) + (peerBytes?.request_captures?.postgres ?? NaN);
  return ratio(theirs, ours);
}

/** The import that another one is compared to: with the same kind of UUIDs, first in the run. */
export function findFewestKnown(all: readonly ImportGrowth[], { identities }: ImportGrowth) {
  return all.find((other) => other.identities === identities);
}

/** An import's processor time to that beside the fewest known requests. */
export function importGrowthRatio(all: readonly ImportGrowth[], measurement: ImportGrowth | undefined) {
  return (
    measurement &&
    ratio(measurement.processorMicroseconds, findFewestKnown(all, measurement)?.processorMicroseconds)
  );
}

function importTargets({ imports }: Results): Target[] {
  const [quarter, whole] = imports;
  return [
    atMost('import, peak memory in MB', 1000, whole?.peakMb),
    atMost(
      'import, peak memory / that of a quarter of the file',
      1.15,
      ratio(whole?.peakMb, quarter?.peakMb),
    ),
  ];
}
