import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { type Migration, migrate, readMigrations } from '../../src/store/migrations/migrate.js';
import { MigrationError } from '../../src/store/migrations/migration.error.js';
import { type Batch, BatchLog } from '../../src/write/batch-log.js';
import { COUNTS_TABLES, SELECT_TOTALS } from '../setup/rollups.js';
import { type OpenStore, openEmptyStore, reopen } from '../setup/store.js';

const SCHEMA = `
SELECT name, create_table_query FROM system.tables
WHERE database = currentDatabase() AND NOT startsWith(name, '.') ORDER BY name`;

describe('migrate', () => {
  let open: OpenStore;
  let store: ClickHouse;
  let migrations: Migration[];

  beforeEach(async () => {
    open = await openEmptyStore();
    store = open.store;
    migrations = await readMigrations();
  });

  afterEach(() => open.remove());

  const schema = () => store.rows<{ name: string; create_table_query: string }>('test.schema', SCHEMA);
  const entered = async () => {
    const sql = 'SELECT version, name, checksum FROM schema_migrations ORDER BY version, applied_at';
    return store.rows<Pick<Migration, 'version' | 'name' | 'checksum'>>('test.migrations', sql);
  };
  const secrets = () => store.rows<{ value: string }>('test.secrets', 'SELECT value FROM secrets_v1');

  it('takes an empty store to this version, and enters each migration once', async () => {
    const applied = await migrate(store);
    expect(applied.map(({ name }) => name)).toEqual(migrations.map(({ name }) => name));
    expect(await entered()).toEqual(
      migrations.map(({ version, name, checksum }) => ({ version, name, checksum })),
    );
    const names = (await schema()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['requests', 'request_logs_v1', 'counts_per_15m_v1']));
  });

  it('changes nothing when it runs again', async () => {
    await migrate(store);
    const before = [await schema(), await entered(), await secrets()];
    expect(await migrate(store)).toEqual([]);
    expect([await schema(), await entered(), await secrets()]).toEqual(before);
  });

  it('applies what a newer version adds, and keeps the data', async () => {
    await migrate(store, migrations.slice(0, 4));
    const [before] = await secrets();
    expect((await migrate(store)).map(({ version }) => version)).toEqual(
      migrations.slice(4).map(({ version }) => version),
    );
    expect(await secrets()).toEqual([before]);
  });

  describe('and a batch that is written again', () => {
    /** Two requests, one of them without consumer, in each table. */
    const buildBatch = (): Batch => {
      const timestamp = Date.now() - 60_000;
      const rows = [0, 3].map((consumer_id) =>
        JSON.stringify({
          app_id: 1,
          timestamp,
          app_env_id: 1,
          endpoint_id: 1,
          consumer_id,
          requests: 1,
          bytes_received: 0,
          bytes_sent: 0,
          bins: [['time', -80, 1]],
        }),
      );
      const messages = [{ app_id: 1, message_uuid: randomUUID() }];
      const pieces = [{ table: 'request_counts' as const, rows: rows.join() }];
      return { id: randomUUID(), createdAt: Math.floor(timestamp / 1000), messages, pieces };
    };
    /** As a process does that is killed before it notes that the batch is applied. */
    const leave = async (batch: Batch) => {
      const log = new BatchLog(store);
      await log.append(batch);
      await log.apply(batch);
    };
    const totals = async () => {
      const [row] = await store.rows('test.totals', SELECT_TOTALS);
      return row;
    };
    const twoEach = Object.fromEntries(COUNTS_TABLES.map((table) => [table, [2, 2]]));

    it('counts it once if the schema is of the same start', async () => {
      await migrate(store);
      await leave(buildBatch());
      store = await reopen(open);
      expect((await new BatchLog(store).recover(0)).completed).toBe(1);
      expect(await totals()).toEqual(twoEach);
    });

    it('counts it once if views have been replaced since, as a later migration may do', async () => {
      await migrate(store);
      await leave(buildBatch());
      store = await reopen(open);
      const views = migrations
        .flatMap(({ statements }) => statements)
        .filter((sql) => sql.includes('CREATE MATERIALIZED VIEW IF NOT EXISTS'));
      for (const sql of views)
        await store.command(
          sql.replace('CREATE MATERIALIZED VIEW IF NOT EXISTS', 'CREATE OR REPLACE MATERIALIZED VIEW'),
        );
      expect((await new BatchLog(store).recover(0)).completed).toBe(1);
      expect(await totals()).toEqual(twoEach);
    });

    it('is of no view that was altered: its blocks would get other tokens', () => {
      const statements = migrations.flatMap(({ statements }) => statements);
      expect(statements.filter((sql) => /\bMODIFY QUERY\b/.test(sql))).toEqual([]);
    });
  });

  it('continues a migration that was cut short, wherever it was', async () => {
    // Cut behind each statement of each migration in turn; each time the next try begins with the first
    // statement.
    await migrate(store, []);
    for (const { version, statements } of migrations) {
      for (let cut = 1; cut <= statements.length; cut++)
        for (const statement of statements.slice(0, cut)) await store.command(statement);
      await migrate(store, migrations.slice(0, version));
    }
    const interrupted = await schema();
    expect(await secrets()).toHaveLength(1);
    expect(await entered()).toHaveLength(migrations.length);
    await open.remove();
    open = await openEmptyStore();
    store = open.store;
    await migrate(store);
    const names = (tables: typeof interrupted) => tables.map(({ name }) => name);
    expect(names(interrupted)).toEqual(names(await schema()));
  });

  it('does not enter a migration that failed, and applies its repaired file', async () => {
    const broken = (statements: string[]) => ({
      version: 1,
      name: '0001_x.sql',
      checksum: 'c',
      statements,
      clustered: [],
    });
    const create = 'CREATE TABLE IF NOT EXISTS x (n UInt8) ENGINE = MergeTree ORDER BY n';
    await expect(migrate(store, [broken([create, 'CREATE NONSENSE'])])).rejects.toThrow();
    expect(await entered()).toEqual([]);
    const repaired = { ...broken([create, 'INSERT INTO x VALUES (7)']), checksum: 'd' };
    expect(await migrate(store, [repaired])).toHaveLength(1);
    expect(await store.rows('test.x', 'SELECT n FROM x')).toEqual([{ n: 7 }]);
  });

  it('rejects a file that was changed after it was applied, and then applies nothing', async () => {
    await migrate(store, migrations.slice(0, 3));
    const changed = migrations.map((migration) =>
      migration.version === 2 ? { ...migration, checksum: 'other' } : migration,
    );
    const refusal = migrate(store, changed);
    await expect(refusal).rejects.toThrow(MigrationError);
    await expect(refusal).rejects.toThrow(/^0002_\w+\.sql was changed after it was applied/);
    expect(await entered()).toHaveLength(3);
  });

  it('rejects a store that is ahead of this version', async () => {
    await migrate(store);
    const refusal = migrate(store, migrations.slice(0, -1));
    await expect(refusal).rejects.toThrow(MigrationError);
    await expect(refusal).rejects.toThrow(migrations.at(-1)!.name);
  });
});

describe('readMigrations', () => {
  const directory = mkdtempSync(join(tmpdir(), 'migrations-'));
  const write = (name: string, text: string) => {
    writeFileSync(join(directory, name), text);
  };

  afterAll(() => {
    rmSync(directory, { recursive: true });
  });

  it('numbers the product’s own files from 1 without a gap', async () => {
    const versions = (await readMigrations()).map(({ version }) => version);
    expect(versions).toEqual(versions.map((_, index) => index + 1));
    expect(versions.length).toBeGreaterThan(10);
  });

  it('splits a file at its marks alone, not at semicolons, and knows it by its content', async () => {
    write('0001_a.sql', "-- first\nSELECT ';';\n-- statement\nSELECT 2 -- statement\n");
    write('README.md', 'not a migration');
    const [migration] = await readMigrations(directory);
    expect(migration!.statements).toEqual(["-- first\nSELECT ';'", 'SELECT 2 -- statement']);
    expect(migration!.clustered).toEqual(migration!.statements);
    expect(migration!.checksum).toMatch(/^[0-9a-f]{64}$/);
    write('0001_a.sql', "-- first\nSELECT ';';\n-- statement\nSELECT 2 -- statement\n ");
    const [changed] = await readMigrations(directory);
    expect(changed!.checksum).not.toBe(migration!.checksum);
  });

  it('reads the lines and statements of a cluster beside those of a single server', async () => {
    const single = 'CREATE TABLE x\n(\n    n UInt8\n)\nENGINE = MergeTree';
    write(
      '0001_a.sql',
      `${single.replace('\n(', '\n-- cluster: CREATE TABLE {database}.x ON CLUSTER {cluster}\n(')};
-- cluster: ENGINE = ReplicatedMergeTree('{shard}', '{replica}');
-- cluster statement
SELECT 2;
-- statement
SELECT 3;
`,
    );
    const [migration] = await readMigrations(directory);
    expect(migration!.statements).toEqual([single, 'SELECT 3']);
    expect(migration!.clustered).toEqual([
      "CREATE TABLE {database}.x ON CLUSTER {cluster}\n(\n    n UInt8\n)\nENGINE = ReplicatedMergeTree('{shard}', '{replica}')",
      'SELECT 2',
      'SELECT 3',
    ]);
  });

  it.each(['0003_gap.sql', '0001_twice.sql', 'nameless.sql', '0002_Big.sql'])('rejects %s', async (name) => {
    write('0001_a.sql', 'SELECT 1');
    write(name, 'SELECT 1');
    const refusal = readMigrations(directory);
    await expect(refusal).rejects.toThrow(MigrationError);
    rmSync(join(directory, name));
  });
});
