import { LocalClock } from '../setup/local-clock.js';
import type { Query } from '../setup/tenant.js';
import type { Consumer, Entry, Line, Made, Shown } from './requests.js';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const LOGS_KEPT_MS = 15 * DAY;

/** What is counted in traffic. */
interface Counted {
  timestamp: number;
  env: string;
  consumer: string | null;
  /** Method and path. */
  endpoint: string | null;
  requests: number;
  bytes_received: number;
  bytes_sent: number;
}

/** What an import must say at its end. */
export interface Summary {
  read: number;
  imported: number;
  duplicates: number;
  rejected: number;
  logged: number;
}

/** When a name was met: any of these may be when it was made, for batches are not known here. */
interface Met {
  at: Set<number>;
  /** Met in a message without a time of its own: made when that arrived. */
  isUntimed?: boolean;
}

export interface TrafficRecord {
  /** The period in words of a clock on the wall, not comparable with others. */
  period: string;
  requests: number;
  bytes_received: number;
  bytes_sent: number;
}

/**
 * What one app must look like after all that was sent and imported, kept in plain maps and asked one item
 * after the other. Nothing of the product is in it.
 */
export class Truth {
  framework = 'express';
  readonly endpoints = new Map<string, { method: string; path: string; envs: Set<string> }>();
  readonly excluded = new Set<string>();
  readonly envs = new Map<string, Met & { hasSync: boolean }>();
  readonly consumers = new Map<
    string,
    Met & { name: string; group: string | null; lastRequestAt: number | null }
  >();
  readonly logs: Shown[] = [];
  readonly counted: Counted[] = [];
  private readonly knownIds = new Set<string>();

  constructor(private readonly now: number) {}

  startup(env: string, endpoints: readonly { method: string; path: string }[], framework: string): void {
    this.meetEnv(env).isUntimed = true;
    for (const { method, path } of endpoints) this.meetEndpoint(method, path);
    this.framework = framework;
  }

  import(lines: readonly Line[], source: string): Summary {
    const summary = { read: lines.length, imported: 0, duplicates: 0, rejected: 0, logged: 0 };
    const occurrences = new Map<string, number>();
    for (const { text, made } of lines) {
      if (made === null) {
        summary.rejected += 1;
        continue;
      }
      let identity = made.shown.request_uuid;
      if (identity === null) {
        const key = `${made.shown.env}\n${source}\n${text}`;
        const before = occurrences.get(key) ?? 0;
        occurrences.set(key, before + 1);
        identity = `${key}\n${before}`;
      }
      if (this.knownIds.has(identity)) {
        summary.duplicates += 1;
        continue;
      }
      this.knownIds.add(identity);
      summary.imported += 1;
      const shown = this.meet(made);
      this.count({
        timestamp: Date.parse(shown.timestamp),
        env: shown.env,
        consumer: shown.consumer,
        endpoint: shown.path === null ? null : `${shown.method} ${shown.path}`,
        requests: 1,
        bytes_received: shown.request_size_bytes ?? 0,
        bytes_sent: shown.response_size_bytes ?? 0,
      });
      if (made.isExcluded || this.isTooOldForLogs(shown)) continue;
      summary.logged += 1;
      this.logs.push(shown);
    }
    return summary;
  }

  /** An item of a log file: detail of a request that a `sync` counts. */
  logItem(made: Made): void {
    const { request_uuid } = made.shown;
    if (made.isExcluded || request_uuid === null || this.knownIds.has(request_uuid)) return;
    this.knownIds.add(request_uuid);
    this.logs.push(this.meet(made));
  }

  sync(timestamp: number, env: string, entries: readonly Entry[], consumers: readonly Consumer[]): void {
    this.meetEnv(env, timestamp).hasSync = true;
    for (const consumer of consumers) this.meetConsumer(consumer, timestamp);
    for (const { count } of entries) {
      if (count === null || count.requests === 0) continue;
      const { consumer, method, path, requests, bytes_received, bytes_sent } = count;
      if (consumer) this.meetConsumer(consumer, timestamp);
      if (path !== null) this.meetEndpoint(method, path);
      const endpoint = path === null ? null : `${method} ${path}`;
      const identifier = consumer?.identifier ?? null;
      this.count({ timestamp, env, consumer: identifier, endpoint, requests, bytes_received, bytes_sent });
    }
  }

  /** The logs that a query of Get Request Logs asks for, newest first; ties in any order. */
  queryLogs(query: LogQuery): Shown[] {
    const { start, end } = query;
    return this.logs
      .filter((shown) => {
        const at = Date.parse(shown.timestamp);
        return (
          start <= at &&
          at < end &&
          !this.isExcluded(shown.method, shown.path) &&
          (query.env === undefined || shown.env === query.env) &&
          (query.consumer === undefined || shown.consumer === query.consumer) &&
          matchesMethod(shown.method, query.method) &&
          (!query.path || (shown.path !== null && matchesPath(shown.path, query.path))) &&
          matchesStatus(shown.status_code, query.status_code)
        );
      })
      .sort((a, b) => Date.parse(b.timestamp) - Date.parse(a.timestamp));
  }

  /**
   * The periods with requests, oldest first: those that begin before the end, from that of the start on, each
   * whole.
   */
  queryTraffic(query: TrafficQuery, clock: LocalClock): TrafficRecord[] {
    const { start, end, interval } = query;
    const [first, last] = [clock.findPeriod(start, interval), clock.findPeriod(end - 1, interval)];
    const sums = new Map<string, TrafficRecord>();
    // No zone's clock has changed within a quarter-hour in the 13 months that are kept.
    const periods = new Map<number, string>();
    for (const request of [...this.counted].sort((a, b) => a.timestamp - b.timestamp)) {
      if (request.timestamp < start - 2 * DAY || request.timestamp > end + 2 * DAY) continue;
      if (query.env !== undefined && request.env !== query.env) continue;
      if (query.consumer !== undefined && request.consumer !== query.consumer) continue;
      if (request.endpoint !== null && this.excluded.has(request.endpoint)) continue;
      const quarter = Math.floor(request.timestamp / (15 * MINUTE));
      const period = periods.get(quarter) ?? clock.findPeriod(request.timestamp, interval);
      periods.set(quarter, period);
      const isWithin = start <= request.timestamp && request.timestamp < end;
      if (!isWithin && period !== first && period !== last) continue;
      const sum = sums.get(period) ?? { period, requests: 0, bytes_received: 0, bytes_sent: 0 };
      sum.requests += request.requests;
      sum.bytes_received += request.bytes_received;
      sum.bytes_sent += request.bytes_sent;
      sums.set(period, sum);
    }
    return [...sums.values()];
  }

  queryEndpoints({ env, method, path }: { env?: string; method?: string; path?: string }) {
    return [...this.endpoints.values()]
      .filter(
        (endpoint) =>
          (env === undefined || endpoint.envs.has(env)) &&
          matchesMethod(endpoint.method, method) &&
          (path === undefined || matchesPath(endpoint.path, path)),
      )
      .map((endpoint) => ({ method: endpoint.method, path: endpoint.path }))
      .sort((a, b) => compareCodePoints(a.path, b.path) || compareCodePoints(a.method, b.method));
  }

  isExcluded(method: string, path: string | null): boolean {
    return path !== null && this.excluded.has(`${method} ${path}`);
  }

  /**
   * Meets the names of a request; one that the application refused has an endpoint only where that is there
   * already.
   */
  private meet({ shown, consumer, isProbe }: Made): Shown {
    const at = Date.parse(shown.timestamp);
    this.meetEnv(shown.env, at);
    if (consumer) this.meetConsumer(consumer, at);
    if (shown.path === null) return shown;
    if (isProbe && !this.endpoints.has(`${shown.method} ${shown.path}`)) return { ...shown, path: null };
    this.meetEndpoint(shown.method, shown.path);
    return shown;
  }

  private meetEnv(name: string, at?: number) {
    const env: Met & { hasSync: boolean } = this.envs.get(name) ?? { at: new Set(), hasSync: false };
    this.envs.set(name, env);
    if (at !== undefined) env.at.add(at);
    return env;
  }

  private meetEndpoint(method: string, path: string): void {
    const key = `${method} ${path}`;
    if (!this.endpoints.has(key)) this.endpoints.set(key, { method, path, envs: new Set() });
  }

  private meetConsumer({ identifier, name, group }: Consumer, at: number): void {
    const consumer = this.consumers.get(identifier) ?? {
      at: new Set(),
      name: identifier,
      group: null,
      lastRequestAt: null,
    };
    this.consumers.set(identifier, consumer);
    consumer.at.add(at);
    consumer.name = name ?? consumer.name;
    consumer.group = group ?? consumer.group;
  }

  private count(counted: Counted): void {
    this.counted.push(counted);
    this.meetEnv(counted.env, counted.timestamp).hasSync = true;
    if (counted.endpoint !== null) this.endpoints.get(counted.endpoint)?.envs.add(counted.env);
    const consumer = counted.consumer === null ? undefined : this.consumers.get(counted.consumer);
    if (consumer) consumer.lastRequestAt = Math.max(consumer.lastRequestAt ?? -Infinity, counted.timestamp);
  }

  private isTooOldForLogs({ timestamp }: Shown): boolean {
    return Date.parse(timestamp) < this.now - LOGS_KEPT_MS;
  }
}

/** A query in the names of things, as the truth knows them. */
export interface LogQuery {
  start: number;
  end: number;
  env?: string;
  consumer?: string;
  method?: string;
  path?: string;
  status_code?: string;
}

export interface TrafficQuery {
  start: number;
  end: number;
  interval: 'hour' | 'day';
  timezone: string;
  env?: string;
  consumer?: string;
}

/** The same query as a client sends it. */
export function toWire(
  { start, end, env, consumer, ...rest }: LogQuery | TrafficQuery,
  envIds: ReadonlyMap<string, number>,
  consumerIds: ReadonlyMap<string, number>,
): Query {
  return {
    ...rest,
    start: new Date(start).toISOString(),
    end: new Date(end).toISOString(),
    // An ID that nothing has finds nothing.
    ...(env !== undefined && { app_env_id: envIds.get(env) ?? 999_999 }),
    ...(consumer !== undefined && { consumer_id: consumerIds.get(consumer) ?? 999_999 }),
  };
}

function matchesMethod(method: string, filter = ''): boolean {
  const methods = filter
    .split(',')
    .map((item) => item.trim().toUpperCase())
    .filter((item) => item !== '');
  return methods.length === 0 || methods.includes(method);
}

function matchesStatus(status: number, filter?: string): boolean {
  if (filter === undefined) return true;
  return filter
    .split(',')
    .some((item) =>
      item.endsWith('xx') ? Number(item[0]) === Math.floor(status / 100) : item === String(status),
    );
}

/** Whether a path is what a filter with `*` for any characters describes, found by trying. */
function matchesPath(path: string, filter: string): boolean {
  if (filter === '') return true;
  const [first = '', ...rest] = filter.split('*');
  if (rest.length === 0) return path === filter;
  const last = rest.pop() ?? '';
  if (!path.startsWith(first) || path.length < first.length + last.length || !path.endsWith(last))
    return false;
  let at = first.length;
  for (const piece of rest) {
    const found = path.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return at <= path.length - last.length;
}

function compareCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
