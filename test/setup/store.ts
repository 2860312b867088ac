import { ClickHouse } from '../../src/clickhouse/clickhouse.client.js';
import { migrate } from '../../src/clickhouse/migrate.js';
import type { Config } from '../../src/config/config.js';
import { createTestStore } from './app.js';

/** For suites about the engine inside the process: there is none to test where the tests run against a server. */
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
  const testStore = await createTestStore(env);
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

/** A store with this version's schema. */
export async function openStore(env?: NodeJS.ProcessEnv): Promise<OpenStore> {
  const open = await openEmptyStore(env);
  await migrate(open.store);
  return open;
}
