import type { ClickHouse } from '../../src/clickhouse/clickhouse.client.js';
import {
  type Cluster,
  createDatabaseDdl,
  isGlobalTable,
  toClusterDdl,
} from '../../src/clickhouse/migrations/cluster-ddl.js';
import { readMigrations } from '../../src/clickhouse/migrations/migrate.js';
import { MigrationError } from '../../src/clickhouse/migrations/migration.error.js';
import { accountStatements, readGrants } from '../setup/account-server.js';
import { type OpenStore, openEmptyStore } from '../setup/store.js';

const CLUSTER: Cluster = { name: 'analytics', database: 'request_analytics' };
const NAME = /^CREATE (?:OR REPLACE )?(?:TABLE|MATERIALIZED VIEW) (?:IF NOT EXISTS )?([\w.]+)/;
const VIEW = /^CREATE (?:OR REPLACE )?MATERIALIZED VIEW /;
const ROLES = ['reader', 'collector'].map((role) => `request_analytics_${role}`);

const without = (sql: string) => sql.replace(/^\s*--.*$/gm, '').trim();
const toDdl = (sql: string) => toClusterDdl(sql, CLUSTER);

describe('the cluster form of the migrations', () => {
  let open: OpenStore;
  let store: ClickHouse;
  let single: string[];
  let form: string[];

  beforeAll(async () => {
    open = await openEmptyStore();
    store = open.store;
    single = (await readMigrations()).flatMap(({ statements }) => statements.map(without));
    form = single.flatMap(toDdl);
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
    for (const sql of form.filter((one) => one.startsWith('CREATE'))) {
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
      const rows = named(isGlobalTable(table) ? table : `${table}_local`);
      const path = isGlobalTable(table)
        ? `'/clickhouse/tables/global/request_analytics/${table}', '{shard}-{replica}'`
        : `'/clickhouse/tables/{shard}/request_analytics/${table}', '{replica}'`;
      if (!rows!.includes('ENGINE = Null')) expect(rows).toContain(path);
      if (isGlobalTable(table)) expect(named(`${table}_local`)).toBeUndefined();
      else
        expect(named(table)).toMatch(
          `ENGINE = Distributed('analytics', 'request_analytics', '${table}_local', `,
        );
    }
  });

  it('keeps columns, keys, partitions, arguments, retention and settings', async () => {
    for (const sql of single.filter((one) => one.startsWith('CREATE TABLE'))) {
      const [rows] = toDdl(sql);
      const back = rows!
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
    const views = form.filter((one) => VIEW.test(one));
    expect(views).toHaveLength(single.filter((one) => VIEW.test(one)).length);
    for (const view of views)
      expect(view).toMatch(/ TO request_analytics\.\w+_local AS\n[^]*\bFROM request_analytics\.\w+_local\b/);
  });

  it('shards what belongs to an app by the app, and messages as their batches', () => {
    const getKey = (table: string) => /, (\w+\(\w+\))\)$/.exec(named(table)!)?.[1];
    for (const table of tables().filter((one) => !isGlobalTable(one)))
      expect([table, getKey(table)]).toEqual([
        table,
        table.startsWith('ingest_') ? 'sipHash64(batch_id)' : 'sipHash64(app_id)',
      ]);
  });

  it.each(ROLES)('lets %s read and write on the shards what it may by name', (role) => {
    // Grants on the engine's own tables hold on every node.
    const isSharded = (grant: string) => {
      const table = / ON (\w+)$/.exec(grant)?.[1];
      return table !== undefined && !isGlobalTable(table);
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

describe('toClusterDdl', () => {
  it('changes a sharded table on its shards, and its columns before them as well', () => {
    expect(toDdl('ALTER TABLE request_logs_v1 MODIFY TTL toDateTime(timestamp) + INTERVAL 30 DAY')).toEqual([
      'ALTER TABLE request_analytics.request_logs_v1_local ON CLUSTER analytics MODIFY TTL toDateTime(timestamp) + INTERVAL 30 DAY',
    ]);
    expect(toDdl('ALTER TABLE request_logs_v1 ADD COLUMN IF NOT EXISTS x UInt8')).toEqual([
      'ALTER TABLE request_analytics.request_logs_v1_local ON CLUSTER analytics ADD COLUMN IF NOT EXISTS x UInt8',
      'ALTER TABLE request_analytics.request_logs_v1 ON CLUSTER analytics ADD COLUMN IF NOT EXISTS x UInt8',
    ]);
  });

  it('changes the key of a sharded table where its rows are', () => {
    expect(
      toDdl('ALTER TABLE counts_per_15m_v1\n    ADD COLUMN x Bool,\n    MODIFY ORDER BY (app_id, x)'),
    ).toEqual([
      'ALTER TABLE request_analytics.counts_per_15m_v1_local ON CLUSTER analytics\n    ADD COLUMN x Bool,\n    MODIFY ORDER BY (app_id, x)',
      'ALTER TABLE request_analytics.counts_per_15m_v1 ON CLUSTER analytics\n    ADD COLUMN x Bool',
    ]);
  });

  it('changes what a view reads on its shard', () => {
    expect(
      toDdl(
        'CREATE OR REPLACE MATERIALIZED VIEW logged_requests_mv TO logged_requests AS\nSELECT * FROM requests WHERE NOT excluded_from_logs',
      ),
    ).toEqual([
      'CREATE OR REPLACE MATERIALIZED VIEW request_analytics.logged_requests_mv ON CLUSTER analytics TO request_analytics.logged_requests_local AS\nSELECT * FROM request_analytics.requests_local WHERE NOT excluded_from_logs',
    ]);
  });

  it('changes a table that is everywhere once: replication carries it on', () => {
    expect(toDdl('-- Why.\nALTER TABLE teams_v1 ADD COLUMN IF NOT EXISTS x UInt8')).toEqual([
      'ALTER TABLE request_analytics.teams_v1 ADD COLUMN IF NOT EXISTS x UInt8',
    ]);
  });

  it.each([
    'DROP TABLE teams_v1',
    'RENAME TABLE a TO b',
    'ALTER TABLE logged_requests_mv MODIFY QUERY\nSELECT * FROM requests',
    'CREATE TABLE IF NOT EXISTS x\n(\n    app_id UInt32\n)\nENGINE = Log',
    'CREATE TABLE IF NOT EXISTS x\n(\n    n UInt32\n)\nENGINE = MergeTree\nORDER BY n',
    'CREATE MATERIALIZED VIEW IF NOT EXISTS v TO teams_v1 AS\nSELECT * FROM requests',
  ])('rejects what it knows no form for: %j', (sql) => {
    expect(() => toDdl(sql)).toThrow(MigrationError);
  });

  it.each(['', 'a b', "x'", 'a-b', '{cluster}'])('rejects %j as the name of a cluster', (name) => {
    expect(() => toClusterDdl('INSERT INTO x VALUES (1)', { ...CLUSTER, name })).toThrow(MigrationError);
    expect(() => createDatabaseDdl({ ...CLUSTER, database: name })).toThrow(MigrationError);
  });
});
