import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { Config } from '../../src/config/config.js';
import { startServer } from '../collector/setup/server.js';
import type { ClickHouseServer } from '../setup/clickhouse-server/clickhouse-server.js';

const KIB = 1024;
/** What quotes, escapes and placeholders must not change. */
const TEXT = `it's {values:Array(String)}; -- \\ \0 \n 日本 %41+&=`;

describe('values of a query on a server', () => {
  let server: ClickHouseServer;
  let store: ClickHouse;

  beforeAll(async () => {
    let env: NodeJS.ProcessEnv;
    ({ server, env } = await startServer());
    store = await ClickHouse.open(new Config(env));
    await store.command('CREATE TABLE texts (text String) ENGINE = MergeTree ORDER BY text');
  });
  afterAll(async () => {
    await store.close();
    await server.stop();
  });

  it.each([
    ['in the URL', 0],
    ['at the size at which they leave the URL', 4 * KIB],
    ['too long for a URL', 100 * KIB],
    ['longer than a server takes in a form', 300 * KIB],
  ])('are read and written unchanged: %s', async (_, bytes) => {
    const values = [TEXT, ...Array.from({ length: bytes / 16 }, (__, n) => String(n).padStart(16, '0'))];
    const rows = await store.rows('values', 'SELECT arrayJoin({values:Array(String)}) AS text', { values });
    expect(rows).toEqual(values.map((text) => ({ text })));

    // The engine's limit of a statement that changes data is 256 KiB.
    const some = values.slice(0, 5_000);
    await store.command('INSERT INTO texts SELECT arrayJoin({some:Array(String)})', { some });
    const written = await store.rows('values', 'SELECT text FROM texts ORDER BY text');
    expect(written).toEqual([...some].sort().map((text) => ({ text })));
    await store.command('TRUNCATE TABLE texts');
  });
});
