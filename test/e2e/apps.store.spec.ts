import { APPS_PER_READ } from '../../src/api/apps/apps.repository.js';
import { TestApp } from '../setup/app.js';
import { holdClock, releaseClock } from '../setup/clock.js';
import { Tenant } from '../setup/tenant.js';

const UTC_MILLISECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const DAY = 86_400_000;

describe('GET /v1/apps', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await TestApp.start();
  });

  afterEach(releaseClock);
  afterAll(() => app.stop());

  const list = async (key: string) => {
    const response = await app.get('/v1/apps', key);
    expect(response.status).toBe(200);
    return response;
  };

  describe('200', () => {
    it("has the app's and the environment's members in the specification's order, and nothing beside `data`", async () => {
      const tenant = await Tenant.create(app);
      await tenant.write({ env: 'prod' });
      const { text, body } = await list(tenant.key);
      const [{ client_id, created_at, envs }] = body.data;
      const [env] = envs;
      expect(text).toBe(
        `{"data":[{"id":${tenant.appId},"name":"Shop","framework":"express","client_id":"${client_id}",` +
          `"envs":[{"id":${env.id},"name":"prod","created_at":"${env.created_at}",` +
          `"last_sync_at":"${env.last_sync_at}"}],"created_at":"${created_at}"}]}`,
      );
      expect(client_id).toMatch(/^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/);
      for (const time of [created_at, env.created_at, env.last_sync_at])
        expect(time).toMatch(UTC_MILLISECONDS);
    });

    it('has no apps for a team that has none', async () => {
      const { key } = await app.team();
      expect((await list(key)).text).toBe('{"data":[]}');
    });

    it('has an app without environments before its first data', async () => {
      const tenant = await Tenant.create(app);
      expect((await list(tenant.key)).body.data[0].envs).toEqual([]);
    });

    it('lists all of more apps than one read of the store, with their environments', async () => {
      const tenant = await Tenant.create(app);
      const total = 2 * APPS_PER_READ;
      await app.store.command(`
        INSERT INTO apps_v1 (id, team_id, name, framework, client_id, created_at)
        SELECT 1000000 + number, ${tenant.teamId}, 'Many', 'express', generateUUIDv4(), now() FROM numbers(${total - 1})`);
      await app.store.command(`
        INSERT INTO app_envs_v1 (app_id, id, name, created_at)
        SELECT 1000000 + number, 1000000 + number, 'prod', now() FROM numbers(${total - 1})`);
      const apps = (await list(tenant.key)).body.data as { id: number; envs: { id: number }[] }[];
      expect(apps.map(({ id }) => id)).toEqual([
        tenant.appId,
        ...Array.from({ length: total - 1 }, (_, index) => 1_000_000 + index),
      ]);
      for (const { id, envs } of apps.slice(1)) expect(envs.map((env) => env.id)).toEqual([id]);
    });

    it('lists all apps of the team, by ID, ascending, and none of another team', async () => {
      const tenant = await Tenant.create(app);
      const other = await Tenant.create(app);
      const third = await tenant.sibling();
      const fourth = await tenant.sibling();
      const ids = (await list(tenant.key)).body.data.map(({ id }: { id: number }) => id);
      expect(ids).toEqual([tenant.appId, third.appId, fourth.appId]);
      expect(ids).not.toContain(other.appId);
      expect(ids).toEqual([...ids].sort((a, b) => a - b));
    });

    it('gives each app its own environments, by ID, ascending', async () => {
      const tenant = await Tenant.create(app);
      const sibling = await tenant.sibling();
      await tenant.write({ env: 'staging' });
      await sibling.write({ env: 'prod' });
      await tenant.write({ env: 'prod' }, { env: 'dev' }, { env: 'staging' });
      const [first, second] = (await list(tenant.key)).body.data;
      expect(first.envs.map(({ name }: { name: string }) => name)).toEqual(['staging', 'prod', 'dev']);
      expect(second.envs.map(({ name }: { name: string }) => name)).toEqual(['prod']);
      const ids = [...first.envs, ...second.envs].map(({ id }: { id: number }) => id);
      expect(new Set(ids).size).toBe(4);
      expect(first.envs[0].id).toBeLessThan(first.envs[1].id);
      expect(first.envs[1].id).toBeLessThan(first.envs[2].id);
    });

    it('returns the last arrival of data as `last_sync_at`, with data of any age', async () => {
      const tenant = await Tenant.create(app);
      const synced = async () => Date.parse((await list(tenant.key)).body.data[0].envs[0].last_sync_at);
      const before = Date.now();
      await tenant.write({ timestamp: before - 10 * DAY });
      const first = await synced();
      expect(first).toBeGreaterThanOrEqual(before);
      expect(first).toBeLessThanOrEqual(Date.now());
      const between = Date.now();
      await tenant.write({ timestamp: before - 200 * DAY });
      expect(await synced()).toBeGreaterThanOrEqual(between);
    });

    it('has null as `last_sync_at` of an environment that has not synced', async () => {
      const tenant = await Tenant.create(app);
      const row = { app_id: tenant.appId, id: 1_000_001, name: 'new', created_at: '2026-01-02 03:04:05.678' };
      await app.store.insert('app_envs_v1', [JSON.stringify(row)]);
      expect((await list(tenant.key)).text).toContain(
        '"envs":[{"id":1000001,"name":"new","created_at":"2026-01-02T03:04:05.678Z","last_sync_at":null}]',
      );
    });

    it('has the moment of creation as `created_at`, to the millisecond', async () => {
      const now = holdClock();
      const tenant = await Tenant.create(app);
      expect((await list(tenant.key)).body.data[0].created_at).toBe(new Date(now).toISOString());
    });

    it('has no pages: it ignores `limit` and `next_token`', async () => {
      const tenant = await Tenant.create(app);
      await tenant.sibling();
      const response = await app.get('/v1/apps', tenant.key, { limit: 1, next_token: 'x' });
      expect(Object.keys(response.body)).toEqual(['data']);
      expect(response.body.data).toHaveLength(2);
    });
  });
});
