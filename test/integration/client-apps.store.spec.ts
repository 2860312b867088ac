import { createAdmin } from '../../src/ops/admin/admin.js';
import { StoreMonitor } from '../../src/store/health/store-monitor.js';
import { type ClientApp, ClientApps } from '../../src/access/tokens/client-apps.js';
import { Config } from '../../src/config/config.js';
import { type OpenStore, createApp, openStore } from '../setup/store.js';

describe('ClientApps', () => {
  let open: OpenStore;

  beforeAll(async () => {
    open = await openStore();
  });

  afterAll(() => open.remove());

  const find = async (id: number) => {
    const [app] = await open.store.rows<ClientApp>(
      'test.app',
      'SELECT id, team_id, framework, disabled, graphql FROM apps_v1 FINAL WHERE id = {id:UInt32}',
      { id },
    );
    return app!;
  };
  const create = () => new ClientApps(open.store, new StoreMonitor(open.store, null), new Config({}));

  it('updates the framework, and not again with each message of another one', async () => {
    const app = await find(await createApp(open.store));
    const apps = create();
    await apps.updateFramework(app, 'fastify');
    expect(await find(app.id)).toEqual({ ...app, framework: 'fastify', disabled: false });
    await apps.updateFramework(app, 'koa');
    expect(await find(app.id)).toEqual({ ...app, framework: 'fastify', disabled: false });
  });

  it('keeps what an operator set', async () => {
    const app = await find(await createApp(open.store));
    const { apps } = createAdmin(open.store);
    expect(app.graphql).toBe(false);
    await apps.setGraphql(app.id, true);
    await apps.setDisabled(app.id, true);
    await create().updateFramework(app, 'koa');
    await apps.rename(app.id, 'Other');
    expect(await find(app.id)).toEqual({ ...app, framework: 'koa', disabled: true, graphql: true });
  });

  it('does not undo a change that an operator made since the row was copied', async () => {
    const app = await find(await createApp(open.store));
    // The operator's change comes between the copy and its insert: its row is older than the insert.
    const [change] = await open.store.rows<object>(
      'test.change',
      `SELECT id, team_id, name, framework, client_id, true AS disabled, toString(created_at) AS created_at,
         toString(now64(6)) AS updated_at
       FROM apps_v1 FINAL WHERE id = {id:UInt32}`,
      { id: app.id },
    );
    await create().updateFramework(app, 'koa');
    await open.store.insert('apps_v1', [JSON.stringify(change)]);
    expect(await find(app.id)).toMatchObject({ disabled: true });
    await createAdmin(open.store).apps.setDisabled(app.id, false);
    await create().updateFramework(app, 'koa');
    expect(await find(app.id)).toEqual({ ...app, framework: 'koa', disabled: false });
  });
});
