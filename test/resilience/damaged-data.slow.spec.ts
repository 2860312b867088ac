import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { Config } from '../../src/config/config.js';
import { buildSync } from '../collector/setup/messages.js';
import { runCommand } from '../setup/command.js';
import { detail } from '../setup/contract.js';
import { type Prepared, administer, dataDirectory, prepare } from '../setup/data-directory.js';
import { eventually } from '../setup/eventually.js';
import { getValue, parseExposition } from '../setup/exposition.js';
import { ProductProcess } from '../setup/product-process.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';
import { copyStore } from '../setup/schema.js';
import { describeEmbedded } from '../setup/store.js';

/** A compressed block begins with its checksum, its method and two sizes. */
const HEADER_BYTES = 16 + 1 + 4 + 4;

const UNAVAILABLE = { status: 503, text: detail('Service temporarily unavailable') };

interface Figures {
  damaged: number;
  missing: number;
}

// Parts of a data directory are changed, which only the embedded engine has here.
describeEmbedded('a store whose data is damaged', () => {
  const whole = dataDirectory();
  const copies = mkdtempSync(join(tmpdir(), 'damaged-'));
  let prepared: Prepared;
  /** The file with the columns of a table's only part, below the data directory. */
  let files: Map<string, string>;

  beforeAll(async () => {
    prepared = await prepare(whole.env);
    const store = await ClickHouse.open(new Config(whole.env));
    const parts = await store.rows<{ table: string; path: string }>(
      'test.parts',
      'SELECT table, path FROM system.parts WHERE active',
    );
    files = new Map(
      parts.map(({ table, path }) => [table, join(relative(whole.env.DATA_DIR!, path), 'data.bin')]),
    );
    await store.close();
  });

  afterEach(() => ProductProcess.endAll());
  afterAll(() => {
    closeConnections();
    whole.remove();
    rmSync(copies, { recursive: true });
  });

  /** A copy of the data directory in which a bit of a table's first column is another. */
  function damage(table: string): NodeJS.ProcessEnv {
    return copyAfter(table, (directory) => {
      const file = findFile(directory, table);
      const bytes = readFileSync(file);
      bytes[HEADER_BYTES]! ^= 1;
      writeFileSync(file, bytes);
    });
  }

  /** A copy of the data directory after something was done to it. */
  function copyAfter(name: string, harm: (directory: string) => void): NodeJS.ProcessEnv {
    const copy = join(copies, name);
    copyStore(whole.env.DATA_DIR!, copy);
    harm(copy);
    return { DATA_DIR: copy };
  }

  const findFile = (directory: string, table: string) => join(directory, files.get(table)!);
  const findTable = (directory: string, table: string) => join(findFile(directory, table), '../..');
  const cut = (table: string) => (directory: string) => {
    truncateSync(findFile(directory, table), 0);
  };

  const readErrors = ({ log }: ProductProcess) =>
    log.filter(({ level, msg }) => level === 50 && msg !== 'request').map(({ msg }) => msg);

  it('responds 503 where it is read, says so in the log, and serves the rest', async () => {
    const service = await ProductProcess.start(['serve'], damage('request_logs_v1'));
    const call = (path: string) => sendRaw(service.apiUrl, path, { headers: { 'Api-Key': prepared.key } });
    expect(await call(`/v1/apps/${prepared.appId}/request-logs`)).toMatchObject({
      ...UNAVAILABLE,
      headers: { 'retry-after': '1' },
    });
    await eventually(() => readErrors(service).length >= 2);
    expect(readErrors(service)).toEqual([
      expect.stringMatching(
        /^table request_logs_v1, part \S+: stored data is damaged \(40\), query request_logs\.\w+\. Keep a copy/,
      ),
      expect.stringMatching(/^stored data is damaged \(40\), query request_logs\.\w+$/),
    ]);
    expect(JSON.parse((await call('/health/ready')).text)).toMatchObject({
      status: 'degraded',
      state: { store: 'damaged' },
    });
    expect((await call('/v1/team')).status).toBe(200);
    expect((await call(`/v1/apps/${prepared.appId}/traffic`)).status).toBe(200);
    expect(await service.stop()).toBe(0);
  });

  it('responds 503 to client libraries, which send again later', async () => {
    const service = await ProductProcess.start(['collector'], damage('apps_v1'));
    const path = `/v2/${prepared.clientId}/prod/sync`;
    const sync = { method: 'POST', body: JSON.stringify(buildSync()) };
    expect(await sendRaw(service.collectorUrl, path, sync)).toMatchObject(UNAVAILABLE);
    await eventually(() => readErrors(service).length >= 2);
    expect(readErrors(service)).toEqual([
      expect.stringMatching(
        /^table apps_v1, part \S+: stored data is damaged \(40\), query client_apps\.find\. /,
      ),
      'stored data is damaged (40), query client_apps.find',
    ]);
  });

  describe.each<[string, (directory: string) => void, string, string, Figures]>([
    [
      'the data of a part is cut off',
      cut('endpoints_v1'),
      'endpoints_v1',
      'part broken-on-start_\\w+: set aside by the engine \\(broken-on-start\\)',
      { damaged: 1, missing: 0 },
    ],
    [
      'the directory of a table is missing',
      (directory) => {
        rmSync(findTable(directory, 'endpoints_v1'), { recursive: true });
      },
      'endpoints_v1',
      'the directory of the table was missing',
      { damaged: 1, missing: 0 },
    ],
    [
      'the directory of a part is missing',
      (directory) => {
        rmSync(join(findFile(directory, 'endpoints_v1'), '..'), { recursive: true });
      },
      'endpoints_v1',
      'the directory of the part was missing at a start',
      { damaged: 1, missing: 0 },
    ],
    [
      'the definition of a table is missing',
      (directory) => {
        rmSync(join(directory, 'metadata/default/endpoints_v1.sql'));
      },
      'endpoints_v1',
      'is missing',
      { damaged: 0, missing: 1 },
    ],
    [
      'the definition of a table that the start reads is missing',
      (directory) => {
        rmSync(join(directory, 'metadata/default/ingest_batches_v1.sql'));
      },
      'ingest_batches_v1',
      'is missing',
      { damaged: 0, missing: 1 },
    ],
  ])('when %s', (title, harm, table, finding, { damaged, missing }) => {
    let env: NodeJS.ProcessEnv;

    beforeAll(() => {
      env = copyAfter(title.replaceAll(' ', '-'), harm);
    });

    it('is found by verify, which reads the other tables as well and fails', async () => {
      const { code, out, err } = await ProductProcess.run(['verify'], env);
      const checks = out.map(
        (line) => JSON.parse(line) as { table: string; status: string; damage: object[] },
      );
      expect(checks.filter(({ status }) => status !== 'ok')).toEqual([
        expect.objectContaining({
          table,
          status: missing === 1 ? 'missing' : 'damaged',
          damage: [
            expect.objectContaining({ description: expect.stringMatching(finding.split(': ').at(-1)!) }),
          ],
        }),
      ]);
      expect(checks.map((check) => check.table)).toEqual(
        expect.arrayContaining(['teams_v1', 'request_logs_v1']),
      );
      expect([code, err.at(-1)]).toEqual([1, `error: 1 of ${checks.length} tables are damaged or missing`]);
    });

    it('is said in the log, by readiness and in the metrics, also at a start after the first', async () => {
      const service = await ProductProcess.start(['serve'], env);
      const line = new RegExp(`^table ${table}.*${finding}.*docs/recover.md`);
      await eventually(() => readErrors(service).find((msg) => line.test(String(msg))));
      for (const url of [service.apiUrl, service.collectorUrl]) {
        const { status, text } = await sendRaw(url, '/health/ready');
        expect([status, JSON.parse(text)]).toMatchObject([
          200,
          { status: 'degraded', state: { store: 'damaged' } },
        ]);
      }
      const samples = parseExposition((await sendRaw(service.metricsUrl, '/metrics')).text);
      expect(getValue(samples, 'request_analytics_store_damaged_parts')).toBe(damaged);
      expect(getValue(samples, 'request_analytics_store_missing_tables')).toBe(missing);
      const team = await sendRaw(service.apiUrl, '/v1/team', { headers: { 'Api-Key': prepared.key } });
      expect(team.status).toBe(200);
      expect(await service.stop()).toBe(0);
    });
  });

  it('is found by verify where only reading finds it', async () => {
    const { code, out } = await ProductProcess.run(
      ['verify'],
      copyAfter('flipped', (directory) => {
        const file = findFile(directory, 'request_logs_v1');
        const bytes = readFileSync(file);
        bytes[bytes.length - 1]! ^= 1;
        writeFileSync(file, bytes);
      }),
    );
    const damaged = out.filter((line) => !line.includes('"status":"ok"'));
    expect([code, damaged]).toEqual([1, [expect.stringContaining('Checksum mismatch for file data.bin')]]);
    expect(damaged[0]).toContain('"table":"request_logs_v1","status":"damaged","checked":1');
  });

  it('is nothing to verify in a whole store, parts that were detached by hand included', async () => {
    const env = copyAfter('detached', (directory) => {
      const part = join(findFile(directory, 'endpoints_v1'), '..');
      renameSync(part, join(part, '../detached', basename(part)));
    });
    const { code, out } = await runCommand(['verify'], env);
    expect([code, out.filter((line) => !line.includes('"status":"ok"'))]).toEqual([0, []]);
  });

  describe('that is whole, and whose process was killed', () => {
    const CONSUMER = 'person@people.example';
    const inStore = (env: NodeJS.ProcessEnv, ...statements: string[]) =>
      administer(env, async (_, store) => {
        for (const statement of statements) await store.command(statement);
      });

    it.each<[string, (env: NodeJS.ProcessEnv, partition: string) => Promise<unknown>]>([
      [
        'expired',
        (env) =>
          inStore(
            env,
            'ALTER TABLE request_logs_v1 MODIFY SETTING old_parts_lifetime = 0',
            'ALTER TABLE request_logs_v1 MODIFY TTL toDateTime(timestamp) + INTERVAL 1 DAY SETTINGS mutations_sync = 2',
          ),
      ],
      [
        'erased',
        async (env) => {
          const args = [
            'consumer',
            'erase',
            '--app',
            String(prepared.appId),
            '--identifier',
            CONSUMER,
            '--yes',
          ];
          expect(await runCommand(args, env)).toMatchObject({ code: 0 });
        },
      ],
      [
        'dropped',
        (env, partition) => inStore(env, `ALTER TABLE request_logs_v1 DROP PARTITION ID '${partition}'`),
      ],
    ])('is not damaged because a part is gone whose rows were %s', async (how, remove) => {
      const env = copyAfter(`rows-${how}`, () => undefined);
      const table = findTable(env.DATA_DIR!, 'request_logs_v1');
      const before = new Set(readdirSync(table));
      const file = join(copies, `${how}.ndjson`);
      const line = {
        timestamp: new Date(Date.now() - 6 * 86_400_000).toISOString(),
        method: 'GET',
        url: '/a',
      };
      writeFileSync(file, JSON.stringify({ ...line, status_code: 200, consumer: { identifier: CONSUMER } }));
      const imported = await runCommand(['import', file, '--app', String(prepared.appId)], env);
      expect([imported.code, imported.err.filter((text) => text.startsWith('error'))]).toEqual([0, []]);
      const part = readdirSync(table).find((name) => !before.has(name) && /(_\d+){3}$/.test(name))!;
      expect(readFileSync(join(env.DATA_DIR!, 'parts.json'), 'utf8')).toContain(part);
      const [partition = ''] = part.split('_');

      const service = await ProductProcess.start(['serve'], env);
      expect(existsSync(join(table, part))).toBe(true);
      await remove(env, partition);
      await eventually(async () => {
        // Makes the engine remove old and empty parts now.
        await inStore(env, `ALTER TABLE request_logs_v1 DROP PARTITION ID 'none'`);
        return !readdirSync(table).some((name) => name.startsWith(`${partition}_`));
      });
      await service.crash();
      const { code, out } = await runCommand(['verify'], env);
      expect([code, out.filter((text) => !text.includes('"status":"ok"'))]).toEqual([0, []]);
    });
  });

  it('does not make the collector say that an app is unknown', async () => {
    const unknown = { method: 'POST', body: JSON.stringify(buildSync()) };
    const path = `/v2/${randomUUID()}/prod/sync`;
    const lost = await ProductProcess.start(['collector'], copyAfter('apps-cut', cut('apps_v1')));
    expect(await sendRaw(lost.collectorUrl, path, unknown)).toMatchObject(UNAVAILABLE);
    expect(await sendRaw(lost.collectorUrl, `/v2/${prepared.clientId}/prod/sync`, unknown)).toMatchObject({
      ...UNAVAILABLE,
      headers: { 'retry-after': '1' },
    });
    await eventually(() => readErrors(lost).length >= 2);
    expect(
      readErrors(lost).filter((line) => String(line).startsWith('unknown client IDs get 503')),
    ).toHaveLength(1);
    const whole = await ProductProcess.start(
      ['collector'],
      copyAfter('not-damaged', () => undefined),
    );
    expect((await sendRaw(whole.collectorUrl, path, unknown)).status).toBe(404);
  });

  it('does not make the collector say so where the whole store is lost, and a new one made', async () => {
    const env = { DATA_DIR: join(copies, 'new') };
    const service = await ProductProcess.start(['collector'], env);
    const sync = { method: 'POST', body: JSON.stringify(buildSync()) };
    for (const client of [prepared.clientId, 'no-uuid'])
      expect(await sendRaw(service.collectorUrl, `/v2/${client}/prod/sync`, sync)).toMatchObject({
        ...UNAVAILABLE,
        headers: { 'retry-after': '1' },
      });
    await eventually(() => readErrors(service).length > 0);
    expect(readErrors(service)).toEqual([
      expect.stringMatching(/^unknown client IDs get 503, .* the store has no app; is it the right one/),
    ]);
    expect(service.log).toContainEqual(
      expect.objectContaining({ msg: `created a new, empty store in ${env.DATA_DIR}` }),
    );
  });

  it('is one line when the engine cannot open it at all', async () => {
    const env = copyAfter('not-sql', (directory) => {
      writeFileSync(join(directory, 'metadata/default/apps_v1.sql'), 'no definition');
    });
    const { code, err } = await ProductProcess.run(['serve'], env);
    expect(code).toBe(1);
    expect(err.at(-1)).toBe(
      `The engine cannot open the data directory ${env.DATA_DIR}; its reason is above. If files in it are damaged, ` +
        'keep a copy of the directory and restore the last backup.',
    );
  });

  it('is one line for people on the command line', async () => {
    const { code, out, err } = await ProductProcess.run(['team', 'list'], damage('teams_v1'));
    expect([code, out, err.filter((line) => !line.startsWith('{'))]).toEqual([
      1,
      [],
      ['error: stored data is damaged (40), query teams.list'],
    ]);
  });
});
