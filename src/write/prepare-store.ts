import { ClickHouse } from '../store/client/clickhouse.client.js';
import { StoreUnavailable } from '../store/client/clickhouse.errors.js';
import { StoreSocket } from '../coordination/socket/store-socket.js';
import { migrate } from '../store/migrations/migrate.js';
import { LocalCoordinator } from '../coordination/writer-coordinator.js';
import type { Config } from '../config/config.js';
import { BatchLog } from './batch-log.js';
import type { Telemetry } from '../telemetry/telemetry.js';

/** Result of preparing the store. */
interface PreparedStore {
  /** The store was just created and is empty. */
  isNew: boolean;
  /** One line for each batch that cannot be applied, and a line if commands cannot reach the store. */
  problems: string[];
}

/** The store of a server. */
export interface ServerStore extends PreparedStore {
  store: ClickHouse;
  /** With the embedded engine, coordinates the writers of this process and the commands that reach it. */
  coordinator: LocalCoordinator;
  close: () => Promise<void>;
}

/**
 * Opens and prepares the store of a server. With the embedded engine, commands reach it through its socket.
 *
 * @throws DataDirectoryInUse, and errors of opening the store
 */
export async function openServerStore(config: Config, telemetry: Telemetry): Promise<ServerStore> {
  const store = await ClickHouse.open(config, { telemetry });
  const coordinator = new LocalCoordinator();
  try {
    const prepared = await prepareStore(store);
    if (store.kind === 'server') return { ...prepared, store, coordinator, close: () => store.close() };
    const { socket, problem } = await listen(config.dataDir, store, coordinator);
    return {
      ...prepared,
      problems: [...prepared.problems, ...problem],
      store,
      coordinator,
      close: async () => {
        await socket?.close();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Without a socket the server works too, but commands then need it stopped. */
async function listen(dataDir: string, store: ClickHouse, coordinator: LocalCoordinator) {
  const explain = (reason: string) => [
    `commands cannot reach the data directory while this server runs: ${reason}`,
  ];
  try {
    const socket = await StoreSocket.listen(dataDir, store, coordinator);
    return { socket, problem: socket ? [] : explain('its path is too long for a socket') };
  } catch (error) {
    return { socket: undefined, problem: explain(String(error)) };
  }
}

/**
 * Migrates the embedded store and replays unapplied batches of its batch log. Only this process has the store
 * open, so no batch is in flight. With a server, `migrate` migrates, and collectors and imports replay. An
 * unreadable log does not prevent the start.
 */
export async function prepareStore(store: ClickHouse): Promise<PreparedStore> {
  if (store.kind !== 'embedded') return { isNew: false, problems: [] };
  const [first] = await migrate(store);
  return { isNew: first?.version === 1, problems: await recover(new BatchLog(store)) };
}

async function recover(log: BatchLog): Promise<string[]> {
  try {
    const { rejected } = await log.recover(0);
    return [...rejected].map(([batch, reason]) => `batch ${batch} cannot be applied: ${String(reason)}`);
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    return [`incomplete batches cannot be applied: ${error.message}`];
  }
}
