import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { ClickHouse } from '../../src/clickhouse/clickhouse.client.js';
import { Config } from '../../src/config/config.js';
import { aSync } from '../collector/setup/messages.js';
import { detail } from '../setup/contract.js';
import { eventually } from '../setup/eventually.js';
import { type Prepared, Service, command, dataDirectory, prepare } from '../setup/service.js';
import { describeEmbedded } from '../setup/store.js';
import { hangUp, send } from '../setup/wire.js';

/** A compressed block begins with its checksum, its method and two sizes. */
const HEADER_BYTES = 16 + 1 + 4 + 4;

const UNAVAILABLE = { status: 503, text: detail('Service temporarily unavailable') };

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

  afterEach(() => Service.endAll());
  afterAll(() => {
    hangUp();
    whole.remove();
    rmSync(copies, { recursive: true });
  });

  /** A copy of the data directory in which a bit of a table's first column is another. */
  function damage(table: string): NodeJS.ProcessEnv {
    const copy = join(copies, table);
    cpSync(whole.env.DATA_DIR!, copy, { recursive: true });
    const file = join(copy, files.get(table)!);
    const bytes = readFileSync(file);
    bytes[HEADER_BYTES]! ^= 1;
    writeFileSync(file, bytes);
    return { DATA_DIR: copy };
  }

  /** The errors in the log, once there are any: a response may be faster than its line. */
  const loggedErrors = ({ log }: Service) =>
    eventually(() => {
      const errors = log.filter(({ level, msg }) => level === 50 && msg !== 'request');
      return errors.length > 0 && errors.map(({ msg }) => msg);
    });

  it('responds 503 where it is read, says so in the log, and serves the rest', async () => {
    const service = await Service.start(['serve'], damage('request_logs_v1'));
    const ask = (path: string) => send(service.apiUrl, path, { headers: { 'Api-Key': prepared.key } });
    expect(await ask(`/v1/apps/${prepared.appId}/request-logs`)).toMatchObject({
      ...UNAVAILABLE,
      headers: { 'retry-after': '1' },
    });
    expect(await loggedErrors(service)).toEqual([
      expect.stringMatching(/^stored data is damaged \(40\), query request_logs\.\w+$/),
    ]);
    expect((await ask('/v1/team')).status).toBe(200);
    expect((await ask(`/v1/apps/${prepared.appId}/traffic`)).status).toBe(200);
    expect(await service.stop()).toBe(0);
  });

  it('responds 503 to client libraries, which send again later', async () => {
    const service = await Service.start(['collector'], damage('apps_v1'));
    const path = `/v2/${prepared.clientId}/prod/sync`;
    const sync = { method: 'POST', body: JSON.stringify(aSync()) };
    expect(await send(service.collectorUrl, path, sync)).toMatchObject(UNAVAILABLE);
    expect(await loggedErrors(service)).toEqual(['stored data is damaged (40), query client_apps.find']);
  });

  it('is one line for people on the command line', async () => {
    const { code, out, err } = await command(['team', 'list'], damage('teams_v1'));
    expect([code, out, err.filter((line) => !line.startsWith('{'))]).toEqual([
      1,
      [],
      ['error: stored data is damaged (40), query teams.list'],
    ]);
  });
});
