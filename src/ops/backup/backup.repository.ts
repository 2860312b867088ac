import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { type Parameters, renderParameters } from '../../store/client/query-parameters.js';

/** The place of a backup: a directory, or on a server also a disk of its configuration. */
export interface BackupPlace {
  /** Undefined: a directory, on a server below its `backups.allowed_path`. */
  disk?: string;
  path: string;
}

/** A backup or a restore, running or ended. */
export interface Operation {
  status: string;
  /** Includes the engine's stack trace. */
  error: string;
  files: number;
  /** Number of files that were written or read. */
  entries: number;
  bytes: number;
}

const OPERATION = `
SELECT toString(status) AS status, error, num_files AS files, num_entries AS entries, total_size AS bytes
FROM system.backups WHERE id = {id:String}`;
const DATA_TABLES = `FROM system.tables WHERE database = currentDatabase() AND endsWith(engine, 'MergeTree')`;
const STORED = `
SELECT count() AS tables, sum(total_rows) AS rows, sum(total_bytes) AS bytes ${DATA_TABLES}`;
const TABLES = `
SELECT name, engine FROM system.tables WHERE database = currentDatabase()
ORDER BY engine != 'MaterializedView', name = 'schema_migrations', name`;
const FREE = `SELECT free_space AS free FROM system.disks WHERE name = {disk:String} AND NOT is_remote`;

/**
 * Makes and restores backups through the engine, which runs them in the background, under an ID of the
 * caller's choice.
 */
export class BackupRepository {
  constructor(readonly store: ClickHouse) {}

  async beginBackup(id: string, database: string, place: BackupPlace, base?: BackupPlace): Promise<void> {
    const [to, values] = renderPlace('to', place);
    const [from, more] = base ? renderPlace('base', base) : ['', {}];
    const settings = `id = {id:String}${base ? `, base_backup = ${from}` : ''}`;
    await this.command(
      'backup.begin',
      `BACKUP DATABASE {database:Identifier} TO ${to} SETTINGS ${settings} ASYNC`,
      {
        id,
        database,
        ...values,
        ...more,
      },
    );
  }

  /**
   * @param only tables to be restored; by default all
   * @param except tables that are not restored
   */
  async beginRestore(
    id: string,
    { source, target, place, only, except = [] }: RestoreRequest,
  ): Promise<void> {
    const [from, values] = renderPlace('from', place);
    // The tables come from fixed lists.
    const tables = only
      ?.map((name) => `TABLE {source:Identifier}.${name} AS {target:Identifier}.${name}`)
      .join(', ');
    const excluded = except.map((name) => `{source:Identifier}.${name}`).join(', ');
    const database = `DATABASE {source:Identifier} AS {target:Identifier}${excluded === '' ? '' : ` EXCEPT TABLES ${excluded}`}`;
    await this.command(
      'backup.restore',
      `RESTORE ${tables ?? database} FROM ${from}
SETTINGS id = {id:String}, allow_different_database_def = true ASYNC`,
      { id, source, target, ...values },
    );
  }

  /** Undefined if the engine does not know it. */
  async findOperation(id: string): Promise<Operation | undefined> {
    const [found] = await this.store.rows<Operation>('backup.operation', OPERATION, { id });
    return found;
  }

  /** The number of tables, rows and bytes in the store. */
  async readStored(): Promise<{ tables: number; rows: number; bytes: number }> {
    const [stored] = await this.store.rows<{ tables: number; rows: number; bytes: number }>(
      'backup.stored',
      STORED,
    );
    return stored ?? { tables: 0, rows: 0, bytes: 0 };
  }

  /** Views before tables, the history of the schema last. */
  async listTables(): Promise<{ name: string; engine: string }[]> {
    return this.store.rows('backup.tables', TABLES);
  }

  /** Free bytes of a disk of the engine; undefined if it is not known. */
  async findFreeBytes(disk: string): Promise<number | undefined> {
    const [found] = await this.store.rows<{ free: number }>('backup.free', FREE, { disk });
    return found?.free;
  }

  async dropTable(name: string): Promise<void> {
    await this.command('backup.drop_table', 'DROP TABLE IF EXISTS {name:Identifier} SYNC', { name });
  }

  async createDatabase(database: string): Promise<void> {
    await this.command('backup.create_database', 'CREATE DATABASE {database:Identifier}', { database });
  }

  async dropDatabase(database: string): Promise<void> {
    await this.command('backup.drop_database', 'DROP DATABASE IF EXISTS {database:Identifier} SYNC', {
      database,
    });
  }

  /** With literals, because the engine takes no placeholders in these statements. */
  private command(name: string, sql: string, params: Parameters): Promise<void> {
    return this.store.command(renderParameters(sql, params), undefined, { name });
  }
}

/** What to restore, and the name of the new database. */
export interface RestoreRequest {
  source: string;
  target: string;
  place: BackupPlace;
  only?: readonly string[];
  except?: readonly string[];
}

/** A place in the syntax of the engine, and the values of its placeholders. */
function renderPlace(name: string, { disk, path }: BackupPlace): [sql: string, values: Parameters] {
  if (disk === undefined) return [`File({${name}_path:String})`, { [`${name}_path`]: path }];
  return [
    `Disk({${name}_disk:String}, {${name}_path:String})`,
    { [`${name}_disk`]: disk, [`${name}_path`]: path },
  ];
}
