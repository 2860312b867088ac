import { type TestStore, createTestStore } from '../setup/app.js';
import { openMigrated } from '../setup/schema.js';
import { type Admin, createAdmin } from '../../src/ops/admin/admin.js';
import type { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { Config } from '../../src/config/config.js';
import { findBin } from '../../src/records/bins.js';
import { RequestsWriter } from '../../src/write/requests.writer.js';
import { createCapture } from '../../src/entry/demo/capture/capture.js';
import { EXCLUDED } from '../../src/entry/demo/endpoints.js';
import type { DemoRequest } from '../../src/entry/demo/demo-request.js';
import { requestsBetween } from '../../src/entry/demo/generator.js';
import { Loader, listBlocks } from '../../src/entry/demo/loader.js';
import { SeedProgress } from '../../src/entry/demo/progress-log.js';
import { seedDemo } from '../../src/entry/demo/seed.js';
import { SLOT_MS } from '../../src/entry/demo/traffic-curve.js';
import { DAY_MS } from '../../src/shared/time/units.js';

const NOW = Date.now();
/** A sample of ten weeks instead of 13 months; the seed takes its beginning from the app. */
const ORIGIN = Math.floor((NOW - 72 * DAY_MS) / DAY_MS) * DAY_MS;
const MINUTE_MS = 60_000;
/** The starts: first, right again, a little later, and after a gap. A part of the gap becomes sums. */
const FIRST = NOW - 40 * DAY_MS;
const LATER = FIRST + 100 * MINUTE_MS;

const TRAFFIC = `
SELECT toUnixTimestamp(bucket) AS slot, sum(t.n) AS requests, sum(t.bytes_received) AS bytes_received,
  sum(t.bytes_sent) AS bytes_sent
FROM counts_per_15m_v1 AS t WHERE app_id = {app_id:UInt32} AND measure = 'requests' GROUP BY slot ORDER BY slot`;
const BY_CONSUMER = `
SELECT sum(n) AS requests FROM counts_per_15m_by_consumer_v1
WHERE app_id = {app_id:UInt32} AND measure = 'requests' AND consumer_id != 0`;
const BY_STATUS = `
SELECT status_code, sum(t.n) AS requests FROM counts_per_day_v1 AS t
WHERE app_id = {app_id:UInt32} AND measure = 'requests' GROUP BY status_code ORDER BY status_code`;
const BY_TIME = `
SELECT k, sum(t.n) AS requests FROM counts_per_day_v1 AS t
WHERE app_id = {app_id:UInt32} AND measure = 'time' GROUP BY k ORDER BY k`;
const LOGGED = `
SELECT count() AS logged, uniqExact(request_uuid) AS distinct, toUnixTimestamp64Milli(max(timestamp)) AS newest
FROM request_logs_v1
WHERE app_id = {app_id:UInt32} AND timestamp >= fromUnixTimestamp64Milli({since:Int64})`;

const SPANS = `
SELECT count() AS spans, uniqExact(span_id) AS ids FROM spans_v1
WHERE app_id = {app_id:UInt32} AND start_time_ns >= {since:Int64}`;

interface Sums {
  slot: number;
  requests: number;
  bytes_received: number;
  bytes_sent: number;
}

const sample: DemoRequest[] = [...requestsBetween(ORIGIN, NOW, ORIGIN)];

/** What the traffic should be at a time, added up from the requests one by one. */
function recount(until: number): Sums[] {
  const slots = new Map<number, Sums>();
  for (const { timestamp, request_size_bytes, response_size_bytes } of sample) {
    if (timestamp > until) continue;
    const slot = (Math.floor(timestamp / SLOT_MS) * SLOT_MS) / 1000;
    const sums = slots.get(slot) ?? { slot, requests: 0, bytes_received: 0, bytes_sent: 0 };
    sums.requests += 1;
    sums.bytes_received += request_size_bytes ?? 0;
    sums.bytes_sent += response_size_bytes ?? 0;
    slots.set(slot, sums);
  }
  return [...slots.values()];
}

function countEach(keys: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

describe('seedDemo', () => {
  let test: TestStore;
  let store: ClickHouse;
  let admin: Admin;
  let teamId: number;
  let appId: number;

  const start = (now: number) => seedDemo(store, test.config, now);
  const traffic = () => store.rows<Sums>('test.traffic', TRAFFIC, { app_id: appId });
  const excluded = () =>
    store.rows<{ path: string }>('test.excluded', 'SELECT path FROM endpoints_v1 FINAL WHERE excluded');

  beforeAll(async () => {
    test = await createTestStore();
    store = await openMigrated(test.config);
    admin = createAdmin(store);
    teamId = (await admin.teams.create('Demo', 'premium', ORIGIN)).id;
    appId = (await admin.apps.create(teamId, 'Shop API', 'express', ORIGIN)).id;
  });

  afterAll(async () => {
    await store.close();
    await test.remove();
  });

  it('takes the team and the app that are there', async () => {
    expect((await start(FIRST)).appId).toBe(appId);
    expect(await admin.teams.list()).toHaveLength(1);
    expect(await admin.teams.listApps(teamId)).toHaveLength(1);
  });

  it('counts every request up to now once, whether it was written as such or in sums', async () => {
    expect(await traffic()).toEqual(recount(FIRST));
  });

  it('changes nothing at a second start at the same time', async () => {
    await start(FIRST);
    expect(await traffic()).toEqual(recount(FIRST));
  });

  it('adds what is missing at a later start', async () => {
    await start(LATER);
    expect(await traffic()).toEqual(recount(LATER));
  });

  it('fills a gap that is longer than the retention of the logs', async () => {
    await start(NOW);
    expect(await traffic()).toEqual(recount(NOW));
  });

  it('has the captured spans of its requests in Query Traces, each once', async () => {
    const since = BigInt(NOW - 3 * DAY_MS) * 1_000_000n;
    const starts = sample
      .filter(({ timestamp }) => timestamp >= NOW - 3 * DAY_MS && timestamp <= NOW)
      .map((request) => createCapture(request))
      .flatMap((text) =>
        Array.from(text.matchAll(/"start_time_ns":(\d+)/g), ([, digits]) => BigInt(digits!)),
      );
    const params = { app_id: appId, since };
    const [row] = await store.rows<{ spans: number; ids: number }>('test.spans', SPANS, params);
    expect(row).toEqual({ spans: starts.length, ids: starts.length });
    expect(starts.length).toBeGreaterThan(100);
  });

  it('counts by consumer what it counts', async () => {
    const [row] = await store.rows('test.by_consumer', BY_CONSUMER, { app_id: appId });
    expect(row).toEqual({
      requests: sample.filter(({ consumer, timestamp }) => consumer && timestamp <= NOW).length,
    });
  });

  it('keeps the status and the time of each, whether it was written as such or in sums', async () => {
    const counted = sample.filter(({ timestamp }) => timestamp <= NOW);
    const tally = (keys: number[]) => [...countEach(keys)].sort(([a], [b]) => a - b);
    const byStatus = await store.rows('test.by_status', BY_STATUS, { app_id: appId });
    expect(byStatus).toEqual(
      tally(counted.map((request) => request.status_code)).map(([status_code, requests]) => ({
        status_code,
        requests,
      })),
    );
    const byTime = await store.rows('test.by_time', BY_TIME, { app_id: appId });
    expect(byTime).toEqual(
      tally(counted.map((request) => findBin(request.response_time_ms / 1000))).map(([k, requests]) => ({
        k,
        requests,
      })),
    );
  });

  it('logs each request of the last 15 days that is not excluded from them, once, and none after now', async () => {
    const since = NOW - 15 * DAY_MS + 5 * MINUTE_MS;
    const expected = sample.filter(
      ({ timestamp, excluded_from_logs }) => !excluded_from_logs && timestamp >= since && timestamp <= NOW,
    );
    const [row] = await store.rows('test.logged', LOGGED, { app_id: appId, since });
    expect(row).toEqual({
      logged: expected.length,
      distinct: expected.length,
      newest: expected.at(-1)?.timestamp,
    });
  });

  it('adds nothing when a block of sums comes again, because its start was cut short before it was noted', async () => {
    const progress = await SeedProgress.open(store, appId, []);
    const loader = new Loader(RequestsWriter.create(store), progress, { appId, origin: ORIGIN, now: NOW });
    const [first] = listBlocks(ORIGIN, NOW);
    await loader.load(first!);
    expect(await traffic()).toEqual(recount(NOW));
  });

  it('marks one endpoint as excluded at the first start, and never again once the mark was removed', async () => {
    expect(await excluded()).toEqual([{ path: EXCLUDED.path }]);
    await admin.endpoints.setExcluded(appId, EXCLUDED.method, EXCLUDED.path, false);
    await start(NOW);
    expect(await excluded()).toEqual([]);
  });

  it('has a write token that stays as long as the key stays, else one that lasts until the next start', async () => {
    const isValid = async (token: string) =>
      (await admin.writeTokens.list(appId)).some(
        ({ identifier, revoked_at }) => token.startsWith(`apt_${identifier}`) && revoked_at === null,
      );
    const [{ writeToken: first }, { writeToken: second }] = [await start(NOW), await start(NOW)];
    expect([await isValid(first), await isValid(second)]).toEqual([false, true]);
    const config = new Config({ DATA_DIR: test.config.dataDir, DEMO_API_KEY: `Given04.${'a'.repeat(32)}` });
    const startWithKey = async () => (await seedDemo(store, config, NOW)).writeToken;
    const token = await startWithKey();
    await start(NOW);
    expect([await startWithKey(), await isValid(token)]).toEqual([token, true]);
  });

  it('does not load its sample into a store with other teams', async () => {
    await admin.teams.rename(teamId, 'Acme');
    await expect(start(NOW)).rejects.toThrow('The store has teams of its own');
    expect(await admin.teams.list()).toHaveLength(1);
  });
});
