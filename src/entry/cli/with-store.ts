import { setTimeout as pause } from 'node:timers/promises';
import { AdminError } from '../../ops/admin/admin.error.js';
import { type Admin, createAdmin } from '../../ops/admin/admin.js';
import { describePlace } from '../bootstrap/first-steps.js';
import { prepareStore } from '../../write/prepare-store.js';
import { ClickHouse } from '../../store/client/clickhouse.client.js';
import { DataDirectoryInUse } from '../../store/client/clickhouse.errors.js';
import { requireAccess } from '../../store/embedded/data-directory.js';
import { hasStore } from '../../store/embedded/restored-data.js';
import { SocketConnection } from '../../coordination/socket/socket.connection.js';
import { LocalCoordinator, type WriterCoordinator } from '../../coordination/writer-coordinator.js';
import { Config } from '../../config/config.js';
import { openCountryDatabase } from '../../sources/decoding/client-country.js';
import { printMessage } from './output.js';

/** A server that starts opens the data directory some seconds before its socket. */
const WAIT_MS = 10_000;
const RETRY_MS = 250;

/** The store of a command. */
interface CommandStore {
  store: ClickHouse;
  coordinator: WriterCoordinator;
  /**
   * Whether other processes may write to the store. They share the `coordinator`, except on a server without
   * Redis.
   */
  isShared: boolean;
}

/**
 * Runs a command on the store and closes it. If a server has the data directory open, the command uses the
 * server's socket; otherwise it opens the directory itself and migrates it first, as a server does. If
 * another process has the directory without a socket, it retries for some seconds.
 */
export async function withStore<Result>(
  command: (store: ClickHouse, shared: Omit<CommandStore, 'store'>) => Promise<Result>,
  { isPrepared = true } = {},
): Promise<Result> {
  const config = new Config();
  if (isPrepared) for (const warning of config.warnings) printMessage(`warning: ${warning}`);
  openCountryDatabase(config.countryDatabase);
  const { store, coordinator, isShared } = await open(config);
  try {
    if (isPrepared && !isShared) await prepareStore(store);
    return await command(store, { coordinator, isShared });
  } finally {
    coordinator.close();
    await store.close();
  }
}

/** Runs a command that only needs the store's administration. */
export function withAdmin<Result>(command: (admin: Admin) => Promise<Result>): Promise<Result> {
  return withStore((store, { coordinator }) => command(createAdmin(store, coordinator)));
}

/** Prints where something was created. */
export async function printPlace(admin: Admin, teamId: number, appId?: number): Promise<void> {
  printMessage(`Created in ${await describePlace(admin, new Config(), teamId, appId)}.`);
}

/** For commands that only read: the engine would otherwise create the missing directory. */
export function requireStore(dataDir: string): void {
  requireAccess(dataDir);
  if (!hasStore(dataDir)) throw new AdminError(`There is no store in ${dataDir}`);
}

async function open(config: Config): Promise<CommandStore> {
  if (config.clickhouse.url !== undefined) {
    const { RedisCoordinator } = await import('../../coordination/redis-coordinator.js');
    const redis = RedisCoordinator.create(config);
    const store = await ClickHouse.open(config);
    return { store, coordinator: redis ?? new LocalCoordinator(), isShared: true };
  }
  requireAccess(config.dataDir);
  const giveUpAt = performance.now() + WAIT_MS;
  for (;;) {
    const connection = await SocketConnection.connect(config.dataDir);
    if (connection)
      return {
        store: ClickHouse.openSocket(config, connection),
        coordinator: connection.coordinator,
        isShared: true,
      };
    try {
      return { store: await ClickHouse.open(config), coordinator: new LocalCoordinator(), isShared: false };
    } catch (error) {
      if (!(error instanceof DataDirectoryInUse) || performance.now() > giveUpAt) throw error;
    }
    await pause(RETRY_MS);
  }
}
