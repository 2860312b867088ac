import { createAdmin } from '../../src/ops/admin/admin.js';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { Config } from '../../src/config/config.js';
import { startServer } from '../collector/setup/server.js';
import type { ClickHouseServer } from '../setup/clickhouse-server/clickhouse-server.js';
import { ProductProcess } from '../setup/product-process.js';
import { addSchema } from '../setup/schema.js';

const PROCESSES = 5;

describe('IDs of teams and apps on a server, without Redis', () => {
  let server: ClickHouseServer;
  let env: NodeJS.ProcessEnv;

  beforeAll(async () => {
    ({ server, env } = await startServer());
    await addSchema(new Config(env));
  });
  afterAll(() => server.stop());

  const create = async (...args: string[]) => {
    const { code, out } = await ProductProcess.run(args, env);
    expect(code).toBe(0);
    return JSON.parse(out[0]!) as { id: number; name: string };
  };
  const inParallel = (getArgs: (n: number) => string[]) =>
    Promise.all(Array.from({ length: PROCESSES }, (_, n) => create(...getArgs(n))));

  it('are different when several processes create teams and apps at the same time', async () => {
    const teams = await inParallel((n) => ['team', 'create', '--name', `Team ${n}`]);
    expect(new Set(teams.map(({ id }) => id)).size).toBe(PROCESSES);
    const getTeam = (n: number) => String(teams[n]!.id);
    const apps = await inParallel((n) => ['app', 'create', '--team', getTeam(n), '--name', `App ${n}`]);
    expect(new Set(apps.map(({ id }) => id)).size).toBe(PROCESSES);

    const store = await ClickHouse.open(new Config(env));
    const admin = createAdmin(store);
    try {
      const listed = await admin.teams.list();
      expect(listed.map(({ id, name }) => ({ id, name })).sort((a, b) => a.id - b.id)).toEqual(
        teams.map(({ id, name }) => ({ id, name })).sort((a, b) => a.id - b.id),
      );
      for (const [n, { id }] of teams.entries())
        expect((await admin.teams.listApps(id)).map(({ name }) => name)).toEqual([`App ${n}`]);
    } finally {
      await store.close();
    }
  });
});
