import { constants, setPriority } from 'node:os';
import { createAdmin } from '../../src/ops/admin/admin.js';
import { createApiKey } from '../../src/access/keys/api-key.js';
import { Config } from '../../src/config/config.js';
import type { HttpResponse } from '../setup/conforms.js';
import { dataDirectory } from '../setup/data-directory.js';
import { eventually } from '../setup/eventually.js';
import { ProductProcess } from '../setup/product-process.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';
import { RedisServer, describeWithRedisServer } from '../setup/redis.js';
import { openMigrated } from '../setup/schema.js';

const LIMIT = 100;
/** What a request may wait because of Redis (docs/contract.md#rate-limit-fallback). */
const LONGEST_WAIT_MS = 100;
const LEFT = 'Redis unavailable';
const RETURNED = 'Redis available again';

/** Keys as they are used up, one by each test. */
const keys = Array.from({ length: 12 }, createApiKey);
const nextKey = () => keys.pop()!;

const passed = (responses: readonly HttpResponse[]) => responses.filter(({ status }) => status === 200);
const call = (url: string, key: string) => sendRaw(url, '/v1/team', { headers: { 'Api-Key': key } });

/** Sends `count` requests at once with one key; the servers take turns. */
function fire(count: number, key: string, ...servers: ProductProcess[]): Promise<HttpResponse[]> {
  return Promise.all(Array.from({ length: count }, (_, n) => call(servers[n % servers.length]!.apiUrl, key)));
}

/** The value that so large a share of the values does not pass. */
function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Infinity;
}

/** The numbers of a response's `X-RateLimit-*` headers: limit, remaining, reset. */
function numbers({ headers }: HttpResponse): number[] {
  return ['limit', 'remaining', 'reset'].map((name) => Number(headers[`x-ratelimit-${name}`]));
}

/** One request behind the other until stopped; then every status that was seen, and how long each waited. */
function load(url: string, key: string) {
  const statuses = new Set<number>();
  const waitsMs: number[] = [];
  const stopped = new AbortController();
  const loop = (async () => {
    while (!stopped.signal.aborted) {
      const begun = performance.now();
      statuses.add((await call(url, key)).status);
      waitsMs.push(performance.now() - begun);
    }
  })();
  return {
    waitsMs,
    stop: async () => {
      stopped.abort();
      await loop;
      return [...statuses];
    },
  };
}

describeWithRedisServer('two servers with one Redis', () => {
  const places = [dataDirectory(), dataDirectory()] as const;
  let redis: RedisServer;
  let servers: [ProductProcess, ProductProcess];

  beforeAll(async () => {
    redis = await RedisServer.start();
    // Embedded engines cannot share a directory; what the two are prepared with is the same.
    const start = async ({ env }: (typeof places)[number]) => {
      const store = await openMigrated(new Config(env));
      const admin = createAdmin(store);
      const { id } = await admin.teams.create('Acme', 'premium');
      for (const key of keys) await admin.keys.create(id, { key });
      await store.close();
      const server = await ProductProcess.start([], { ...env, REDIS_URL: redis.url });
      // What counts its requests must not wait behind it.
      setPriority(server.pid, constants.priority.PRIORITY_BELOW_NORMAL);
      return server;
    };
    servers = [await start(places[0]), await start(places[1])];
  });

  afterAll(async () => {
    closeConnections();
    await Promise.all(servers.map((server) => server.stop()));
    await redis.stop();
    for (const place of places) place.remove();
  });

  it('let exactly 100 of 1,000 requests pass that are sent at once', async () => {
    const responses = await fire(1_000, nextKey(), ...servers);
    const [good, refused] = [passed(responses), responses.filter(({ status }) => status === 429)];
    expect([good.length, refused.length]).toEqual([LIMIT, 900]);
    const remaining = good.map((response) => numbers(response)[1]!).sort((a, b) => a - b);
    expect(remaining).toEqual(Array.from({ length: LIMIT }, (_, n) => n));
    expect(new Set(responses.map((response) => numbers(response)[0]))).toEqual(new Set([LIMIT]));
    expect(new Set(responses.map((response) => numbers(response)[2])).size).toBe(1);
    expect(new Set(refused.map((response) => numbers(response)[1]))).toEqual(new Set([0]));
    for (const { headers } of refused) expect(headers['retry-after']).toMatch(/^([1-9]|[1-5]\d|60)$/);
    for (const { headers } of good) expect(headers).not.toHaveProperty('retry-after');
  });

  it.each<[string, () => unknown, () => unknown]>([
    [
      'freezes',
      () => {
        redis.freeze();
      },
      () => {
        redis.thaw();
      },
    ],
    ['is killed and started again', () => redis.kill(), () => redis.launch()],
  ])('fail no request when Redis %s under load; each counts by itself meanwhile', async (_, begin, end) => {
    const returns = () => servers.map(({ out }) => out.filter((line) => line.includes(RETURNED)).length);
    const before = returns();
    const loads = servers.map(({ apiUrl }) => load(apiUrl, nextKey()));
    await eventually(() => loads.every(({ waitsMs }) => waitsMs.length > 50));
    await begin();
    const answered = loads.map(({ waitsMs }) => waitsMs.length);
    await eventually(() => loads.every(({ waitsMs }, at) => waitsMs.length > answered[at]! + 50));
    const [usualMs, waitsMs] = [
      loads.flatMap((load, at) => load.waitsMs.slice(0, answered[at])),
      loads.flatMap((load, at) => load.waitsMs.slice(answered[at])),
    ];
    const alone = nextKey();
    const meanwhile = await Promise.all(servers.map((server) => fire(150, alone, server)));
    await end();
    await eventually(() => returns().every((times, at) => times > before[at]!), 15_000);
    const together = await fire(200, nextKey(), ...servers);
    const statuses = await Promise.all(loads.map(({ stop }) => stop()));
    expect([200, 429]).toEqual(expect.arrayContaining(statuses.flat()));
    expect(meanwhile.map((responses) => passed(responses).length)).toEqual([LIMIT, LIMIT]);
    expect(passed(together)).toHaveLength(LIMIT);
    // One request of each server may have found out; those behind it must not wait.
    expect(percentile(waitsMs, 0.9) - percentile(usualMs, 0.9)).toBeLessThan(LONGEST_WAIT_MS);
  });

  it('say once that they left Redis, and once that they returned', () => {
    for (const { out } of servers) {
      const said = [LEFT, RETURNED].map((text) => out.filter((line) => line.includes(text)).length);
      expect(said[0]).toBeGreaterThan(0);
      expect(said[0]).toBe(said[1]);
    }
  });
});
