import { type TestStore, createTestStore } from '../setup/app.js';
import { openMigrated } from '../setup/schema.js';
import { AdminError } from '../../src/ops/admin/admin.error.js';
import { type Admin, createAdmin } from '../../src/ops/admin/admin.js';
import type { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { demoKey } from '../../src/entry/demo/demo-key.js';

describe('demoKey', () => {
  let test: TestStore;
  let store: ClickHouse;
  let admin: Admin;

  const key = (teamId: number, given?: string) => demoKey(store, admin, teamId, given);
  const createTeamId = async () => (await admin.teams.create('Acme', 'premium')).id;
  const valid = async (teamId: number) =>
    (await admin.keys.list(teamId))
      .filter(({ revoked_at }) => revoked_at === null)
      .map(({ identifier }) => identifier)
      .sort();

  beforeAll(async () => {
    test = await createTestStore();
    store = await openMigrated(test.config);
    admin = createAdmin(store);
  });

  afterAll(async () => {
    await store.close();
    await test.remove();
  });

  it('is a new one each time, and the one before is revoked', async () => {
    const teamId = await createTeamId();
    const before = await key(teamId);
    const now = await key(teamId);
    expect(now).not.toBe(before);
    expect(await valid(teamId)).toEqual([now.slice(0, 7)]);
  });

  it('is the given one, made once', async () => {
    const teamId = await createTeamId();
    const given = `Given01.${'a'.repeat(32)}`;
    expect(await key(teamId, given)).toBe(given);
    expect(await key(teamId, given)).toBe(given);
    expect(await valid(teamId)).toEqual(['Given01']);
  });

  it('takes the place of none but its own kind', async () => {
    const teamId = await createTeamId();
    const { identifier } = await admin.keys.create(teamId, { name: 'mine' });
    await key(teamId, `Given02.${'a'.repeat(32)}`);
    await key(teamId);
    const last = await key(teamId);
    expect(await valid(teamId)).toEqual([identifier, 'Given02', last.slice(0, 7)].sort());
  });

  it('cannot be one that the store knows with another secret', async () => {
    const teamId = await createTeamId();
    await key(teamId, `Given03.${'a'.repeat(32)}`);
    await expect(key(teamId, `Given03.${'b'.repeat(32)}`)).rejects.toThrow(AdminError);
  });

  it('cannot be one that was revoked', async () => {
    const teamId = await createTeamId();
    const given = await key(teamId, `Given04.${'a'.repeat(32)}`);
    await admin.keys.revoke('Given04');
    await expect(key(teamId, given)).rejects.toThrow(AdminError);
  });

  it("cannot be another team's", async () => {
    const given = await key(await createTeamId(), `Given05.${'a'.repeat(32)}`);
    await expect(key(await createTeamId(), given)).rejects.toThrow(AdminError);
  });
});
