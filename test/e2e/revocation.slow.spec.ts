import { setTimeout as pause } from 'node:timers/promises';
import { type Admin, createAdmin } from '../../src/ops/admin/admin.js';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { Config } from '../../src/config/config.js';
import { startServer } from '../collector/setup/server.js';
import type { ClickHouseServer } from '../setup/clickhouse-server/clickhouse-server.js';
import { detail } from '../setup/contract.js';
import { prepare } from '../setup/data-directory.js';
import { ProductProcess } from '../setup/product-process.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';
import { type RedisAddress, describeWithRedis, openRedis } from '../setup/redis.js';
import { describeEmbedded } from '../setup/store.js';

/** From when a change is acknowledged until every instance goes by it (docs/contract.md#key-revocation). */
const WITHIN_MS = 10_000;
/** How often each instance is asked: the key is in every cache all the time. */
const EVERY_MS = 100;
/** For so long after the change has taken effect, it is to stay. */
const AFTER_MS = 1_000;
/** Longer than a command takes on a busy machine, and then the ten seconds. */
const WATCHED_MS = 40_000;

const DENIED = `401 ${detail('Invalid API key')}`;
const NOT_PREMIUM = `403 ${detail('API access requires the Premium plan')}`;
const NOT_ALLOWED = `403 ${detail('This API key does not allow getTeam')}`;
const UNAVAILABLE = `503 ${detail('Service temporarily unavailable')}`;

/** What an instance said to a key, and when. */
interface Said {
  at: number;
  answer: string;
}

const runs = process.env.CLICKHOUSE_URL ? describeEmbedded : describeWithRedis;

runs('two instances with warm caches, on one store and one Redis', () => {
  let server: ClickHouseServer;
  let redis: RedisAddress;
  let env: NodeJS.ProcessEnv;
  let store: ClickHouse;
  let admin: Admin;
  let instances: ProductProcess[];

  beforeAll(async () => {
    redis = await openRedis();
    const started = await startServer();
    server = started.server;
    env = { ...started.env, REDIS_URL: redis.url };
    await prepare(env);
    store = await ClickHouse.open(new Config(env));
    admin = createAdmin(store);
    const serving = {
      ...env,
      COLLECTOR: 'off',
      RATE_LIMIT_PER_MINUTE: '1000000',
      AUTH_FAILURES_PER_MINUTE: '1000000',
    };
    instances = await Promise.all([ProductProcess.start([], serving), ProductProcess.start([], serving)]);
  });

  afterAll(async () => {
    closeConnections();
    for (const instance of instances) expect(await instance.stop()).toBe(0);
    await store.close();
    await server.stop();
    await redis.stop();
  });

  /** Asks an instance again and again, until it has said `last` for a second. */
  async function watch({ apiUrl }: ProductProcess, key: string, last: string): Promise<Said[]> {
    const all: Said[] = [];
    const deadline = performance.now() + WATCHED_MS;
    for (let since = Infinity; performance.now() < Math.min(deadline, since + AFTER_MS);) {
      const { status, text } = await sendRaw(apiUrl, '/v1/team', { headers: { 'Api-Key': key } });
      const at = performance.now();
      all.push({ at, answer: status === 200 ? '200' : `${status} ${text}` });
      if (all.at(-1)?.answer === last) since = Math.min(since, at);
      await pause(EVERY_MS);
    }
    return all;
  }

  /**
   * Asks all instances with the key throughout, makes a change, and holds that each takes it up within ten
   * seconds and for good, having served the key until then.
   */
  async function expectEffect(key: string, last: string, change: () => Promise<number>) {
    const watching = instances.map((instance) => watch(instance, key, last));
    await pause(5 * EVERY_MS);
    const changedAt = await change();
    for (const said of await Promise.all(watching)) {
      const first = said.findIndex(({ answer }) => answer === last);
      expect(new Set(said.slice(0, first).map(({ answer }) => answer))).toEqual(new Set(['200']));
      expect(new Set(said.slice(first).map(({ answer }) => answer))).toEqual(new Set([last]));
      expect(said[first]!.at - changedAt).toBeLessThan(WITHIN_MS);
      expect(said.filter(({ at }) => at < changedAt).length).toBeGreaterThan(0);
    }
  }

  it('refuse a key within ten seconds of its revocation or of its scopes, a team of the end of its plan, and for good', async () => {
    const [team, other] = [
      await admin.teams.create('Acme', 'premium'),
      await admin.teams.create('Other', 'premium'),
    ];
    const { key, identifier } = await admin.keys.create(team.id);
    const revoked = expectEffect(key, DENIED, async () => {
      expect(await ProductProcess.run(['key', 'revoke', identifier], env)).toMatchObject({ code: 0 });
      return performance.now();
    });
    const narrowed = await admin.keys.create(team.id);
    const scoped = expectEffect(narrowed.key, NOT_ALLOWED, async () => {
      const args = ['key', 'set-scopes', narrowed.identifier, '--operations', 'listApps'];
      expect(await ProductProcess.run(args, env)).toMatchObject({ code: 0 });
      return performance.now();
    });
    const unpaid = expectEffect((await admin.keys.create(other.id)).key, NOT_PREMIUM, async () => {
      await store.insert('teams_v1', [JSON.stringify({ ...other, plan: 'free' })]);
      return performance.now();
    });
    await Promise.all([revoked, scoped, unpaid]);
  });

  it('reject a key at the moment it expires, also if it is cached', async () => {
    const { id } = await admin.teams.create('Acme', 'premium');
    const expiresAt = Date.now() + 2_000;
    const { key } = await admin.keys.create(id, { expiresAt });
    const watching = instances.map((instance) => watch(instance, key, DENIED));
    const clock = performance.timeOrigin;
    for (const said of await Promise.all(watching)) {
      const served = said.filter(({ answer }) => answer === '200');
      const refused = said.filter(({ answer }) => answer === DENIED);
      expect([served.length + refused.length, served.length > 5]).toEqual([said.length, true]);
      expect(Math.min(...refused.map(({ at }) => at + clock))).toBeGreaterThan(expiresAt - 100);
      expect(Math.max(...served.map(({ at }) => at + clock))).toBeLessThan(expiresAt + 1_000);
    }
  });

  it('do not go on serving a revoked key because the store has gone away since', async () => {
    const { id } = await admin.teams.create('Acme', 'premium');
    const { key, identifier } = await admin.keys.create(id);
    await expectEffect(key, UNAVAILABLE, async () => {
      await admin.keys.revoke(identifier);
      await server.refuse();
      return performance.now();
    });
    await server.accept();
  });
});
