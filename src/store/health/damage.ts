import type { ClickHouse } from '../client/clickhouse.client.js';
import { StoreUnavailable, StoredDataDamaged } from '../client/clickhouse.errors.js';
import { MISSING_TABLE_MARK } from '../embedded/data-directory.js';
import { MISSING_PART_MARK } from '../embedded/part-list.js';
import { listTables, readMigrations } from '../migrations/migrate.js';
import { MigrationError } from '../migrations/migration.error.js';

/** A part or table of the store that is missing or cannot be read. */
export interface Damage {
  table: string;
  /** The name of the part; null for the whole table. */
  part: string | null;
  description: string;
}

/**
 * Parts that the engine detached because it cannot use them. Other reasons are not damage: the part was
 * detached by hand (no reason), is being moved or copied (`attaching`, `deleting`, `clone`, `tmp-fetch`), is
 * contained in another one (`ignored`), or was never acknowledged (`noquorum`).
 */
const SET_ASIDE = `
SELECT table, name, reason, path FROM system.detached_parts
WHERE database = currentDatabase() AND (startsWith(reason, 'broken') OR reason IN ('covered-by-broken', 'unexpected'))
ORDER BY table, name`;

const TABLES = 'SELECT name FROM system.tables WHERE database = currentDatabase()';

const TABLES_WITH_DATA = `${TABLES} AND endsWith(engine, 'MergeTree') ORDER BY name`;
const VERSIONS = 'SELECT DISTINCT version FROM schema_migrations';
/** Reads the whole table and compares it with its checksums. */
const CHECK = 'CHECK TABLE {table:Identifier}';

/**
 * The damage that the engine reports; with a server, that of the node that executes the query.
 *
 * @param tables the expected tables; checked only if the account can see them all
 */
export async function findDamage(store: ClickHouse, tables: readonly string[]): Promise<Damage[]> {
  return [
    ...(await findMissing(store, tables)).map((table) => ({ table, part: null, description: 'is missing' })),
    ...(await findSetAside(store)),
  ];
}

/** The tables and views in the list that the store does not have. */
export async function findMissing(store: ClickHouse, tables: readonly string[]): Promise<string[]> {
  const present = await listNames(store, 'store.tables', TABLES);
  // Every store has this table first: without it, nothing was migrated yet, or the account cannot see all
  // tables.
  return present.has('schema_migrations') ? tables.filter((table) => !present.has(table)) : [];
}

async function listNames(store: ClickHouse, query: string, sql: string): Promise<Set<string>> {
  return new Set((await store.rows<{ name: string }>(query, sql)).map(({ name }) => name));
}

/** The result of `checkTables` for one table. */
export interface TableCheck {
  table: string;
  status: 'ok' | 'damaged' | 'missing';
  /** Parts whose data was read and compared with its checksums. */
  checked: number;
  damage: Omit<Damage, 'table'>[];
}

/**
 * Reads each table with data and compares it with its checksums; with a server, on the node that executes the
 * queries. Also returns missing tables.
 *
 * @param expected tables that should exist; by default those of the applied migrations
 * @throws MigrationError if the store has no schema; StoreUnavailable if it cannot be queried.
 */
export async function* checkTables(
  store: ClickHouse,
  expected?: readonly string[],
): AsyncGenerator<TableCheck> {
  const knownDamage = await findDamage(store, expected ?? (await listAppliedTables(store)));
  const present = await listNames(store, 'store.data_tables', TABLES_WITH_DATA);
  const names = new Set([...present, ...knownDamage.map(({ table }) => table)]);
  for (const table of [...names].sort()) {
    const ofTable = knownDamage.filter((item) => item.table === table);
    const { checked, damage } = present.has(table)
      ? await checkTable(store, table)
      : { checked: 0, damage: [] };
    const all = [...ofTable, ...damage].map(({ part, description }) => ({ part, description }));
    const status = ofTable.some(({ part }) => part === null) ? 'missing' : all.length > 0 ? 'damaged' : 'ok';
    yield { table, status, checked, damage: all };
  }
}

async function checkTable(store: ClickHouse, table: string): Promise<Pick<TableCheck, 'checked' | 'damage'>> {
  try {
    const parts = await store.rows<{ part_path: string; is_passed: number; message: string }>(
      'store.check_table',
      CHECK,
      { table },
      { unlimited: true },
    );
    const failed = parts.filter(({ is_passed }) => is_passed === 0);
    const damage = failed.map(({ part_path, message }) => ({ part: part_path, description: message }));
    return { checked: parts.length, damage };
  } catch (error) {
    if (!(error instanceof StoredDataDamaged)) throw error;
    return { checked: 0, damage: [{ part: '', description: error.message }] };
  }
}

/**
 * The tables of the applied migrations; if the migrations table cannot be read, all migrations count as
 * applied.
 */
async function listAppliedTables(store: ClickHouse): Promise<string[]> {
  const migrations = await readMigrations();
  const present = await listNames(store, 'store.tables', TABLES);
  if (!present.has('schema_migrations'))
    throw new MigrationError(
      'The store has no ledger of migrations: nothing was migrated yet, or it is lost.',
    );
  try {
    const rows = await store.rows<{ version: number }>('migrations.versions', VERSIONS);
    const applied = new Set(rows.map(({ version }) => version));
    return listTables(migrations.filter(({ version }) => applied.has(version)));
  } catch (error) {
    if (error instanceof StoreUnavailable) return listTables(migrations);
    throw error;
  }
}

async function findSetAside(store: ClickHouse): Promise<Damage[]> {
  const parts = await store.rows<{ table: string; name: string; reason: string; path: string }>(
    'store.detached_parts',
    SET_ASIDE,
  );
  return parts.map(({ table, name, reason, path }) => ({
    table,
    part: name,
    description: describeSetAside(name, reason, path),
  }));
}

function describeSetAside(name: string, reason: string, path: string): string {
  if (name === MISSING_TABLE_MARK)
    return `the directory of the table was missing, and an empty one was made; marked by ${path}`;
  if (name.startsWith(MISSING_PART_MARK))
    return `the directory of the part was missing at a start, and its rows with it; marked by ${path}`;
  return `set aside by the engine (${reason}), its rows are missing; it is in ${path}`;
}

const DAMAGED_PART = /from part \S*\/(\S+?)\/ in table \w+\.(\w+) /;

/** The damage that a query found, located as far as the engine's message allows. */
export function locateDamage({ message, cause }: StoredDataDamaged): Damage {
  const [, part = 'unknown', table = 'unknown'] =
    DAMAGED_PART.exec(cause instanceof Error ? cause.message : '') ?? [];
  return { table, part, description: message };
}
