import { createAdmin } from '../../src/ops/admin/admin.js';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import type { Config } from '../../src/config/config.js';
import { type TestStore, createTestStore } from './app.js';
import { addSchema } from './schema.js';

/**
 * For suites about the engine inside the process: there is none to test where the tests run against a server.
 */
export const describeEmbedded = process.env.CLICKHOUSE_URL ? describe.skip : describe;

/** A store of a test's own, without an application around it. */
export interface OpenStore {
  /** May be closed and replaced by another one to the same place. */
  store: ClickHouse;
  config: Config;
  /** Closes it and removes all of it. */
  remove(): Promise<void>;
}

/** An empty store, not yet migrated. */
export async function openEmptyStore(env?: NodeJS.ProcessEnv): Promise<OpenStore> {
  return openTestStore(await createTestStore(env));
}

/** A store with this version's schema. */
export async function openStore(env?: NodeJS.ProcessEnv): Promise<OpenStore> {
  const testStore = await createTestStore(env);
  await addSchema(testStore.config);
  return openTestStore(testStore);
}

async function openTestStore(testStore: TestStore): Promise<OpenStore> {
  const open: OpenStore = {
    store: await ClickHouse.open(testStore.config),
    config: testStore.config,
    remove: async () => {
      await open.store.close();
      await testStore.remove();
    },
  };
  return open;
}

/** Closes the store and opens it again, as another process would, or this one after a crash. */
export async function reopen(open: OpenStore): Promise<ClickHouse> {
  await open.store.close();
  open.store = await ClickHouse.open(open.config);
  return open.store;
}

/** An app of a team of its own; its ID. */
export async function createApp(store: ClickHouse): Promise<number> {
  const admin = createAdmin(store);
  const { id } = await admin.teams.create('Acme', 'premium');
  return (await admin.apps.create(id, 'Shop', 'express')).id;
}
