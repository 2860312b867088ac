import { MigrationError } from './migration.error.js';

/** Target of the clustered schema. Both names are part of statements, so they must be plain words. */
export interface Cluster {
  /** Name of the cluster in `remote_servers` of the servers' configuration. */
  name: string;
  database: string;
}

/**
 * Small tables that every node stores whole: keys, teams, apps, and the names behind IDs. Joins and lookups of them are
 * local. Every other table is sharded.
 */
const GLOBAL_TABLES: ReadonlySet<string> = new Set([
  'schema_migrations',
  'secrets_v1',
  'id_claims_v1',
  'teams_v1',
  'api_keys_v1',
  'write_tokens_v1',
  'apps_v1',
  'app_limits_v1',
  'app_envs_v1',
  'endpoints_v1',
  'endpoint_expected_errors_v1',
  'consumer_groups_v1',
  'consumers_v1',
]);

/** Tables with a sharding key other than the app. The messages of a batch are on its shard, because a view there writes them. */
const SHARDED_BY: Readonly<Record<string, string>> = {
  ingest_batches_v1: 'sipHash64(batch_id)',
  ingest_messages_v1: 'sipHash64(batch_id)',
};
const BY_APP = 'sipHash64(app_id)';

const CREATE_TABLE =
  /^CREATE TABLE IF NOT EXISTS (\w+)\n(\([^]*?\n\))\nENGINE = (\w+)(?:\(([^\n]*)\))?([^]*)$/;
const CREATE_VIEW =
  /^(CREATE (?:OR REPLACE MATERIALIZED VIEW|MATERIALIZED VIEW IF NOT EXISTS)) (\w+) TO (\w+) AS\n(SELECT\b[^]*?\bFROM )(\w+)([^]*)$/;
const ALTER_TABLE = /^ALTER TABLE (\w+)\b([^]*)$/;
const NEW_QUERY = /^\s+MODIFY QUERY\b/;
const ABOUT_COLUMNS = /^\s+(?:ADD|DROP|RENAME) COLUMN\b/;
/** A Distributed table has the columns of the local one, but no key. */
const NEW_KEY = /,\s+MODIFY ORDER BY \([^)]*\)/;
const INSERT = /^INSERT INTO \w+\b/;
const LEADING_COMMENTS = /^(?:--.*\n|\s+)*/;

const IDENTIFIER = /^[A-Za-z_]\w*$/;
/** The window of deduplication is by number on a single server, and by number and age on a cluster: a week, as long as possible. */
const WINDOW = /\bnon_replicated_deduplication_window = (\d+)/;
const DEDUPLICATED_FOR_SECONDS = 604_800;

/**
 * The clustered form of a migration's statement: `ON CLUSTER`, replicated, and two tables for a sharded one: `x_local` with
 * the rows on each shard, and the Distributed table `x` over them. Queries and inserts use the same names.
 *
 * Views read and write local tables. So derived rows are on the row's shard, and the retry of a block, which has the same
 * shard, finds its token.
 *
 * @throws MigrationError for a statement that has no clustered form yet, or names that are not plain words.
 */
export function toClusterDdl(statement: string, cluster: Cluster): string[] {
  requireIdentifiers(cluster);
  const sql = statement.replace(LEADING_COMMENTS, '');
  const table = CREATE_TABLE.exec(sql);
  if (table) return toTableDdl(table, cluster);
  const view = CREATE_VIEW.exec(sql);
  if (view) return [toLocalViewDdl(view, cluster)];
  const change = ALTER_TABLE.exec(sql);
  if (change) return toAlterDdl(change, cluster);
  // One node inserts; replication and the Distributed tables copy the rows to the others.
  if (INSERT.test(sql)) return [sql];
  throw new MigrationError(`No clustered schema is known for: ${sql.split('\n', 1).join()}`);
}

/** The database on every node. */
export function createDatabaseDdl(cluster: Cluster): string {
  requireIdentifiers(cluster);
  const { name, database } = cluster;
  return `CREATE DATABASE IF NOT EXISTS ${database} ON CLUSTER ${name}`;
}

/** Whether each node has the whole table; else it has the rows of its shard in `<name>_local`. */
export function isGlobalTable(table: string): boolean {
  return GLOBAL_TABLES.has(table);
}

function requireIdentifiers({ name, database }: Cluster): void {
  for (const identifier of [name, database])
    if (!IDENTIFIER.test(identifier))
      throw new MigrationError(
        `${identifier}: the name of a cluster or a database must be a plain identifier`,
      );
}

function toTableDdl([, name = '', columns, engine = '', args, rest = '']: RegExpExecArray, cluster: Cluster) {
  const on = `ON CLUSTER ${cluster.name}`;
  if (isGlobalTable(name)) {
    const path = `'/clickhouse/tables/global/${cluster.database}/${name}', '{shard}-{replica}'`;
    const engineDdl = toReplicatedEngine(engine, path, args);
    return [
      `CREATE TABLE IF NOT EXISTS ${cluster.database}.${name} ${on}\n${columns}\nENGINE = ${engineDdl}${withReplicatedWindow(rest)}`,
    ];
  }
  const local = localName(name, cluster);
  const path = `'/clickhouse/tables/{shard}/${cluster.database}/${name}', '{replica}'`;
  const engineDdl = engine === 'Null' ? engine : toReplicatedEngine(engine, path, args);
  const shards = `'${cluster.name}', '${cluster.database}', '${name}_local', ${shardingKey(name, columns)}`;
  return [
    `CREATE TABLE IF NOT EXISTS ${local} ${on}\n${columns}\nENGINE = ${engineDdl}${withReplicatedWindow(rest)}`,
    `CREATE TABLE IF NOT EXISTS ${cluster.database}.${name} ${on} AS ${local}\nENGINE = Distributed(${shards})`,
  ];
}

function toReplicatedEngine(engine: string, path: string, args: string | undefined): string {
  if (!engine.endsWith('MergeTree'))
    throw new MigrationError(`No clustered schema is known for the engine ${engine}`);
  return `Replicated${engine}(${path}${args ? `, ${args}` : ''})`;
}

function withReplicatedWindow(rest: string): string {
  return rest.replace(
    WINDOW,
    `replicated_deduplication_window = $1, replicated_deduplication_window_seconds = ${DEDUPLICATED_FOR_SECONDS}`,
  );
}

function shardingKey(name: string, columns = ''): string {
  const key = SHARDED_BY[name] ?? BY_APP;
  const column = key.slice(key.indexOf('(') + 1, -1);
  if (!new RegExp(`^ +${column} `, 'm').test(columns))
    throw new MigrationError(`${name}: the clustered schema needs a sharding key`);
  return key;
}

function toLocalViewDdl(
  [, create, name, to = '', select, from = '', rest]: RegExpExecArray,
  cluster: Cluster,
): string {
  for (const table of [to, from])
    if (isGlobalTable(table)) throw new MigrationError(`${name}: no view can cross between shards`);
  const head = `${create} ${cluster.database}.${name} ON CLUSTER ${cluster.name}`;
  return `${head} TO ${localName(to, cluster)} AS\n${select}${localName(from, cluster)}${rest}`;
}

/** Replicated tables: altering one node is enough. Sharded tables: changes of columns apply to the local and the Distributed table. */
function toAlterDdl([, name = '', actions = '']: RegExpExecArray, cluster: Cluster): string[] {
  if (NEW_QUERY.test(actions))
    throw new MigrationError(`${name}: an altered view gives its blocks other tokens; replace it`);
  const whole = `ALTER TABLE ${cluster.database}.${name}`;
  if (isGlobalTable(name)) return [`${whole}${actions}`];
  const on = `ON CLUSTER ${cluster.name}`;
  const local = `ALTER TABLE ${localName(name, cluster)} ${on}${actions}`;
  return ABOUT_COLUMNS.test(actions) ? [local, `${whole} ${on}${actions.replace(NEW_KEY, '')}`] : [local];
}

function localName(table: string, { database }: Cluster): string {
  return `${database}.${table}_local`;
}
