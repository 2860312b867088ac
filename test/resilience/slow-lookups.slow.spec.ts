import { setTimeout as pause } from 'node:timers/promises';
import { Config } from '../../src/config/config.js';
import { TestCollector } from '../collector/setup/collector.js';
import { buildSync } from '../collector/setup/messages.js';
import { OutageHarness } from './outage-harness.js';

const CACHE_TTL_MS = 1_000;
/** Longer than the TTL: what the store says is too old to be kept when it arrives. */
const LATE_MS = 1_500;

describe('a store that is slow to respond a lookup', () => {
  let harness: OutageHarness;
  let collector: TestCollector;
  let syncPath: string;

  beforeAll(async () => {
    harness = await OutageHarness.start({ CACHE_TTL_MS: String(CACHE_TTL_MS), QUERY_TIMEOUT_SECONDS: '10' });
    collector = await TestCollector.start(harness.app.store, harness.app.app.get(Config));
    const team = await harness.app.team();
    const { client_id } = await harness.app.admin.apps.create(team.teamId, 'Shop', 'express');
    syncPath = `/v2/${client_id}/prod/sync`;
  });

  afterEach(() => harness.store.heal());

  afterAll(async () => {
    await collector.stop();
    await harness.stop();
  });

  const read = async () => {
    const { status } = await harness.call(harness.operations.find(({ name }) => name === 'endpoints')!);
    expect(status).toBe(200);
  };
  const send = async () => {
    const { status } = await collector.post(syncPath, JSON.stringify(buildSync()));
    expect(status).toBe(202);
  };

  it.each([
    ['api_keys.find', read],
    ['apps.find_scope', read],
    ['client_apps.find', send],
  ])('returns nothing of %s that is older than CACHE_TTL_MS', async (query, call) => {
    const lookups = async () => (await harness.store.queries()).filter(({ name }) => name === query).length;
    // Whatever an earlier test left in the cache has expired.
    await pause(CACHE_TTL_MS + 1);
    const before = await lookups();
    await harness.store.fail({ kind: 'late', ms: LATE_MS }, { on: query, times: 1 });
    await call();
    expect(await lookups()).toBe(before + 1);
    await call();
    expect(await lookups()).toBe(before + 2);
  });
});
