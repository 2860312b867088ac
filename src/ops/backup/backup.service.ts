import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { AdminError } from '../admin/admin.error.js';
import { StoreUnavailable } from '../../store/client/clickhouse.errors.js';
import { checkTables } from '../../store/health/damage.js';
import { listTables, readApplied, readMigrations } from '../../store/migrations/migrate.js';
import type { WriterCoordinator } from '../../coordination/writer-coordinator.js';
import { BatchLog } from '../../write/batch-log.js';
import { WriteGate } from '../../write/write-gate.js';
import type { BackupPlace, BackupRepository, Operation, RestoreRequest } from './backup.repository.js';

/** A backup cannot be made, or cannot be restored; `message` says why. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

/** The contents of a backup. */
export interface Contents {
  tables: number;
  rows: number;
  bytes: number;
}

/** Called with the bytes so far. */
type OnProgress = (bytes: number) => void;

const CANNOT_CREATE = 'The backup failed';
const CANNOT_RESTORE = 'The backup cannot be restored';
const RUNNING = new Set(['CREATING_BACKUP', 'RESTORING']);
const DONE = new Set(['BACKUP_CREATED', 'RESTORED']);
const POLL_MS = 100;
/** The interval is short, because writes are paused during it. */
const POLL_BEGIN_MS = 10;

/** Makes backups of a store while it serves, and restores them. */
export class BackupService {
  constructor(private readonly repository: BackupRepository) {}

  /**
   * Makes a backup. Every batch is applied first, and writes are paused while the engine lists the parts of
   * the backup. The restored store does not have the deduplication tokens of its blocks, so it could not tell
   * which batches to apply again.
   *
   * @param coordinator of all writers of the store
   */
  async create(
    { database, place, base }: { database: string; place: BackupPlace; base?: BackupPlace },
    coordinator: WriterCoordinator,
    onProgress: OnProgress,
  ): Promise<Contents> {
    const id = randomUUID();
    const progress = { hasBegun: false };
    const beginPaused = async () => {
      // Does not use the gate, which is closed.
      await new BatchLog(this.repository.store).recover(0);
      const stored = await this.repository.readStored();
      await begin(CANNOT_CREATE, () => this.repository.beginBackup(id, database, place, base));
      progress.hasBegun = true;
      // The engine writes files once all parts are listed.
      const hasNoted = ({ status, files, entries }: Operation) =>
        !RUNNING.has(status) || files > 0 || entries > 0;
      await this.await(id, hasNoted, POLL_BEGIN_MS, onProgress);
      return stored;
    };
    let contents;
    try {
      contents = await new WriteGate(coordinator).pause(beginPaused);
    } catch (error) {
      if (!progress.hasBegun) throw error;
      // The engine continues with the backup, but the result is not consistent.
      await this.finish(CANNOT_CREATE, id, onProgress).catch(() => undefined);
      const reason = error instanceof Error ? error.message : String(error);
      throw new BackupError(`The backup is not consistent, and must be removed: ${reason}`, { cause: error });
    }
    await this.finish(CANNOT_CREATE, id, onProgress);
    return contents;
  }

  /**
   * Restores a database, or some of its tables.
   *
   * @param sources the possible names of the database in the backup
   * @returns its name in the backup
   */
  async load(
    { sources, ...request }: Omit<RestoreRequest, 'source'> & { sources: readonly string[] },
    onProgress: OnProgress,
  ): Promise<string> {
    const [source = '', ...others] = sources;
    const id = randomUUID();
    try {
      await begin(CANNOT_RESTORE, () => this.repository.beginRestore(id, { ...request, source }));
      await this.finish(CANNOT_RESTORE, id, onProgress);
      return source;
    } catch (error) {
      if (others.length === 0 || !isUnknownDatabase(error)) throw error;
      return this.load({ ...request, sources: others }, onProgress);
    }
  }

  /**
   * Reads everything restored and compares it with its checksums, and its schema with this version's.
   *
   * @param hasHistory whether the history of the schema was restored
   * @throws BackupError if it is damaged or incomplete; MigrationError if a newer version wrote it
   */
  async verify(hasHistory = true): Promise<Contents> {
    const { store } = this.repository;
    if (hasHistory) await readApplied(store, await readMigrations());
    for await (const { table, status, damage } of checkTables(store, hasHistory ? undefined : [])) {
      const [first] = damage;
      if (status !== 'ok')
        throw new BackupError(`The backup is damaged: ${table}: ${first?.description ?? status}`);
    }
    return this.readStored();
  }

  readStored(): Promise<Contents> {
    return this.repository.readStored();
  }

  /** @throws AdminError if a disk of the engine has too little space for a backup */
  async requireSpace(disk: string, bytes: number): Promise<void> {
    const free = await this.repository.findFreeBytes(disk);
    if (free !== undefined && free < bytes)
      throw new AdminError(`The disk ${disk} has ${free} bytes free, ${bytes} are needed`);
  }

  /** Drops the existing tables and views of the schema. */
  async dropAll(): Promise<void> {
    for (const { name } of await this.listOwnTables()) await this.repository.dropTable(name);
  }

  /** The existing tables and views of the schema. */
  async listOwnTables(): Promise<{ name: string; engine: string }[]> {
    const schemaTables = new Set(listTables(await readMigrations()));
    return (await this.repository.listTables()).filter(({ name }) => schemaTables.has(name));
  }

  /** @throws AdminError if the store belongs to a cluster */
  async requireSingle(): Promise<void> {
    const tables = await this.repository.listTables();
    if (tables.some(({ engine }) => engine.startsWith('Replicated')))
      throw new AdminError(
        'The store is a cluster: use BACKUP and RESTORE … ON CLUSTER, with the collectors stopped',
      );
  }

  private async finish(failed: string, id: string, onProgress: OnProgress): Promise<void> {
    const { status, error } = await this.await(
      id,
      (operation) => !RUNNING.has(operation.status),
      POLL_MS,
      onProgress,
    );
    if (!DONE.has(status)) throw new BackupError(`${failed}: ${summarise(error) || status}`);
  }

  private async await(
    id: string,
    isReached: (operation: Operation) => boolean,
    everyMs: number,
    onProgress: OnProgress,
  ): Promise<Operation> {
    for (;;) {
      const operation = await this.repository.findOperation(id);
      if (!operation)
        throw new BackupError('The engine was started again meanwhile, or another node responds');
      onProgress(operation.bytes);
      if (isReached(operation)) return operation;
      await pause(everyMs);
    }
  }
}

/** @throws BackupError with the engine's reason, if it refuses */
async function begin(failed: string, command: () => Promise<void>): Promise<void> {
  try {
    await command();
  } catch (error) {
    if (error instanceof StoreUnavailable || !(error instanceof Error)) throw error;
    throw new BackupError(`${failed}: ${summarise(error.message)}`, { cause: error });
  }
}

function isUnknownDatabase(error: unknown): boolean {
  return error instanceof BackupError && error.message.includes('not found in backup');
}

/** The engine's message without its number, class and stack trace. */
function summarise(error: string): string {
  return error
    .replace(/, Stack trace[^]*$/, '')
    .replace(/^.*?Code: \d+\. DB::Exception: /, '')
    .replace(/\s+/g, ' ')
    .slice(0, 300);
}
