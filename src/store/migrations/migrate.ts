import { hash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PACKAGE_DIRECTORY } from '../../config/version.js';
import type { ClickHouse } from '../client/clickhouse.client.js';
import { type Cluster, fillCluster } from './cluster-ddl.js';
import { MigrationError } from './migration.error.js';

export interface Migration {
  version: number;
  name: string;
  /** SHA-256 of the file, lower-case hex. */
  checksum: string;
  statements: string[];
  /** The statements for a cluster; see `fillCluster`. */
  clustered: string[];
}

const DIRECTORY = join(PACKAGE_DIRECTORY, 'clickhouse/migrations');
const FILE = /^(\d{4})_[a-z0-9_]+\.sql$/;
/**
 * The line before a statement, or before a statement for clusters alone. Semicolons do not separate
 * statements, because a statement can contain them.
 */
const SEPARATOR = /^-- (?:(cluster) )?statement$/m;
/** A line, and after `-- cluster: ` the line that replaces it on a cluster. */
const CLUSTER_LINE = /^(.*)\n-- cluster: (.*)$/gm;

const MIGRATIONS_TABLE = readStatements(`
CREATE TABLE IF NOT EXISTS schema_migrations
-- cluster: CREATE TABLE IF NOT EXISTS {database}.schema_migrations ON CLUSTER {cluster}
(
    version    UInt32,
    name       String,
    checksum   String,
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree(applied_at)
-- cluster: ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/global/{database}/schema_migrations', '{shard}-{replica}', applied_at)
ORDER BY version`);

const MIGRATIONS_TABLE_ENGINE = `
SELECT engine FROM system.tables WHERE database = currentDatabase() AND name = 'schema_migrations'`;

const APPLIED = `SELECT version, name, checksum FROM schema_migrations FINAL ORDER BY version`;

/** The migrations of this version, in order. */
export async function readMigrations(directory = DIRECTORY): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name, index) => {
      const version = Number(FILE.exec(name)?.[1]);
      if (version !== index + 1) throw new MigrationError(`${name}: expected number ${index + 1}`);
      const text = await readFile(join(directory, name), 'utf8');
      return {
        version,
        name,
        checksum: hash('sha256', text),
        ...readStatements(text),
      };
    }),
  );
}

function readStatements(text: string): Pick<Migration, 'statements' | 'clustered'> {
  const [first = '', ...rest] = text.split(SEPARATOR);
  const parts = [{ isForClusters: false, part: first }];
  for (let index = 0; index < rest.length; index += 2)
    parts.push({ isForClusters: rest[index] !== undefined, part: rest[index + 1] ?? '' });
  const choose = (part: string, line: '$1' | '$2') =>
    part.replace(CLUSTER_LINE, line).trim().replace(/;$/, '');
  return {
    statements: parts.filter(({ isForClusters }) => !isForClusters).map(({ part }) => choose(part, '$1')),
    clustered: parts.map(({ part }) => choose(part, '$2')),
  };
}

const CREATED = /^CREATE (?:TABLE|MATERIALIZED VIEW) IF NOT EXISTS (\w+)/m;
const DROPPED = /^DROP (?:TABLE|VIEW) IF EXISTS (\w+)/m;

/** The tables and views of a store after these migrations, including the migrations table. */
export function listTables(migrations: readonly Migration[]): string[] {
  const tables = new Set(['schema_migrations']);
  for (const statement of migrations.flatMap(({ statements }) => statements)) {
    const created = CREATED.exec(statement)?.[1];
    const dropped = DROPPED.exec(statement)?.[1];
    if (created !== undefined) tables.add(created);
    if (dropped !== undefined) tables.delete(dropped);
  }
  return [...tables];
}

const VIEW = /^CREATE MATERIALIZED VIEW IF NOT EXISTS (\w+)/m;

/** The materialized views of a store after these migrations. */
export function listViews(migrations: readonly Migration[]): string[] {
  const names = migrations.flatMap(({ statements }) =>
    statements.map((statement) => VIEW.exec(statement)?.[1]),
  );
  return listTables(migrations).filter((name) => names.includes(name));
}

const TABLE_TTL = /^CREATE TABLE IF NOT EXISTS (\w+)[^]*?^TTL (.+)$/m;
const NEW_TTL = /^ALTER TABLE (\w+)\s+MODIFY TTL ([^;]+)/m;

/** The TTL of each table's rows after these migrations. */
export function listTtls(migrations: readonly Migration[]): Map<string, string> {
  const ttls = new Map<string, string>();
  for (const statement of migrations.flatMap(({ statements }) => statements)) {
    const [, table = '', ttl] = TABLE_TTL.exec(statement) ?? NEW_TTL.exec(statement) ?? [];
    if (ttl !== undefined) ttls.set(table, ttl.trim());
  }
  return ttls;
}

/**
 * Brings the store to this version's schema, forward only, and returns the applied migrations.
 *
 * Statements are idempotent, and a migration is recorded once all of its statements ran. An interrupted
 * migration is run again from its first statement.
 *
 * @param cluster runs the clustered form on one of the cluster's nodes; see `fillCluster`
 * @throws MigrationError if an applied file has changed, the store is newer than this version, or it has the
 * other form
 */
export async function migrate(
  store: ClickHouse,
  migrations?: Migration[],
  cluster?: Cluster,
): Promise<Migration[]> {
  const expected = migrations ?? (await readMigrations());
  const run = async (queryName: string, { statements, clustered }: typeof MIGRATIONS_TABLE) => {
    const ddl = cluster ? clustered.map((statement) => fillCluster(statement, cluster)) : statements;
    for (const statement of ddl) await store.command(statement, undefined, { name: queryName });
  };
  await requireSameTopology(store, cluster);
  await run('migrations.table', MIGRATIONS_TABLE);
  const done = await readApplied(store, expected);
  const pending = expected.filter(({ version }) => !done.has(version));
  for (const migration of pending) {
    await run('migrations.apply', migration);
    const { version, name, checksum } = migration;
    await store.insert('schema_migrations', [JSON.stringify({ version, name, checksum })]);
  }
  return pending;
}

/** The form of a store cannot change: the other form's statements would leave tables of both. */
async function requireSameTopology(store: ClickHouse, cluster: Cluster | undefined): Promise<void> {
  const [table] = await store.rows<{ engine: string }>('migrations.topology', MIGRATIONS_TABLE_ENGINE);
  const isReplicated = table?.engine.startsWith('Replicated');
  if (isReplicated === true && !cluster)
    throw new MigrationError('The schema is clustered: name the cluster with --cluster.');
  if (isReplicated === false && cluster)
    throw new MigrationError('The schema is that of a single server: --cluster needs another database.');
}

/**
 * The applied versions, checked against the files.
 *
 * @throws MigrationError if an applied file has changed, or the store is newer than this version
 */
export async function readApplied(store: ClickHouse, expected: readonly Migration[]): Promise<Set<number>> {
  const applied = await store.rows<Pick<Migration, 'version' | 'name' | 'checksum'>>('migrations', APPLIED);
  for (const { version, name, checksum } of applied) {
    const file = expected[version - 1];
    if (!file) throw new MigrationError(`The store has migration ${name}, which this version does not know.`);
    if (file.checksum !== checksum)
      throw new MigrationError(
        `${file.name} was changed after it was applied; write a new migration instead.`,
      );
  }
  return new Set(applied.map(({ version }) => version));
}
