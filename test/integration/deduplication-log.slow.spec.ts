import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { repairDeduplicationLogs } from '../../src/store/embedded/deduplication-log.js';
import { Config } from '../../src/config/config.js';
import { COUNTS_TABLES, SELECT_TOTALS } from '../setup/rollups.js';
import { addSchema } from '../setup/schema.js';
import { describeEmbedded } from '../setup/store.js';

const TOKEN = 'c0ffee';
const BLOCK = JSON.stringify({
  app_id: 1,
  timestamp: Date.now() - 3_600_000,
  app_env_id: 1,
  endpoint_id: 1,
  consumer_id: 1,
  requests: 7,
  bytes_received: 0,
  bytes_sent: 0,
  bins: [['time', -80, 7]],
});

describeEmbedded('a process that was killed between the note of a block and its part', () => {
  let directory: string;
  let store: ClickHouse;

  const open = async () => {
    store = await ClickHouse.open(new Config({ DATA_DIR: directory, EMBEDDED_SESSIONS: '1' }));
  };
  const insert = () => store.insert('request_counts', [BLOCK], TOKEN);
  const sums = async () => {
    const [row] = await store.rows('test.sums', SELECT_TOTALS);
    return row;
  };
  const all = (requests: number) =>
    Object.fromEntries(COUNTS_TABLES.map((table) => [table, [requests, requests]]));
  const findPlace = async (table: string) => {
    const sql = `SELECT data_paths[1] AS path FROM system.tables WHERE name = '${table}'`;
    const [row] = await store.rows<{ path: string }>('test.path', sql);
    return row!.path;
  };

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'deduplication-'));
    await addSchema(new Config({ DATA_DIR: directory }));
    await open();
    await insert();
  });

  afterEach(async () => {
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  });

  /** Leaves a table as such a process leaves it. */
  const unname = (place: string) => {
    const parts = readdirSync(place).filter((name) => /_(\d+)_\1_\d+$/.test(name));
    expect(parts).toHaveLength(1);
    renameSync(join(place, parts[0]!), join(place, `tmp_insert_${parts[0]!}`));
  };

  it.each(COUNTS_TABLES)(
    'loses nothing in %s when the block is sent again, and doubles nothing in the others',
    async (table) => {
      const place = await findPlace(table);
      await store.close();
      unname(place);
      await open();
      expect(await sums()).toEqual({ ...all(7), [table]: [0, 0] });
      await insert();
      expect(await sums()).toEqual(all(7));
      await insert();
      expect(await sums()).toEqual(all(7));
    },
  );

  it('is distinguished from one with all parts, also merged ones', async () => {
    for (const table of COUNTS_TABLES) {
      await store.insert(table, [
        JSON.stringify({ app_id: 2, bucket: Math.floor(Date.now() / 1000), endpoint_id: 1 }),
      ]);
      await store.command(`OPTIMIZE TABLE ${table} FINAL`);
    }
    await store.close();
    expect(repairDeduplicationLogs(directory)).toBe(0);
    await open();
    const before = await sums();
    await insert();
    expect(await sums()).toEqual(before);
  });

  it('needs one repair', async () => {
    const place = await findPlace('counts_per_day_v1');
    await store.close();
    unname(place);
    expect([repairDeduplicationLogs(directory), repairDeduplicationLogs(directory)]).toEqual([1, 0]);
    await open();
  });

  it('does not touch what it does not understand, and needs no store', async () => {
    const place = await findPlace('counts_per_day_v1');
    await store.close();
    const log = join(place, 'deduplication_logs', 'deduplication_log_1.txt');
    writeFileSync(log, 'another form\n3\tx\ty\n1\tno-part\tblock\n');
    expect(repairDeduplicationLogs(directory)).toBe(0);
    expect(repairDeduplicationLogs(join(directory, 'nowhere'))).toBe(0);
    rmSync(log);
    await open();
  });
});
