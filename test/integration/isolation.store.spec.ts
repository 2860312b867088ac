import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { StoreUnavailable } from '../../src/store/client/clickhouse.errors.js';
import { EmbeddedConnection } from '../../src/store/embedded/embedded.connection.js';
import { Config } from '../../src/config/config.js';
import { readArrow } from '../setup/arrow.js';
import { readParquet } from '../setup/duckdb.js';
import { describeEmbedded } from '../setup/store.js';

const SESSIONS = 4;
const ROWS = 300_000;
const SECRET = 'of-alpha';

/** Queries that fail after the engine has formatted some of their rows, by the engine's error code. */
const FAILURES = {
  396: `SELECT id, text FROM alpha`,
  307: `SELECT id, text FROM alpha`,
  159: `SELECT id, text, sleepEachRow(0.00002) FROM alpha SETTINGS max_block_size = 1000`,
  241: `SELECT id, text, repeat(text, 10) FROM alpha`,
  395: `SELECT id, text, throwIf(id = ${ROWS - 1}) FROM alpha`,
};

/** What each error code needs of the configuration. */
const LIMITS: Readonly<Record<string, NodeJS.ProcessEnv>> = {
  396: { QUERY_MAX_RESULT_MB: '8' },
  307: { QUERY_MAX_READ_MB: '16', QUERY_MAX_RESULT_MB: '1024' },
  159: { QUERY_TIMEOUT_SECONDS: '1' },
  241: { QUERY_MAX_MEMORY_MB: '64', QUERY_MAX_RESULT_MB: '1024' },
  395: {},
};

describeEmbedded('a query that fails after its first rows', () => {
  const directory = mkdtempSync(join(tmpdir(), 'isolation-'));
  const open = (env: NodeJS.ProcessEnv = {}) =>
    ClickHouse.open(new Config({ DATA_DIR: directory, EMBEDDED_SESSIONS: String(SESSIONS), ...env }));

  beforeAll(async () => {
    const store = await open();
    await store.command('CREATE TABLE alpha (id UInt32, text String) ENGINE = MergeTree ORDER BY id');
    await store.command(
      `INSERT INTO alpha SELECT number, concat('${SECRET}', repeat('x', 80)) FROM numbers(${ROWS})`,
    );
    await store.close();
  });

  afterAll(() => {
    rmSync(directory, { recursive: true });
  });

  it.each(Object.entries(FAILURES))(
    'leaves nothing to later queries of any session when its error is %s',
    async (code, sql) => {
      const store = await open(LIMITS[code]);
      try {
        const failures = await Promise.allSettled(
          Array.from({ length: SESSIONS }, () => store.rows('test.alpha', sql)),
        );
        expect(failures.map(({ status }) => status)).toEqual(Array(SESSIONS).fill('rejected'));
        const others = Array.from({ length: 10 * SESSIONS }, (_, n) => n);
        const rows = await Promise.all(
          others.map((n) => store.rows('test.beta', 'SELECT {n:UInt32} AS n', { n })),
        );
        expect(rows).toEqual(others.map((n) => [{ n }]));
        const lines = await Promise.all(
          others.map((n) =>
            store.jsonLines('test.beta', `SELECT concat('{"n":', {n:String}, '}')`, { n: `${n}` }),
          ),
        );
        expect(lines.map((line) => line.at(0))).toEqual(others.map((n) => `{"n":${n}}`));
        const file = (format: 'arrow' | 'parquet', n: number) =>
          store.file('test.beta', { format, columns: ['n'], sql: 'SELECT {n:UInt32} AS n' }, { n });
        const arrow = await Promise.all(others.map((n) => file('arrow', n)));
        expect(arrow.map((bytes) => readArrow(bytes).rows)).toEqual(others.map((n) => [[n]]));
        const parquet = await Promise.all(others.slice(0, SESSIONS).map((n) => file('parquet', n)));
        const read = await Promise.all(parquet.map(readParquet));
        expect(read.map(({ rows }) => rows)).toEqual(others.slice(0, SESSIONS).map((n) => [[n]]));
      } finally {
        await store.close();
      }
    },
  );

  it('gives 503 to a query that receives them all the same, and uses no present session again', async () => {
    const store = await open(LIMITS[396]);
    const pool = EmbeddedConnection.prototype as unknown as {
      release: (session: object, reuse: boolean) => void;
    };
    const { release } = pool;
    const reuse = jest.spyOn(pool, 'release').mockImplementation(function (this: typeof pool, session) {
      release.call(this, session, true);
    });
    try {
      await expect(store.rows('test.alpha', FAILURES[396])).rejects.toThrow(StoreUnavailable);
      reuse.mockRestore();
      await expect(store.rows('test.beta', 'SELECT 1 AS n')).rejects.toThrow('not that of the query');
      expect(await store.rows('test.beta', 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    } finally {
      await store.close();
    }
  });
});
