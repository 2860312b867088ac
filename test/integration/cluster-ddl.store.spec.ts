import type { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { type Cluster, createDatabaseDdl, fillCluster } from '../../src/store/migrations/cluster-ddl.js';
import { readMigrations } from '../../src/store/migrations/migrate.js';
import { MigrationError } from '../../src/store/migrations/migration.error.js';
import { accountStatements, readGrants } from '../setup/account-server.js';
import { type OpenStore, openEmptyStore } from '../setup/store.js';

const CLUSTER: Cluster = { name: 'analytics', database: 'request_analytics' };
/**
 * Small tables that every node stores whole, so that joins and lookups of them are local; all others are
 * sharded.
 */
const GLOBAL_TABLES: ReadonlySet<string> = new Set([
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
  'endpoint_exclusions_v1',
  'consumer_groups_v1',
  'consumers_v1',
  'refused_senders_v1',
  'release_marks_v1',
  'alert_rules_v1',
  'alert_states_v1',
  'alert_messages_v1',
]);
const NAME = /^CREATE (?:OR REPLACE )?(?:TABLE|MATERIALIZED VIEW) (?:IF NOT EXISTS )?([\w.]+)/;
const VIEW = /^CREATE (?:OR REPLACE )?MATERIALIZED VIEW /;
const ROLES = ['reader', 'collector'].map((role) => `request_analytics_${role}`);

const without = (sql: string) => sql.replace(/^\s*--.*$/gm, '').trim();

describe('the cluster form of the migrations', () => {
  let open: OpenStore;
  let store: ClickHouse;
  let single: string[];
  let form: string[];

  beforeAll(async () => {
    open = await openEmptyStore();
    store = open.store;
    const migrations = await readMigrations();
    single = migrations.flatMap(({ statements }) => statements.map(without));
    form = migrations.flatMap(({ clustered }) => clustered.map((sql) => without(fillCluster(sql, CLUSTER))));
  });

  afterAll(() => open.remove());

  /** The statement as the engine's parser reads it and writes it again. */
  async function parsed(statement: string): Promise<string> {
    const [row] = await store.rows<{ sql: string }>('test.parse', 'SELECT formatQuery({s:String}) AS sql', {
      s: statement,
    });
    return row!.sql;
  }

  const named = (name: string) => form.find((sql) => NAME.exec(sql)?.[1] === `request_analytics.${name}`);
  const tables = () => single.flatMap((sql) => /^CREATE TABLE IF NOT EXISTS (\w+)/.exec(sql)?.[1] ?? []);

  it('is read by the engine’s parser, statement by statement', async () => {
    for (const sql of [createDatabaseDdl(CLUSTER), ...form]) expect(await parsed(sql)).not.toBe('');
  });

  it('is made on every node, and named with its database', async () => {
    // One node inserts, and replication copies the rows.
    for (const sql of form.filter((statement) => !statement.startsWith('INSERT'))) {
      expect(await parsed(sql)).toMatch(/^[^(]* ON CLUSTER analytics\b/);
      expect(NAME.exec(sql)![1]).toMatch(/^request_analytics\.\w+$/);
    }
  });

  it('keeps no rows but in replicated tables', async () => {
    const engines = await Promise.all(
      form.map(async (sql) => /^ENGINE = `?(\w+)/m.exec(await parsed(sql))?.[1]),
    );
    const distinct = [...new Set(engines)].sort();
    expect(distinct).toEqual(
      expect.arrayContaining(['Distributed', 'Null', 'ReplicatedMergeTree', 'ReplicatedReplacingMergeTree']),
    );
    for (const engine of distinct)
      expect(engine ?? 'Null').toMatch(/^(?:Null|Distributed|Replicated\w*MergeTree)$/);
  });

  it('gives each table its name: whole on every node, or as Distributed over the rows of the shards', () => {
    expect(tables().length).toBeGreaterThan(20);
    for (const table of tables()) {
      const rows = named(GLOBAL_TABLES.has(table) ? table : `${table}_local`);
      const path = GLOBAL_TABLES.has(table)
        ? `'/clickhouse/tables/global/request_analytics/${table}', '{shard}-{replica}'`
        : `'/clickhouse/tables/{shard}/request_analytics/${table}', '{replica}'`;
      if (!rows!.includes('ENGINE = Null')) expect(rows).toContain(path);
      if (GLOBAL_TABLES.has(table)) expect(named(`${table}_local`)).toBeUndefined();
      else
        expect(named(table)).toMatch(
          `ENGINE = Distributed('analytics', 'request_analytics', '${table}_local', `,
        );
    }
  });

  it('keeps columns, keys, partitions, arguments, retention and settings', async () => {
    for (const table of tables()) {
      const sql = single.find((statement) => statement.startsWith(`CREATE TABLE IF NOT EXISTS ${table}\n`))!;
      const rows = named(GLOBAL_TABLES.has(table) ? table : `${table}_local`)!;
      const back = rows
        .replace(/request_analytics\.(\w+?)(?:_local)? ON CLUSTER analytics/, '$1')
        .replace(/Replicated(\w+)\('[^']+', '[^']+'(?:, )?/, '$1(')
        .replace(
          /replicated_deduplication_window = (\d+), replicated_deduplication_window_seconds = 604800/,
          'non_replicated_deduplication_window = $1',
        )
        .replace('MergeTree()', 'MergeTree');
      expect(await parsed(back)).toBe(await parsed(sql));
    }
  });

  it('leads views from the rows of a shard to rows of the same shard', () => {
    const views = form.filter((statement) => VIEW.test(statement));
    expect(views).toHaveLength(single.filter((statement) => VIEW.test(statement)).length);
    for (const view of views)
      expect(view).toMatch(/ TO request_analytics\.\w+_local AS\n[^]*\bFROM request_analytics\.\w+_local\b/);
  });

  it('shards what belongs to an app by the app, and messages as their batches', () => {
    const getKey = (table: string) => /, (\w+\(\w+\))\)$/.exec(named(table)!)?.[1];
    for (const table of tables().filter((table) => !GLOBAL_TABLES.has(table)))
      expect([table, getKey(table)]).toEqual([
        table,
        table.startsWith('ingest_') ? 'sipHash64(batch_id)' : 'sipHash64(app_id)',
      ]);
  });

  it.each(ROLES)('lets %s read and write on the shards what it may by name', (role) => {
    // Grants on the engine's own tables hold on every node.
    const isSharded = (grant: string) => {
      const table = / ON (\w+)$/.exec(grant)?.[1];
      return table !== undefined && !GLOBAL_TABLES.has(table);
    };
    const twins = readGrants(role)
      .filter(isSharded)
      .map((grant) => `${grant}_local`);
    expect(twins.length).toBeGreaterThan(0);
    expect(readGrants(role, 'cluster.sql').sort()).toEqual(twins.sort());
  });

  it.each(['roles.sql', 'users.sql', 'cluster.sql'])('has accounts the parser reads: %s', async (file) => {
    for (const sql of accountStatements(file)) expect(await parsed(sql)).not.toBe('');
  });
});

describe('fillCluster', () => {
  it('leaves what each server fills in', () => {
    expect(fillCluster("{database}.x ON CLUSTER {cluster} '{shard}' '{replica}'", CLUSTER)).toBe(
      "request_analytics.x ON CLUSTER analytics '{shard}' '{replica}'",
    );
  });

  it.each(['', 'a b', "x'", 'a-b', '{cluster}'])('rejects %j as the name of a cluster', (name) => {
    expect(() => fillCluster('INSERT INTO x VALUES (1)', { ...CLUSTER, name })).toThrow(MigrationError);
    expect(() => createDatabaseDdl({ ...CLUSTER, database: name })).toThrow(MigrationError);
  });
});
