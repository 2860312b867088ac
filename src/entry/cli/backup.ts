import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { AdminError } from '../../ops/admin/admin.error.js';
import { BackupDirectory, NewBackupDirectory, requireSpace } from '../../ops/backup/backup-directory.js';
import { type BackupPlace, BackupRepository } from '../../ops/backup/backup.repository.js';
import { BackupService, type Contents } from '../../ops/backup/backup.service.js';
import { ClickHouse } from '../../store/client/clickhouse.client.js';
import { DataDirectoryInUse } from '../../store/client/clickhouse.errors.js';
import { raceAbort } from '../../shared/async/race-abort.js';
import { findLockOwner, prepareDataDirectory } from '../../store/embedded/data-directory.js';
import {
  discardRestore,
  exchangeRestored,
  finishRestore,
  getRestorePath,
  hasStore,
} from '../../store/embedded/restored-data.js';
import { SocketConnection } from '../../coordination/socket/socket.connection.js';
import { migrate } from '../../store/migrations/migrate.js';
import { Config } from '../../config/config.js';
import { type AuditTarget, runAudited } from './audit.js';
import { createDatabase } from './migrate.js';
import { examples } from './options.js';
import { printMessage, printResult } from './output.js';
import { Progress } from './progress.js';
import { StopSignal } from './stop-signal.js';
import { requireStore, withStore } from './with-store.js';

interface BackupOptions {
  base?: string;
  writersStopped: boolean;
}

interface RestoreOptions {
  check: boolean;
  replace: boolean;
}

/** The database of the embedded engine. */
const EMBEDDED = 'default';
/** The database for `restore --check` on a server; clickhouse/accounts/roles.sql has grants on it. */
const CHECK_DATABASE = 'request_analytics_check';
/**
 * Without these tables neither the API nor the collector accepts anything. They are restored last, so that
 * nobody uses an incomplete store.
 */
const LAST_TABLES = ['api_keys_v1', 'apps_v1', 'schema_migrations'];

const PLACES =
  'A backup of the embedded engine is a directory of this machine. With CLICKHOUSE_URL it is written by the server: NAME is below its\n' +
  'backups.allowed_path, and disk:NAME/PATH is on a disk of its configuration, which can be a bucket.';

export function backupCommand(program: Command): void {
  program
    .command('backup')
    .description('back up the store while it serves')
    .argument('<to>', 'new directory; with a server a name, or disk:NAME/PATH')
    .option(
      '--base <backup>',
      'an earlier backup; only what it does not have is written, and both are needed',
    )
    .option(
      '--writers-stopped',
      'with a server and without REDIS_URL: no collector and no import runs',
      false,
    )
    .addHelpText(
      'after',
      `${examples('backup /backups/2026-11-22', 'backup /backups/2026-11-23 --base /backups/2026-11-22', 'backup disk:backups/2026-11-22')}\n\n${PLACES}`,
    )
    .action((to: string, options: BackupOptions) =>
      runAudited('backup', { to, base: options.base }, () => {
        const config = new Config();
        return config.clickhouse.url === undefined
          ? backUpDirectory(to, options, config)
          : backUpServer(to, options, config);
      }),
    );
}

export function restoreCommand(program: Command): void {
  program
    .command('restore')
    .description('restore a backup into an empty store, or only check it; the services must be stopped')
    .argument('<from>', 'backup, named as in the backup command')
    .option('--check', 'restore to a temporary place, read everything, and change nothing', false)
    .addOption(new Option('--replace', 'replace the store that is there').default(false).conflicts('check'))
    .addHelpText(
      'after',
      `${examples('restore /backups/2026-11-22 --check', 'restore /backups/2026-11-22', 'restore /backups/2026-11-22 --replace')}\n\n${PLACES}`,
    )
    .action((from: string, options: RestoreOptions) =>
      runAudited('restore', { from, check: options.check, replace: options.replace }, () => {
        const config = new Config();
        return config.clickhouse.url === undefined
          ? restoreDirectory(from, options, config)
          : restoreOnServer(from, options, config);
      }),
    );
}

async function backUpDirectory(
  to: string,
  { base }: BackupOptions,
  { dataDir }: Config,
): Promise<AuditTarget> {
  requireStore(dataDir);
  const directory = new NewBackupDirectory(to, dataDir);
  for (const path of directory.listLeftOver())
    printMessage(`${path} is of a backup that was interrupted, or still runs; remove it if none runs`);
  const request = {
    database: EMBEDDED,
    place: { path: directory.draft },
    ...(base !== undefined && { base: { path: new BackupDirectory(base).path } }),
  };
  // Do not migrate first: users back up before an upgrade.
  const contents = await withStore(
    async (store, { coordinator }) => {
      const service = new BackupService(new BackupRepository(store));
      const { bytes } = await service.readStored();
      directory.make(bytes, dataDir);
      try {
        const created = await withProgress(bytes, 'written', (onProgress) =>
          service.create(request, coordinator, onProgress),
        );
        directory.publish();
        return created;
      } catch (error) {
        directory.discard();
        throw error;
      }
    },
    { isPrepared: false },
  );
  printResult({ backup: resolve(to), ...contents });
  return { ...contents };
}

async function backUpServer(
  to: string,
  { base, writersStopped }: BackupOptions,
  { clickhouse, redisUrl }: Config,
): Promise<AuditTarget> {
  const place = parsePlace(to);
  const request = {
    database: clickhouse.database,
    place,
    ...(base !== undefined && { base: parsePlace(base) }),
  };
  const contents = await withStore(async (store, { coordinator }) => {
    if (redisUrl === undefined && !writersStopped)
      throw new AdminError(
        'Without REDIS_URL the collectors cannot be made to wait: stop them and say so with --writers-stopped',
      );
    const service = new BackupService(new BackupRepository(store));
    await service.requireSingle();
    const { bytes } = await service.readStored();
    if (place.disk !== undefined) await service.requireSpace(place.disk, bytes);
    return withProgress(bytes, 'written', (onProgress) => service.create(request, coordinator, onProgress));
  });
  printResult({ backup: to, ...contents });
  return { ...contents };
}

/** Restores with an engine in this process, and exchanges the stores only once the new one is complete. */
async function restoreDirectory(
  from: string,
  { check, replace }: RestoreOptions,
  { dataDir }: Config,
): Promise<AuditTarget> {
  const backup = new BackupDirectory(from);
  const directory = resolve(dataDir);
  if (!check) await requireClosed(directory);
  if (!check && hasStore(directory) && !replace)
    throw new AdminError(`There is a store in ${dataDir}: --replace puts the backup in its place`);
  const stop = new StopSignal();
  const scratch = check ? mkdtempSync(join(tmpdir(), 'request-analytics-check-')) : undefined;
  try {
    requireSpace(scratch ?? directory, backup.bytes);
    const target = scratch ?? getRestorePath(directory);
    if (!check) discardRestore(directory);
    const contents = await load(backup, target, stop);
    if (!check) {
      await requireClosed(directory);
      exchangeRestored(directory);
    }
    printResult({ backup: backup.path, [check ? 'checked' : 'restored']: true, ...contents });
    return { ...contents };
  } finally {
    stop.close();
    if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true });
    else if (!check) discardRestore(directory);
  }
}

/** @throws StoppedError once the engine is closed, so that its files can be removed */
async function load(backup: BackupDirectory, target: string, stop: StopSignal): Promise<Contents> {
  const store = await ClickHouse.open(
    new Config({
      ...process.env,
      CLICKHOUSE_URL: undefined,
      CLICKHOUSE_URL_FILE: undefined,
      DATA_DIR: target,
    }),
  );
  try {
    const service = new BackupService(new BackupRepository(store));
    const request = { sources: [backup.database], target: EMBEDDED, place: { path: backup.path } };
    const restoreAll = async () => {
      await withProgress(backup.bytes, 'read', (onProgress) => service.load(request, onProgress));
      return service.verify();
    };
    return await raceAbort(stop.signal, restoreAll());
  } catch (error) {
    throw stop.signal.aborted ? stop.createError('before the backup was read. Nothing was changed.') : error;
  } finally {
    await store.close();
  }
}

/** Creates the directory if it is missing. @throws DataDirectoryInUse, AdminError if a process has it open */
async function requireClosed(directory: string): Promise<void> {
  prepareDataDirectory(directory);
  const connection = await SocketConnection.connect(directory).catch(() => null);
  if (connection !== undefined) {
    await connection?.close();
    throw new AdminError('A server has the data directory open: stop it before a restore');
  }
  const restoring = getRestorePath(directory);
  if (findLockOwner(directory) !== undefined) throw new DataDirectoryInUse(directory);
  if (findLockOwner(restoring) !== undefined) throw new AdminError('Another restore into the directory runs');
  finishRestore(directory);
}

async function restoreOnServer(
  from: string,
  { check, replace }: RestoreOptions,
  config: Config,
): Promise<AuditTarget> {
  const { database } = config.clickhouse;
  const place = parsePlace(from);
  const sources = [...new Set([database, EMBEDDED])];
  if (check) {
    const contents = await checkOnServer(config, place, sources);
    printResult({ backup: from, checked: true, ...contents });
    return { ...contents };
  }
  await createDatabase(config);
  return withStore(async (store) => {
    const service = new BackupService(new BackupRepository(store));
    await service.requireSingle();
    const present = await service.listOwnTables();
    // Without a migration table, the tables are leftovers of an interrupted restore.
    if (present.some(({ name }) => name === 'schema_migrations')) {
      if (!replace)
        throw new AdminError(`There is a store in ${database}: --replace puts the backup in its place`);
      await checkOnServer(config, place, sources);
    }
    await service.dropAll();
    await withProgress(null, 'read', async (onProgress) => {
      const source = await service.load(
        { sources, target: database, place, except: LAST_TABLES },
        onProgress,
      );
      await service.verify(false);
      await service.load({ sources: [source], target: database, place, only: LAST_TABLES }, onProgress);
    });
    const contents = await service.verify();
    await migrate(store);
    printResult({ backup: from, restored: true, ...contents });
    return { ...contents };
  });
}

/** Restores to another database, and drops it again. */
async function checkOnServer(
  config: Config,
  place: BackupPlace,
  sources: readonly string[],
): Promise<Contents> {
  const store = await ClickHouse.open(config, { database: CHECK_DATABASE });
  const outside = new BackupRepository(await ClickHouse.open(config, { database: '' }));
  const service = new BackupService(new BackupRepository(store));
  try {
    await outside.dropDatabase(CHECK_DATABASE);
    await outside.createDatabase(CHECK_DATABASE);
    await withProgress(null, 'read', (onProgress) =>
      service.load({ sources, target: CHECK_DATABASE, place }, onProgress),
    );
    return await service.verify();
  } finally {
    await outside.dropDatabase(CHECK_DATABASE);
    await Promise.all([store.close(), outside.store.close()]);
  }
}

const DISK = /^disk:([\w.-]+)\/(.+)$/;

/** @throws AdminError */
function parsePlace(text: string): BackupPlace {
  if (!text.startsWith('disk:')) return { path: text };
  const [, disk, path] = DISK.exec(text) ?? [];
  if (disk === undefined || path === undefined) throw new AdminError(`${text} must be like disk:NAME/PATH`);
  return { disk, path };
}

async function withProgress<T>(
  totalBytes: number | null,
  done: string,
  work: (onProgress: (bytes: number) => void) => Promise<T>,
): Promise<T> {
  const progress = new Progress(totalBytes, done, 'MB');
  try {
    return await work((bytes) => {
      progress.update(bytes, Math.round(bytes / 1024 / 1024));
    });
  } finally {
    progress.stop();
  }
}
