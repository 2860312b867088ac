import { isDeepStrictEqual } from 'node:util';
import { LocalClock } from '../setup/local-clock.js';
import type { ConsumerBody, LogBody, PageBody, Query, TrafficBody } from '../setup/tenant.js';
import type { Random } from './random.js';
import type { Shown } from './requests.js';
import { type LogQuery, type TrafficQuery, type Truth, toWire } from './truth.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const ZONES = Intl.supportedValuesOf('timeZone');
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z$/;

/** An app as List Apps gives it. */
export interface AppBody {
  id: number;
  name: string;
  framework: string;
  client_id: string;
  created_at: string;
  envs: { id: number; name: string; created_at: string; last_sync_at: string | null }[];
}

/** How much is asked. */
export interface Effort {
  queries: number;
  details: number;
}

/** Answers that must not change while the product runs: an ID stays that of its name. */
export class Remembered {
  private readonly ids = new Map<string, number>();

  check(kind: string, ids: ReadonlyMap<string, number>): void {
    expectSame(kind, [...new Set(ids.values())].length, ids.size);
    for (const [name, id] of ids) {
      const key = `${kind} ${name}`;
      expectSame(key, id, this.ids.get(key) ?? id);
      this.ids.set(key, id);
    }
  }
}

/** Asks the API of one app everything, and compares it with the truth. */
export class AppReader {
  /** Answers that were compared, and records in them. */
  compared = 0;
  records = 0;
  private envIds = new Map<string, number>();
  private consumerIds = new Map<string, number>();

  constructor(
    private readonly url: string,
    private readonly key: string,
    private readonly appId: number,
    private readonly truth: Truth,
    private readonly random: Random,
    private readonly remembered: Remembered,
    /** When the run began, in milliseconds since the epoch. */
    private readonly since: number,
  ) {}

  async compare({ queries, details }: Effort): Promise<void> {
    await this.compareApp();
    await this.compareConsumers();
    const everything = { start: this.since - 16 * DAY, end: this.since + 2 * DAY };
    const logged = await this.compareLogs(everything);
    const again = await this.compareLogs(everything);
    expectSame('order of two walks', again.map(uuid), logged.map(uuid));
    await this.compareDetails(logged, details);
    for (let query = 0; query < queries; query += 1) {
      await this.compareEndpoints();
      await this.compareConsumersSince(this.since - this.random.integer(0, 20 * DAY));
      await this.compareLogs(this.logQuery());
      await this.compareTraffic(this.trafficQuery());
    }
  }

  private async compareApp(): Promise<void> {
    const { data } = await this.get<{ data: AppBody[] }>('/v1/apps');
    const app = data.find(({ id }) => id === this.appId)!;
    expectSame('framework', app.framework, this.truth.framework);
    const envs = [...app.envs].sort((a, b) => a.id - b.id);
    expectSame('order of environments', app.envs, envs);
    expectSame('environments', envs.map(({ name }) => name).sort(), [...this.truth.envs.keys()].sort());
    this.envIds = new Map(envs.map(({ name, id }) => [name, id]));
    this.remembered.check(`env of ${this.appId}`, this.envIds);
    for (const { name, created_at, last_sync_at } of envs) {
      const env = this.truth.envs.get(name)!;
      const isMade = env.at.has(Date.parse(created_at)) || (env.isUntimed && this.isOfRun(created_at));
      expectSame(`created_at of ${name}: ${created_at}`, isMade, true);
      const hasSync = last_sync_at !== null && this.isOfRun(last_sync_at);
      expectSame(`last_sync_at of ${name}: ${last_sync_at}`, hasSync, env.hasSync);
    }
  }

  private async compareConsumers(): Promise<void> {
    const found = await this.walk<ConsumerBody>('consumers', {});
    this.consumerIds = new Map(found.map(({ identifier, id }) => [identifier, id]));
    this.remembered.check(`consumer of ${this.appId}`, this.consumerIds);
    expectSame(
      'order of consumers',
      found,
      [...found].sort((a, b) => b.id - a.id),
    );
    const groups = found.flatMap(({ group }) => (group === null ? [] : [group]));
    this.remembered.check(`group of ${this.appId}`, new Map(groups.map(({ name, id }) => [name, id])));
    // A consumer that made no request has its creation's time, which is compared below.
    const createdAt = new Map(found.map(({ identifier, created_at }) => [identifier, created_at]));
    const expected = [...this.truth.consumers].map(([identifier, { name, group, lastRequestAt }]) => {
      const last_request_at =
        lastRequestAt === null ? createdAt.get(identifier) : new Date(lastRequestAt).toISOString();
      return { identifier, name, group, last_request_at };
    });
    expectSameSet(
      'consumers',
      found.map(({ identifier, name, group, last_request_at }) => ({
        identifier,
        name,
        group: group?.name ?? null,
        last_request_at,
      })),
      expected,
    );
    for (const { identifier, created_at } of found)
      expectSame(
        `created_at of ${identifier}: ${created_at}`,
        this.truth.consumers.get(identifier)!.at.has(Date.parse(created_at)),
        true,
      );
  }

  private async compareConsumersSince(since: number): Promise<void> {
    const found = await this.walk<ConsumerBody>('consumers', {
      requests_since: new Date(since).toISOString(),
    });
    const expected = [...this.truth.consumers].flatMap(([identifier, { lastRequestAt }]) =>
      lastRequestAt !== null && lastRequestAt >= since ? [identifier] : [],
    );
    expectSame(`consumers since ${since}`, found.map(({ identifier }) => identifier).sort(), expected.sort());
  }

  private async compareEndpoints(): Promise<void> {
    const { random } = this;
    const query = {
      ...(random.chance(0.5) && { env: random.pick([...this.truth.envs.keys()]) }),
      ...(random.chance(0.5) && { method: this.methodFilter() }),
      ...(random.chance(0.5) && { path: this.pathFilter() }),
    };
    const { env, ...rest } = query;
    const sent = { ...rest, ...(env !== undefined && { app_env_id: this.envIds.get(env)! }) };
    const { data } = await this.get<{ data: { id: number; method: string; path: string }[] }>(
      `${this.path}/endpoints`,
      sent,
    );
    this.records += data.length;
    expectSame(
      `endpoints ${JSON.stringify(query)}`,
      data.map(({ method, path }) => ({ method, path })),
      this.truth.queryEndpoints(query),
    );
    this.remembered.check(
      `endpoint of ${this.appId}`,
      new Map(data.map(({ method, path, id }) => [`${method} ${path}`, id])),
    );
  }

  private async compareLogs(query: LogQuery): Promise<LogBody[]> {
    const found = await this.walk<LogBody>('request-logs', toWire(query, this.envIds, this.consumerIds));
    const title = `request logs ${JSON.stringify(query)}`;
    expectSame(`${title}: distinct UUIDs`, new Set(found.map(uuid)).size, found.length);
    const times = found.map(({ timestamp }) => Date.parse(timestamp));
    expectSame(
      `${title}: order`,
      times,
      [...times].sort((a, b) => b - a),
    );
    const expected = this.truth.queryLogs(query);
    const given = new Set(expected.map(({ request_uuid }) => request_uuid));
    const comparable = found.map((record) =>
      given.has(record.request_uuid) ? record : { ...record, request_uuid: null },
    );
    expectSameSet(title, comparable, expected.map(toRecord));
    return found;
  }

  private async compareDetails(logged: readonly LogBody[], amount: number): Promise<void> {
    const byRecord = new Map<string, Shown[]>();
    for (const shown of this.truth.logs) {
      const key = JSON.stringify(toRecord(shown));
      byRecord.set(key, [...(byRecord.get(key) ?? []), shown]);
    }
    for (const record of this.random.some(logged, amount)) {
      const response = await this.fetch(`${this.path}/request-logs/${record.request_uuid}`);
      const text = await response.text();
      const body = JSON.parse(text) as Record<string, unknown>;
      const candidates =
        byRecord.get(JSON.stringify(record)) ??
        byRecord.get(JSON.stringify({ ...record, request_uuid: null })) ??
        [];
      const expected = candidates.map((shown) => toDetails(shown, record.request_uuid));
      const same = expected.findIndex((candidate) => isDeepStrictEqual(candidate, body));
      if (same === -1) expectSame(`details of ${record.request_uuid}`, body, expected[0]);
      // Parsed numbers have lost digits that the text has.
      for (const { start_time_ns, end_time_ns, duration_ns } of candidates[same]!.spans) {
        const times = `"start_time_ns":${start_time_ns},"end_time_ns":${end_time_ns},"duration_ns":${duration_ns},`;
        expectSame(`digits of ${record.request_uuid}`, text.includes(times), true);
      }
      this.compared += 1;
    }
    const excluded = this.truth.logs.filter(({ method, path }) => this.truth.isExcluded(method, path));
    const hidden = this.random.some(excluded, 3).flatMap(({ request_uuid }) => request_uuid ?? []);
    for (const missing of [this.random.uuid(), ...hidden])
      expectSame(missing, (await this.fetch(`${this.path}/request-logs/${missing}`)).status, 404);
  }

  private async compareTraffic(query: TrafficQuery): Promise<void> {
    const found = await this.walk<TrafficBody>('traffic', toWire(query, this.envIds, this.consumerIds));
    const { start, end, interval, timezone } = query;
    const clock = new LocalClock(timezone, start - 3 * DAY, end + 3 * DAY);
    const title = `traffic ${JSON.stringify(query)}`;
    expectSame(
      title,
      found.map(({ period_start, requests, bytes_received, bytes_sent }) => ({
        period: clock.findPeriod(Date.parse(period_start), interval),
        requests,
        bytes_received,
        bytes_sent,
      })),
      this.truth.queryTraffic(query, clock),
    );
    for (const { period_start, period_end } of found) {
      const [from, to] = [Date.parse(period_start), Date.parse(period_end)];
      const [before, first, last, after] = [from - 1, from, to - 1, to].map((at) =>
        clock.findPeriod(at, interval),
      );
      const isWhole = before !== first && first === last && last !== after;
      expectSame(`${title}: ${period_start} to ${period_end}`, isWhole, true);
    }
  }

  private logQuery(): LogQuery {
    const { random } = this;
    const start = this.since - random.integer(1, 15 * DAY - HOUR);
    const end = random.chance(0.5) ? this.since + DAY : start + random.integer(1, 5 * DAY);
    return {
      start,
      end,
      ...this.nameFilters(),
      ...(random.chance(0.3) && { method: this.methodFilter() }),
      ...(random.chance(0.3) && { path: this.pathFilter() }),
      ...(random.chance(0.3) && {
        status_code: random.some(['2xx', '4xx', '9xx', '500', '204', '401', '6xx'], 3).join(','),
      }),
    };
  }

  private trafficQuery(): TrafficQuery {
    const { random } = this;
    const interval = random.pick(['hour', 'day'] as const);
    const longest = interval === 'hour' ? 20 : 330;
    const start = this.since - random.integer(1, (random.chance(0.3) ? 330 : longest) * DAY);
    return {
      start,
      end: Math.min(start + random.integer(1, longest * DAY), this.since + 2 * DAY),
      interval,
      timezone: random.pick(ZONES),
      ...this.nameFilters(),
    };
  }

  private nameFilters() {
    const { random } = this;
    const consumers = [...this.truth.consumers.keys(), 'unknown'];
    return {
      ...(random.chance(0.3) && { env: random.pick([...this.truth.envs.keys(), 'none']) }),
      ...(random.chance(0.3) && { consumer: random.pick(consumers) }),
    };
  }

  private methodFilter(): string {
    return this.random.some(['GET', ' post', 'Put ', '', 'DELETE', 'TRACE'], 3).join(',');
  }

  private pathFilter(): string {
    const { random } = this;
    const { path } = random.pick([...this.truth.endpoints.values()]);
    const [from, to] = [random.integer(0, path.length), random.integer(0, path.length)].sort((a, b) => a - b);
    const filter = `${path.slice(0, from)}*${path.slice(to)}`;
    return random.pick([path, filter, '*', `${filter}*`, `*${filter}`, path.toUpperCase()]).toWellFormed();
  }

  private async walk<Item>(resource: string, query: Query): Promise<Item[]> {
    const items: Item[] = [];
    for (let token: Query = {}; ;) {
      const limit = this.random.chance(0.5) ? this.random.integer(1, 1_000) : this.random.integer(50, 120);
      const page = await this.get<PageBody<Item>>(`${this.path}/${resource}`, { ...query, limit, ...token });
      items.push(...page.data);
      const isWhole = page.data.length === limit || (!page.has_more && page.data.length < limit);
      expectSame(`${resource}: ${page.data.length} of ${limit}`, isWhole, true);
      expectSame(`${resource}: next_token`, page.next_token !== undefined, page.has_more);
      if (page.next_token === undefined) break;
      token = { next_token: page.next_token };
    }
    this.compared += 1;
    this.records += items.length;
    return items;
  }

  private get path(): string {
    return `/v1/apps/${this.appId}`;
  }

  private async get<Body>(path: string, query: Query = {}): Promise<Body> {
    const response = await this.fetch(path, query);
    const text = await response.text();
    expectSame(`${path} ${JSON.stringify(query)}: ${text.slice(0, 200)}`, response.status, 200);
    return JSON.parse(text) as Body;
  }

  private fetch(path: string, query: Query = {}): Promise<Response> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) search.set(name, String(value));
    return fetch(`${this.url}${path}?${search.toString()}`, { headers: { 'Api-Key': this.key } });
  }

  private isOfRun(timestamp: string): boolean {
    const at = Date.parse(timestamp);
    return ISO.test(timestamp) && this.since <= at && at <= Date.now();
  }
}

/** @throws Error that names the first difference alone: the lists may be long. */
export function expectSame(title: string, actual: unknown, expected: unknown): void {
  if (isDeepStrictEqual(actual, expected)) return;
  if (!Array.isArray(actual) || !Array.isArray(expected))
    throw new Error(`${title}: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
  const length = Math.max(actual.length, expected.length);
  for (let at = 0; at < length; at += 1)
    expectSame(
      `${title}, ${actual.length} instead of ${expected.length}, at ${at}`,
      actual[at],
      expected[at],
    );
}

function expectSameSet(title: string, actual: readonly object[], expected: readonly object[]): void {
  const texts = [actual, expected].map((items) => items.map((item) => JSON.stringify(item)).sort());
  expectSame(title, texts[0], texts[1]);
}

function uuid({ request_uuid }: LogBody): string {
  return request_uuid;
}

/** A request log record, members in the specification's order. */
function toRecord(shown: Shown): object {
  return {
    timestamp: shown.timestamp,
    request_uuid: shown.request_uuid,
    env: shown.env,
    consumer: shown.consumer,
    method: shown.method,
    path: shown.path,
    url: shown.url,
    status_code: shown.status_code,
    request_size_bytes: shown.request_size_bytes,
    response_size_bytes: shown.response_size_bytes,
    response_time_ms: shown.response_time_ms,
    client_ip: shown.client_ip,
    client_country_iso_code: shown.client_country_iso_code,
  };
}

/** Public clients need numbers and texts where a list may have null (docs/contract.md#fields-of-details). */
function toDetails(shown: Shown, request_uuid: string): object {
  const { request_size_bytes, response_size_bytes, exception } = shown;
  const spans = shown.spans.map((span) => ({
    ...span,
    start_time_ns: Number(span.start_time_ns),
    end_time_ns: Number(span.end_time_ns),
    duration_ns: Number(span.duration_ns),
  }));
  return {
    ...shown,
    request_uuid,
    request_size_bytes: request_size_bytes ?? 0,
    response_size_bytes: response_size_bytes ?? 0,
    exception: exception && { ...exception, sentry_event_id: exception.tracker_event_id },
    spans,
  };
}
