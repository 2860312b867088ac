import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { Redis } from 'ioredis';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { migrate } from '../../src/store/migrations/migrate.js';
import { Config } from '../../src/config/config.js';
import { DoctorRepository } from '../../src/ops/doctor/doctor.repository.js';
import { type CheckResult, checkProcess, checkStore } from '../../src/ops/doctor/doctor.js';
import { BatchLog } from '../../src/write/batch-log.js';
import { readGrants, startAs } from '../setup/account-server.js';
import { ConfiguredServer } from '../setup/configured-server.js';
import { prepare } from '../setup/data-directory.js';
import { ProductProcess } from '../setup/product-process.js';
import { RedisServer, describeWithRedisServer } from '../setup/redis.js';
import { copyStore } from '../setup/schema.js';

/** Preloaded: the clock is an hour ahead. */
const AHEAD = `data:text/javascript,${encodeURIComponent('const now = Date.now; Date.now = () => now() + 3_600_000;')}`;

/** Preloaded: the package of the engine is not there, as in the image for a server. */
const WITHOUT_ENGINE = `data:text/javascript,${encodeURIComponent(`
import * as nodeModule from 'node:module';
function resolve(specifier, context, next) {
  if (!/^chdb/.test(specifier)) return next(specifier, context);
  throw Object.assign(new Error('not installed'), { code: 'ERR_MODULE_NOT_FOUND' });
}
if (nodeModule.registerHooks) nodeModule.registerHooks({ resolve });
else nodeModule.register('data:text/javascript,' + encodeURIComponent('export ' + resolve));
`)}`;

const HOUR_MS = 3_600_000;

type Found = Pick<CheckResult, 'check' | 'finding' | 'cure'>;

// The embedded engine, on directories of its own.
(process.env.CLICKHOUSE_URL === undefined ? describeWithRedisServer : describe.skip)('doctor', () => {
  const place = mkdtempSync(join(tmpdir(), 'doctor-'));
  const directory = join(place, 'data');
  const env: NodeJS.ProcessEnv = { DATA_DIR: directory };
  let redis: RedisServer;
  let client: Redis;
  let store: ClickHouse;
  let appId: number;
  /** The file with the rows of a table, below the data directory. */
  let file: string;

  beforeAll(async () => {
    ({ appId } = await prepare(env));
    redis = await RedisServer.start();
    env.REDIS_URL = redis.url;
    client = new Redis(redis.url);
    await client.config('SET', 'appendonly', 'yes');
    // Before the engine opens it: merges move files.
    for (const name of ['whole', 'flipped', 'missing', 'server']) copyStore(directory, join(place, name));
    store = await ClickHouse.open(new Config(env));
    file = relative(directory, join(await findPath('request_logs_v1'), 'data.bin'));
  });

  afterAll(async () => {
    await ProductProcess.endAll();
    client.disconnect();
    await store.close();
    await redis.stop();
    rmSync(place, { recursive: true });
  });

  async function findPath(table: string): Promise<string> {
    const [part] = await store.rows<{ path: string }>(
      'test.path',
      'SELECT path FROM system.parts WHERE active AND table = {table:String} AND database = currentDatabase() LIMIT 1',
      { table },
    );
    return part!.path;
  }

  const select = (results: readonly CheckResult[]): Found[] =>
    results
      .filter(({ status }) => status === 'finding')
      .map(({ check, finding, cure }) => ({ check, finding, cure }));
  const collect = async (results: AsyncIterable<CheckResult>) => {
    const all: CheckResult[] = [];
    for await (const result of results) all.push(result);
    return select(all);
  };
  const checkOpen = (of = store, config = new Config(env)) =>
    collect(checkStore(new DoctorRepository(of), config));
  const found = (check: string, finding: RegExp): Found => ({
    check,
    finding: expect.stringMatching(finding) as string,
    cure: expect.stringMatching(/^[A-Z][^]+\.$/) as string,
  });
  const run = async (more: NodeJS.ProcessEnv, nodeOptions: string[] = []) => {
    const { code, out } = await ProductProcess.run(['doctor'], { ...env, ...more }, { nodeOptions });
    return { code, found: select(out.map((line) => JSON.parse(line) as CheckResult)) };
  };

  it('finds nothing in a healthy store, beside a server and without one', async () => {
    expect(await checkOpen()).toEqual([]);
    expect(
      await collect(checkProcess(new Config({ ...env, TRUST_PROXY: '1', PUBLIC_PATH: '/analytics' }))),
    ).toEqual([]);
    const DATA_DIR = join(place, 'whole');
    const alone = await ProductProcess.run(['doctor'], { ...env, DATA_DIR }, { terminal: true });
    expect([alone.code, alone.out[0]]).toEqual([0, expect.stringMatching(/^CHECK +STATUS +FINDING +CURE$/)]);
    const server = await ProductProcess.start(['serve'], { ...env, DATA_DIR });
    expect(await run({ DATA_DIR })).toEqual({ code: 0, found: [] });
    await server.stop();
  });

  it.each<[string, NodeJS.ProcessEnv, RegExp]>([
    ['proxy', { TRUST_PROXY: 'true' }, /believes every address/],
    ['proxy', { PUBLIC_PATH: '/analytics' }, /all clients count as one address/],
  ])('finds a fault of the setting for the %s in %j', async (check, more, finding) => {
    expect(await collect(checkProcess(new Config({ ...env, ...more })))).toEqual([found(check, finding)]);
  });

  it('finds access of other accounts', async () => {
    chmodSync(directory, 0o755);
    expect(await collect(checkProcess(new Config(env)))).toEqual([found('data directory', /mode 755/)]);
    chmodSync(directory, 0o700);
  });

  it.each<[string, () => Promise<unknown>, RegExp, () => Promise<unknown>]>([
    [
      'evicts keys',
      () => client.config('SET', 'maxmemory-policy', 'allkeys-lru'),
      /evicts keys when its memory is full \(allkeys-lru\)/,
      () => client.config('SET', 'maxmemory-policy', 'noeviction'),
    ],
    [
      'keeps nothing',
      () => client.config('SET', 'appendonly', 'no'),
      /keeps nothing over a restart/,
      () => client.config('SET', 'appendonly', 'yes'),
    ],
  ])('finds that Redis %s', async (_, plant, finding, undo) => {
    await plant();
    expect(await collect(checkProcess(new Config(env)))).toEqual([found('redis', finding)]);
    await undo();
  });

  it('finds that Redis does not respond, within seconds', async () => {
    redis.freeze();
    expect(await collect(checkProcess(new Config(env)))).toEqual([
      found('redis', /Redis is not available: /),
    ]);
    redis.thaw();
    const REDIS_URL = 'redis://127.0.0.1:1';
    expect(await collect(checkProcess(new Config({ ...env, REDIS_URL })))).toEqual([
      found('redis', /Redis is not available: .*ECONNREFUSED/),
    ]);
  });

  const LAST = `SELECT name FROM schema_migrations ORDER BY version DESC LIMIT 1`;

  /** As a block that reached the hours but not the quarter-hours. */
  const addToHour = (time: number) => {
    const bucket = `${new Date(time).toISOString().slice(0, 13).replace('T', ' ')}:00:00`;
    return store.insert('counts_per_hour_v1', [
      JSON.stringify({ app_id: appId, measure: 'requests', bucket, n: 7 }),
    ]);
  };
  const removeFromHours = () =>
    store.command('ALTER TABLE counts_per_hour_v1 DELETE WHERE app_env_id = 0 SETTINGS mutations_sync = 2');

  it('finds nothing in totals of today, which differ while requests arrive', async () => {
    await addToHour(Date.now());
    expect(await checkOpen()).toEqual([]);
    await removeFromHours();
  });

  it.each<[string, () => Promise<unknown>, () => Promise<unknown>, Found]>([
    [
      'a migration that has not run',
      () => store.command(`DELETE FROM schema_migrations WHERE name = (${LAST})`),
      () => migrate(store),
      found('schema', /^migrations that have not run: \d{4}_\w+\.sql$/),
    ],
    [
      'a migration that was changed',
      () => insertMigration(1, 'changed'),
      async () => {
        await store.command(`DELETE FROM schema_migrations WHERE checksum = 'changed'`);
        // A merge may have replaced the row before it.
        await migrate(store);
      },
      found('schema', /^0001_\w+\.sql was changed/),
    ],
    [
      'a schema of a newer version',
      () => insertMigration(9999, 'newer'),
      () => store.command(`DELETE FROM schema_migrations WHERE checksum = 'newer'`),
      found('schema', /which this version does not know/),
    ],
    [
      'a table without its TTL',
      () => store.command('ALTER TABLE errors_v1 REMOVE TTL'),
      () =>
        store.command(
          'ALTER TABLE errors_v1 MODIFY TTL toDateTime(timestamp) + INTERVAL 15 DAY + INTERVAL 1 SECOND',
        ),
      found('retention', /^errors_v1 has no TTL/),
    ],
    [
      'a table with another TTL',
      () =>
        store.command(
          'ALTER TABLE spans_v1 MODIFY TTL toDateTime(intDiv(start_time_ns, 1000000000)) + INTERVAL 90 DAY',
        ),
      () =>
        store.command(
          `ALTER TABLE spans_v1 MODIFY TTL toDateTime(intDiv(start_time_ns, 1000000000), 'UTC') + INTERVAL 15 DAY + INTERVAL 1 SECOND`,
        ),
      found('retention', /^spans_v1 has the TTL .*toIntervalDay\(90\)/),
    ],
    [
      'too many parts',
      async () => {
        await store.command('SYSTEM STOP MERGES secrets_v1');
        await store.command(
          `INSERT INTO secrets_v1 (name) SELECT toString(number) FROM numbers(310)
           SETTINGS max_block_size = 1, min_insert_block_size_rows = 1, max_insert_threads = 1`,
        );
      },
      async () => {
        await store.command('SYSTEM START MERGES secrets_v1');
        await store.command('OPTIMIZE TABLE secrets_v1 FINAL');
      },
      found('parts', /^secrets_v1 has 31\d parts in one partition/),
    ],
    [
      'a mutation that does not end',
      () =>
        store.command(
          `ALTER TABLE teams_v1 DELETE WHERE throwIf(id > 0, 'planted') SETTINGS mutations_sync = 0`,
        ),
      () => store.command(`KILL MUTATION WHERE table = 'teams_v1'`),
      found('mutations and merges', /^the mutation \S+ of teams_v1 does not end: .*planted/),
    ],
    [
      'a part that the engine set aside',
      async () => {
        mkdirSync(join(await findPath('endpoints_v1'), '../detached/broken-on-start_all_7_7_0'));
      },
      async () => {
        rmSync(join(await findPath('endpoints_v1'), '../detached/broken-on-start_all_7_7_0'), {
          recursive: true,
        });
      },
      found('tables', /^endpoints_v1, part broken-on-start_all_7_7_0: set aside/),
    ],
    [
      'a batch that is not applied',
      () =>
        new BatchLog(store).append({
          id: '00000000-0000-0000-0000-00000000000a',
          createdAt: Math.floor(Date.now() / 1000) - 120,
          messages: [],
          pieces: [],
        }),
      () => new BatchLog(store).recover(0),
      found('collector', /^1 batches are acknowledged but not applied/),
    ],
    [
      'spans that are not counted',
      () =>
        store.insert('pending_counts_v1', [
          JSON.stringify({
            app_id: appId,
            instance_uuid: '00000000-0000-0000-0000-00000000000b',
            received_at: new Date(Date.now() - 3_600_000).toISOString().slice(0, 19).replace('T', ' '),
            requests: 1,
          }),
        ]),
      () => store.command('TRUNCATE TABLE pending_counts_v1'),
      found('collector', /^spans of 1 instances are not counted/),
    ],
    [
      'a rollup that counts more than its source',
      () => addToHour(Date.now() - 24 * HOUR_MS),
      removeFromHours,
      found('rollups', /^counts_per_hour_v1 counts 7 more than counts_per_15m_v1/),
    ],
  ])('finds %s', async (_, plant, undo, expected) => {
    await plant();
    await expect(eventuallyFound(expected)).resolves.toEqual([expected]);
    await undo();
    await expect(eventuallyFound()).resolves.toEqual([]);
  });

  /** A mutation fails, or ends, some time after its statement. */
  async function eventuallyFound(expected?: Found): Promise<Found[]> {
    for (const deadline = Date.now() + 10_000; ;) {
      const all = await checkOpen();
      const isFound = expected === undefined ? all.length === 0 : all.length > 0;
      if (isFound || Date.now() > deadline) return all;
    }
  }

  function insertMigration(version: number, checksum: string): Promise<void> {
    const row = {
      version,
      name: `${String(version).padStart(4, '0')}_x.sql`,
      checksum,
      applied_at: '2099-01-01 00:00:00',
    };
    return store.insert('schema_migrations', [JSON.stringify(row)]);
  }

  it('finds clocks that differ', async () => {
    const { code, found: all } = await run({ DATA_DIR: join(place, 'whole') }, ['--import', AHEAD]);
    expect([code, all]).toEqual([
      2,
      [
        found('redis', /^the clocks of Redis and of this process differ by 3[56]\d\d\.\d s$/),
        found('clock and engine', /^the clocks of the store and of this process differ by 3[56]\d\d\.\d s$/),
      ],
    ]);
  });

  it('finds files of a table that are missing, and does not let the engine make them anew', async () => {
    const DATA_DIR = join(place, 'missing');
    const table = join(DATA_DIR, file, '../..');
    rmSync(table, { recursive: true });
    expect(await run({ DATA_DIR })).toEqual({
      code: 2,
      found: [found('store', /^the files of the table request_logs_v1 are missing$/)],
    });
    expect(() => readFileSync(join(table, 'format_version.txt'))).toThrow('ENOENT');
  });

  it('finds a bit that is another', async () => {
    const DATA_DIR = join(place, 'flipped');
    const bytes = readFileSync(join(DATA_DIR, file));
    bytes[bytes.length - 1]! ^= 1;
    writeFileSync(join(DATA_DIR, file), bytes);
    expect(await run({ DATA_DIR })).toEqual({
      code: 2,
      found: [found('tables', /^request_logs_v1, part \S+: .*Checksum mismatch/)],
    });
  });

  it('finds an invalid configuration, and a directory without a store', async () => {
    expect(await run({ PORT: 'x' })).toEqual({ code: 2, found: [found('configuration', /PORT/)] });
    expect(await run({ DATA_DIR: join(place, 'nothing') })).toEqual({
      code: 2,
      found: [found('store', /^there is no store in /)],
    });
    expect(() => readFileSync(join(place, 'nothing'))).toThrow('ENOENT');
  });

  it('names CLICKHOUSE_URL where neither it nor the engine is there', async () => {
    const { found: all } = await run({ DATA_DIR: join(place, 'nothing') }, ['--import', WITHOUT_ENGINE]);
    expect(all).toEqual([
      found('store', /^Invalid configuration\. CLICKHOUSE_URL: must be set, because the embedded engine /),
    ]);
  });

  it('finds what an account of a server may not, and what it may without need, and a full disk', async () => {
    const data = join(place, 'server');
    const check = async (server: ConfiguredServer) => {
      const config = new Config(server.env);
      const opened = await ClickHouse.open(config);
      const all = await checkOpen(opened, config);
      await opened.close();
      await server.stop();
      return all;
    };
    // A disk that keeps all of its space free.
    const full = `<storage_configuration><disks><full><type>local</type><path>${place}/full/</path>
<keep_free_space_bytes>1000000000000000</keep_free_space_bytes></full></disks></storage_configuration>`;
    expect(await check(await startAs('request_analytics_owner', data, full))).toEqual([
      found('disk', /^the disk full \(.*\) has 0 MB free, 0 % of it$/),
    ]);
    const grants = readGrants('request_analytics_owner')
      .filter((grant) => !grant.includes('BACKUP'))
      .map((grant) => grant.replace(/\bON (\w+|\*)$/, 'ON default.$1'));
    expect(await check(await ConfiguredServer.start(data, 'little', { grants }))).toEqual([
      found('grants', /^the account little may not BACKUP$/),
    ]);
    expect(await check(await ConfiguredServer.start(data, 'much', {}))).toEqual([
      found('grants', /^the account much may .*SYSTEM SHUTDOWN/),
    ]);
  });

  it('finds once that ClickHouse cannot be reached', async () => {
    const CLICKHOUSE_URL = 'http://someone:secret@127.0.0.1:1';
    expect(await run({ CLICKHOUSE_URL })).toEqual({
      code: 2,
      found: [found('store', /^127\.0\.0\.1:1: store not available \(ECONNREFUSED: 127\.0\.0\.1:1\)$/)],
    });
  });

  it('makes a finding of a check that fails', async () => {
    const closed = await ClickHouse.open(new Config({ CLICKHOUSE_URL: 'http://127.0.0.1:1' }));
    const all = await checkOpen(closed);
    await closed.close();
    expect(all).toHaveLength(11);
    for (const { finding } of all) expect(finding).toMatch(/^could not be checked: store not available/);
  });
});
