import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { Config } from '../../src/config/config.js';
import { startAs } from '../setup/account-server.js';
import type { ConfiguredServer } from '../setup/configured-server.js';
import { prepare } from '../setup/data-directory.js';
import { type Ended, ProductProcess } from '../setup/product-process.js';
import { type RedisAddress, describeWithRedis, openRedis } from '../setup/redis.js';

const REQUESTS = 20;

/** With the grants of the owner, as the engine enforces them. */
describeWithRedis('backup and restore on a server', () => {
  const place = mkdtempSync(join(tmpdir(), 'backup-server-'));
  const data = join(place, 'data');
  let redis: RedisAddress;
  let server: ConfiguredServer;
  let store: ClickHouse;

  beforeAll(async () => {
    await prepare({ DATA_DIR: data }, REQUESTS);
    const configuration = `<backups><allowed_path>${place}/files</allowed_path><allowed_disk>backups</allowed_disk></backups>
<storage_configuration><disks><backups><type>local</type><path>${place}/disk/</path></backups></disks></storage_configuration>`;
    [redis, server] = await Promise.all([
      openRedis(),
      startAs('request_analytics_owner', data, configuration),
    ]);
    store = await ClickHouse.open(new Config(server.env));
  });

  afterAll(async () => {
    await store.close();
    await server.stop();
    await redis.stop();
    rmSync(place, { recursive: true });
  });

  const run = (args: string[], env: NodeJS.ProcessEnv = { REDIS_URL: redis.url }) =>
    ProductProcess.run(args, { ...server.env, ...env });
  const readResult = ({ code, out, err }: Ended) => {
    expect([code, code === 0 ? '' : err.join('\n')]).toEqual([0, '']);
    return JSON.parse(out[0] ?? 'null') as Record<string, unknown>;
  };
  const readError = ({ code, err }: Ended) => [code, err.find((line) => line.startsWith('error: '))];
  const count = async (table: string) =>
    (await store.rows<{ n: number }>('test.count', `SELECT count() AS n FROM ${table}`))[0]?.n;
  const hasTable = async (name: string) =>
    (
      await store.rows('test.table', `SELECT 1 AS one FROM system.tables WHERE name = {name:String}`, {
        name,
      })
    ).length > 0;

  it('refuses a backup when it cannot make collectors wait', async () => {
    expect(readError(await run(['backup', 'first'], {}))).toEqual([
      1,
      'error: Without REDIS_URL the collectors cannot be made to wait: stop them and say so with --writers-stopped',
    ]);
    expect(readResult(await run(['backup', 'stopped', '--writers-stopped'], {}))).toMatchObject({
      backup: 'stopped',
    });
  });

  it('makes a backup, an increment on a disk, and checks both without a trace', async () => {
    const made = readResult(await run(['backup', 'first']));
    expect(made).toEqual({
      backup: 'first',
      tables: expect.any(Number),
      rows: expect.any(Number),
      bytes: expect.any(Number),
    });
    expect(existsSync(join(place, 'files/first/.backup'))).toBe(true);
    readResult(await run(['team', 'create', '--name', 'Later']));
    readResult(await run(['backup', 'disk:backups/second', '--base', 'first']));
    expect(readResult(await run(['restore', 'first', '--check']))).toMatchObject({
      tables: made.tables,
      checked: true,
    });
    const checked = readResult(await run(['restore', 'disk:backups/second', '--check']));
    expect(checked).toMatchObject({ tables: made.tables, checked: true });
    expect(
      await store.rows('test.databases', `SELECT name FROM system.databases WHERE name LIKE '%check%'`),
    ).toEqual([]);
  });

  it('says what is wrong', async () => {
    for (const [args, message] of [
      [['backup', 'first'], /^error: The backup failed: Backup File\('first'\) already exists/],
      [['backup', 'disk:first'], /^error: disk:first must be like disk:NAME\/PATH$/],
      [
        ['restore', 'other', '--check'],
        /^error: The backup cannot be restored: Backup File\('other'\) not found/,
      ],
      [['restore', 'first'], /^error: There is a store in default: --replace puts the backup in its place$/],
    ] as const)
      expect(readError(await run([...args]))).toEqual([1, expect.stringMatching(message)]);
  });

  it('replaces the store only when the backup is whole, and goes on after a restore that was interrupted', async () => {
    expect(readError(await run(['restore', 'other', '--replace']))[0]).toBe(1);
    expect(await count('teams_v1')).toBe(2);
    expect(readResult(await run(['restore', 'first', '--replace']))).toMatchObject({
      backup: 'first',
      restored: true,
    });
    expect([await count('teams_v1'), await count('request_logs_v1')]).toEqual([1, REQUESTS]);
    // What a restore leaves that is killed before its last step.
    await store.command('DROP TABLE schema_migrations SYNC');
    await store.command('DROP TABLE api_keys_v1 SYNC');
    readResult(await run(['restore', 'disk:backups/second']));
    expect([await count('teams_v1'), await count('request_logs_v1')]).toEqual([2, REQUESTS]);
    expect(await hasTable('request_counts_mv')).toBe(true);
    expect((await run(['verify'])).code).toBe(0);
  });
});
