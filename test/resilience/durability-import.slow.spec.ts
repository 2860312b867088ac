import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAdmin } from '../../src/ops/admin/admin.js';
import { prepareStore } from '../../src/write/prepare-store.js';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { Config } from '../../src/config/config.js';
import { COUNTS_TABLES, selectTotal } from '../setup/rollups.js';
import { openMigrated } from '../setup/schema.js';
import { describeEmbedded } from '../setup/store.js';
import { CrashSite, KILLS, Moments, SEED, randomFrom } from './crash.js';

/** Some batches of an import, the last one not full. */
const LINES = 12_000;
/** After this number of kills on one directory, an import may run to its end. */
const KILLS_IN_A_ROW = 8;

/** Each line has a time and both sizes. */
const MEASURES = ['requests', 'time', 'received', 'sent'];
const LATEST = ['consumer_activity_v1', 'endpoint_activity_v1'];
const LOGGED = ['request_logs_v1', 'request_details_v1'];
const NAMED = ['app_envs_v1', 'endpoints_v1', 'consumers_v1', 'consumer_groups_v1'];

const WRITTEN = [...COUNTS_TABLES, ...LATEST, ...LOGGED, ...NAMED].map((table) => `'${table}'`).join(', ');

/** What IDs stand for: which name gets which ID depends on the batch that is first to ask. */
const NAMES = {
  app_env_id: 'SELECT id AS app_env_id, name AS env FROM app_envs_v1 FINAL',
  endpoint_id: `SELECT id AS endpoint_id, concat(method, ' ', path) AS endpoint FROM endpoints_v1 FINAL`,
  consumer_id: 'SELECT id AS consumer_id, identifier FROM consumers_v1 FINAL',
};
type NamedId = keyof typeof NAMES;

/** The contents of each table, independent of its rows and parts. */
const CONTENTS: Record<string, string> = {
  import_ledger_v1: 'SELECT app_id, request_uuid FROM import_ledger_v1',
  request_details_v1: 'SELECT * FROM request_details_v1',
  request_logs_v1: named('SELECT * FROM request_logs_v1', ['app_env_id', 'endpoint_id', 'consumer_id']),
  consumer_activity_v1: summed('consumer_activity_v1', 'max', ['last_request_at'], ['consumer_id']),
  endpoint_activity_v1: summed(
    'endpoint_activity_v1',
    'max',
    ['last_request_at'],
    ['app_env_id', 'endpoint_id'],
  ),
  ...Object.fromEntries(
    NAMED.map((table) => [table, `SELECT * EXCEPT (id, updated_at) FROM ${table} FINAL`]),
  ),
  ...Object.fromEntries(
    COUNTS_TABLES.map((table) => [
      table,
      summed(table, 'sum', ['n', 'bytes_received', 'bytes_sent'], idsIn(table)),
    ]),
  ),
};

const DIGESTS = Object.entries(CONTENTS)
  .map(
    ([table, sql]) =>
      `SELECT '${table}' AS table, count() AS rows, hex(sum(cityHash64(*))) AS digest FROM (${sql})`,
  )
  .join('\nUNION ALL\n');

/** What must hold whenever a store is opened: what the ledger has is in every table, once. */
const ACKNOWLEDGED = `
SELECT
  (SELECT count() FROM import_ledger_v1) AS acknowledged,
  (SELECT toUInt32(sum(total_rows)) FROM system.tables WHERE name IN (${WRITTEN})) AS written,
  (SELECT uniqExact(request_uuid) FROM import_ledger_v1) AS distinct_acknowledged,
  ${LOGGED.map(
    (table) => `
  (SELECT count() FROM import_ledger_v1 WHERE request_uuid NOT IN (SELECT request_uuid FROM ${table})) AS missing_in_${table},
  (SELECT count() - uniqExact(request_uuid) FROM ${table}) AS doubled_in_${table}`,
  ).join(',')},
  ${COUNTS_TABLES.flatMap((table) =>
    MEASURES.map(
      (measure) => `${selectTotal(table, `measure = '${measure}'`)} AS requests_in_${table}_by_${measure}`,
    ),
  ).join(', ')}`;

function summed(table: string, by: 'sum' | 'max', columns: readonly string[], ids: readonly NamedId[]) {
  const values = columns.map((column) => `${by}(t.${column}) AS ${column}`).join(', ');
  return named(`SELECT * EXCEPT (${columns.join(', ')}), ${values} FROM ${table} AS t GROUP BY ALL`, ids);
}

function named(sql: string, ids: readonly NamedId[]): string {
  const names = ids.map((id) => `LEFT JOIN (${NAMES[id]}) AS of_${id} USING (${id})`).join(' ');
  return `SELECT * EXCEPT (${ids.join(', ')}) FROM (${sql}) AS rows ${names}`;
}

function idsIn(table: string): NamedId[] {
  const hasConsumer = /_per_minute_|_by_consumer_/.test(table);
  return ['app_env_id', 'endpoint_id', ...(hasConsumer ? (['consumer_id'] as const) : [])];
}

describeEmbedded(`an import that is killed ${KILLS} times at random (CRASH_SEED=${SEED})`, () => {
  const random = randomFrom(SEED);
  const template = new CrashSite();
  /** Grows while imports of it are killed, as a log does. */
  const file = join(template.directory, '..', `crash-${process.pid}.ndjson`);
  const all = lines();
  const grow = (share: number) => {
    writeFileSync(file, all.slice(0, Math.ceil(all.length * share)).join(''));
  };
  const command = ['import', file, '--app', '1'];
  const sites: CrashSite[] = [template];

  afterAll(() => {
    for (const site of sites) site.remove();
    rmSync(file, { force: true });
  });

  const site = () => {
    const made = new CrashSite(template.directory);
    sites.push(made);
    return made;
  };

  async function call<Row>({ env }: CrashSite, sql: string): Promise<Row[]> {
    const store = await ClickHouse.open(new Config(env));
    try {
      await prepareStore(store);
      return await store.rows<Row>('test.ask', sql);
    } finally {
      await store.close();
    }
  }

  const readContents = async (crashed: CrashSite) => {
    const rows = await call<{ table: string }>(crashed, DIGESTS);
    return Object.fromEntries(rows.map((row) => [row.table, row]));
  };

  /**
   * Opens the directory; gives how many requests were acknowledged, and how many rows there are. Expects that
   * all acknowledged requests are there.
   */
  async function readState(crashed: CrashSite): Promise<{ acknowledged: number; written: number }> {
    const [row] = await call<Record<string, number>>(crashed, ACKNOWLEDGED);
    const { acknowledged = 0, distinct_acknowledged, written = 0, ...tables } = row!;
    expect(distinct_acknowledged).toBe(acknowledged);
    for (const [name, number] of Object.entries(tables))
      expect([name, number]).toEqual([name, name.startsWith('requests_in') ? acknowledged : 0]);
    return { acknowledged, written };
  }

  it('has lost nothing that was acknowledged, and when it is run again is what it would have been', async () => {
    grow(1);
    const store = await openMigrated(new Config(template.env));
    const admin = createAdmin(store);
    await admin.teams.create('Acme', 'premium');
    await admin.apps.create(1, 'Shop', 'express').finally(() => store.close());
    const whole = site();
    await whole.complete(command);
    const expected = await readContents(whole);
    expect(expected).toMatchObject({ request_logs_v1: { rows: LINES }, consumers_v1: { rows: LINES / 40 } });
    // The first import filled the system's cache: the others are faster.
    const moments = new Moments(await site().complete(command), random);

    let [kills, within, imports] = [0, 0, 0];
    while (kills < KILLS) {
      const crashed = site();
      let acknowledged = 0;
      for (let inARow = 0; inARow < KILLS_IN_A_ROW && kills < KILLS; inARow += 1) {
        grow((1 + (inARow + 1) / KILLS_IN_A_ROW) / 2);
        const killAfterMs = moments.next();
        const { code, ms } = await crashed.run(command, killAfterMs);
        if (code === 0) {
          moments.tooLate(ms);
          break;
        }
        kills += 1;
        const { acknowledged: now, written } = await readState(crashed);
        expect(now).toBeGreaterThanOrEqual(acknowledged);
        acknowledged = now;
        if (written === 0) moments.tooEarly(killAfterMs);
        else if (now < LINES) within += 1;
      }
      grow(1);
      await crashed.complete(command);
      expect(await readContents(crashed)).toEqual(expected);
      crashed.remove();
      imports += 1;
    }
    process.stdout.write(
      `import: ${kills} kills (${within} while it wrote), ${imports} imports of ${LINES} lines whole\n`,
    );
  }, 600_000);
});

function lines(): string[] {
  const now = Date.now();
  const line = (n: number) =>
    JSON.stringify({
      timestamp: new Date(now - 60_000 - n * 500).toISOString(),
      env: n % 7 === 0 ? 'dev' : 'prod',
      method: n % 3 === 0 ? 'POST' : 'GET',
      url: `https://api.example.com/things/${n}`,
      path: `/things/${Math.floor(n / 600)}/{id}`,
      status_code: 200 + (n % 4) * 100,
      response_time_ms: n % 90,
      request_size_bytes: n % 50,
      response_size_bytes: n % 1_000,
      // New names all the way, so that they are cut off as well.
      consumer: `consumer ${Math.floor(n / 40)}`,
      request_headers: [['x-n', String(n)]],
    });
  return Array.from({ length: LINES }, (_, n) => `${line(n)}\n`);
}
