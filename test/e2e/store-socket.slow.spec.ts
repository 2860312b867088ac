import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { findLockOwner } from '../../src/store/embedded/data-directory.js';
import { SocketConnection } from '../../src/coordination/socket/socket.connection.js';
import { Config } from '../../src/config/config.js';
import { PRODUCT_VERSION } from '../../src/config/version.js';
import { buildCount, buildSync } from '../collector/setup/messages.js';
import { runCommand } from '../setup/command.js';
import { administer, dataDirectory } from '../setup/data-directory.js';
import { eventually } from '../setup/eventually.js';
import { type Ended, ProductProcess } from '../setup/product-process.js';
import { describeEmbedded } from '../setup/store.js';

const LINES = 12_000;
const PATHS = 400;

describeEmbedded('commands while a server has the data directory open', () => {
  const data = dataDirectory();
  const directory = data.env.DATA_DIR!;
  const socket = join(directory, 'store.sock');
  let server: ProductProcess;

  beforeAll(async () => {
    server = await ProductProcess.start(['serve'], data.env);
  });

  afterAll(async () => {
    await ProductProcess.endAll();
    data.remove();
  });

  /** The result of a command in a process of its own. */
  async function run<Result = Record<string, unknown>>(...args: string[]): Promise<Result> {
    return readResult(await ProductProcess.run(args, data.env)) as Result;
  }

  /** The result of a command in this process. */
  const runHere = async (...args: string[]) => readResult(await runCommand(args, data.env));

  function readResult({ code, out, err }: Ended): unknown {
    expect([code, code === 0 ? '' : err.join('\n')]).toEqual([0, '']);
    return JSON.parse(out[0] ?? 'null');
  }

  const createTenant = async () =>
    useTenant(
      await administer(data.env, async (admin) => {
        const { id } = await admin.teams.create('Acme', 'premium');
        const { key } = await admin.keys.create(id);
        return Object.assign(await admin.apps.create(id, 'Shop', 'express'), { key });
      }),
    );

  function useTenant(app: { id: number; client_id: string; key: string }) {
    const { key } = app;
    const get = async (path: string) => {
      const response = await fetch(`${server.apiUrl}/v1/${path}`, { headers: { 'Api-Key': key } });
      expect(response.status).toBe(200);
      return (await response.json()) as { data: Record<string, unknown>[] };
    };
    const countTraffic = async () => {
      const since = new Date(Date.now() - 86_400_000 * 2).toISOString();
      const { data: periods } = await get(`apps/${app.id}/traffic?period=day&since=${since}`);
      return periods.reduce((sum, { requests }) => sum + Number(requests), 0);
    };
    return { ...app, appId: String(app.id), get, countTraffic };
  }

  /** A file with requests of the last hours. */
  function writeRequests(name: string, lines = LINES): string {
    const file = join(directory, '..', `${name}-${process.pid}.ndjson`);
    const now = Date.now();
    const rows = Array.from({ length: lines }, (_, n) => ({
      timestamp: new Date(now - 60_000 - n * 100).toISOString(),
      method: 'GET',
      url: `https://shop.example.com/${n}`,
      path: `/path-${n % PATHS}`,
      status_code: 200,
      response_time_ms: 12,
      consumer: { identifier: `consumer ${n % 50}` },
    }));
    writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    return file;
  }

  it('runs as many statements at once as it has sessions', async () => {
    const other = dataDirectory();
    const env = { ...other.env, EMBEDDED_SESSIONS: '12' };
    const busy = await ProductProcess.start(['serve'], env);
    const connection = await SocketConnection.connect(other.env.DATA_DIR!);
    const store = ClickHouse.openSocket(new Config(env), connection!);
    const sleep = 'SELECT sum(sleepEachRow(1)) FROM numbers(600) SETTINGS max_block_size = 1';
    const statements = Promise.allSettled(Array.from({ length: 10 }, () => store.command(sleep, {})));
    const count = async () => {
      const [row] = await store.rows<{ n: number }>(
        'test.count',
        "SELECT count() AS n FROM system.processes WHERE query LIKE '%sleepEachRow%' AND query NOT LIKE '%LIKE%'",
      );
      return row?.n;
    };
    await eventually(async () => (await count()) === 10);
    await store.close();
    await statements;
    await busy.stop();
    other.remove();
  });

  it('gives the socket to the owner only', () => {
    expect(statSync(socket).mode & 0o777).toBe(0o600);
  });

  it('creates teams, keys and apps that the server knows at once', async () => {
    const team = await run<{ id: number }>('team', 'create', '--name', 'Acme');
    const ofTeam = ['--team', String(team.id)];
    const { key } = await run<{ key: string }>('key', 'create', ...ofTeam);
    const app = await run<{ id: number; client_id: string }>('app', 'create', ...ofTeam, '--name', 'Shop');
    const { get, appId } = useTenant({ ...app, key });
    expect((await get('apps')).data).toEqual([expect.objectContaining({ id: Number(appId), name: 'Shop' })]);
  });

  it('imports, lists, marks, exports and verifies', async () => {
    const { appId, countTraffic } = await createTenant();
    const file = writeRequests('import', 500);
    expect(await run('import', file, '--app', appId)).toMatchObject({ imported: 500, duplicates: 0 });
    expect(await runHere('import', file, '--app', appId)).toMatchObject({ imported: 0, duplicates: 500 });
    expect(await countTraffic()).toBe(500);
    await runHere('endpoint', 'exclude', '--app', appId, '--method', 'GET', '--path', '/path-7');
    const exported = join(directory, '..', `export-${process.pid}.ndjson`);
    expect(await runHere('export', '--app', appId, '--output', exported)).toMatchObject({ rows: 498 });
    rmSync(exported);
    expect(await runHere('write-token', 'create', '--app', appId)).toHaveProperty('token');
    expect(await runHere('status')).not.toHaveProperty('tables');
    expect(await runHere('status', '--tables')).toHaveProperty('tables');
    expect(await runHere('verify')).toMatchObject({ status: 'ok' });
    expect(await runHere('migrate')).toMatchObject({ applied: [] });
    rmSync(file);
  });

  it('deletes an app while its data arrives: the collector rejects it, and no table has a row of it', async () => {
    const [deleted, kept] = [await createTenant(), await createTenant()];
    const send = async ({ client_id }: { client_id: unknown }) => {
      const message = buildSync({ requests: [buildCount({ path: '/a', consumer: 'acme' })] });
      const response = await fetch(`${server.collectorUrl}/v2/${String(client_id)}/prod/sync`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(message),
      });
      return response.status;
    };
    expect([await send(deleted), await send(kept)]).toEqual([202, 202]);
    const refused = await ProductProcess.run(['app', 'delete', '--app', deleted.appId], data.env);
    expect([refused.code, refused.err.join()]).toEqual([1, expect.stringContaining('--yes')]);
    expect(await deleted.countTraffic()).toBe(1);

    const progress = { isDone: false };
    const deletion = run('app', 'delete', '--app', deleted.appId, '--yes').finally(() => {
      progress.isDone = true;
    });
    const statuses: number[] = [];
    while (!progress.isDone) {
      statuses.push(await send(deleted));
      await pause(100);
    }
    expect(await deletion).toEqual({ id: Number(deleted.appId), deleted: true });
    // Accepted until the caches expired, and never again.
    expect(statuses[0]).toBe(202);
    expect(statuses.slice(statuses.findIndex((status) => status !== 202))).not.toContain(202);
    expect(statuses.at(-1)).not.toBe(202);
    await eventually(async () => ((await send(deleted)) === 404 ? true : undefined));
    expect((await deleted.get('apps')).data).toEqual([]);
    expect([await send(kept), await kept.countTraffic()]).toEqual([202, 2]);
    const connection = await SocketConnection.connect(directory);
    const store = ClickHouse.openSocket(new Config(data.env), connection!);
    // Senders that go on are refused, and the store says so for a day.
    const counts = await store.rows(
      'test.rows',
      `SELECT countIf(app_id = {deleted:UInt32}) AS deleted, countIf(app_id = {kept:UInt32}) > 20 AS kept
        FROM merge(currentDatabase(), '_v1$') WHERE _table != 'refused_senders_v1'`,
      { deleted: Number(deleted.appId), kept: Number(kept.appId) },
    );
    expect(counts).toEqual([{ deleted: 0, kept: 1 }]);
    await store.close();
  });

  it('rejects a command as it does without a server', async () => {
    const { code, err } = await runCommand(['app', 'rename', '--app', '999', '--name', 'X'], data.env);
    expect(code).toBe(1);
    expect(err.join('\n')).toContain('999');
    const deletion = await ProductProcess.run(['app', 'delete', '--app', '999', '--yes'], data.env);
    expect([deletion.code, deletion.err.filter((line) => !line.startsWith('{'))]).toEqual([
      1,
      ['error: There is no app 999'],
    ]);
  });

  it('assigns each name one ID when an import and the collector register it at the same time', async () => {
    const { appId, client_id, get, countTraffic } = await createTenant();
    const file = writeRequests('names');
    const importing = run('import', file, '--app', appId);
    let [next, sent, isDone] = [0, 0, false];
    void importing.finally(() => {
      isDone = true;
    });
    while (!isDone) {
      const requests = Array.from({ length: 20 }, () =>
        buildCount({ path: `/path-${(next += 1) % PATHS}`, consumer: `consumer ${next % 50}` }),
      );
      const response = await fetch(`${server.collectorUrl}/v2/${client_id}/prod/sync`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(buildSync({ requests })),
      });
      expect(response.status).toBe(202);
      sent += requests.length;
    }
    expect(await importing).toMatchObject({ imported: LINES });
    const { data: endpoints } = await get(`apps/${appId}/endpoints`);
    expect(new Set(endpoints.map(({ id }) => id)).size).toBe(PATHS);
    expect(new Set(endpoints.map(({ path }) => path)).size).toBe(PATHS);
    const { data: consumers } = await get(`apps/${appId}/consumers?limit=1000`);
    expect(consumers.map(({ identifier }) => identifier).sort()).toHaveLength(50);
    expect(await countTraffic()).toBe(LINES + sent);
    rmSync(file);
  });

  it('imports each request once when the import is killed and repeated, also at the same time', async () => {
    const { appId, countTraffic } = await createTenant();
    const file = writeRequests('killed');
    for (const killAfterMs of [900, 1_400])
      await ProductProcess.run(['import', file, '--app', appId], data.env, { killAfterMs });
    await Promise.all([run('import', file, '--app', appId), run('import', file, '--app', appId)]);
    expect(await countTraffic()).toBe(LINES);
    rmSync(file);
  });

  it('fails with a reason when the server stops, and the next command opens the directory itself', async () => {
    const { appId, countTraffic } = await createTenant();
    const file = writeRequests('stopped');
    const importing = ProductProcess.run(['import', file, '--app', appId], data.env);
    await eventually(async () => (await countTraffic()) > 0, 60_000, 500);
    expect(await server.stop()).toBe(0);
    expect(existsSync(socket)).toBe(false);
    const { code, err } = await importing;
    if (code !== 0) expect(err.join('\n')).toContain('the server that has the data directory open');
    await run('import', file, '--app', appId);
    await server.launch();
    expect(await countTraffic()).toBe(LINES);
    rmSync(file);
  });

  it('replaces the socket of a server that was killed', async () => {
    await server.crash();
    expect(existsSync(socket)).toBe(true);
    // It opens the directory itself.
    expect(await run('team', 'list')).toMatchObject({ name: 'Acme' });
    await server.launch();
    expect(await runHere('team', 'list')).toMatchObject({ name: 'Acme' });
  });

  it('serves without a socket when the path is too long for one, and says so', async () => {
    const long = join(directory, '..', `long-${process.pid}-${'d'.repeat(100)}`);
    mkdirSync(long, { mode: 0o700 });
    const other = await ProductProcess.start(['serve'], { DATA_DIR: long });
    expect(other.written).toContain('its path is too long for a socket');
    const { code, err } = await ProductProcess.run(['team', 'list'], { DATA_DIR: long });
    expect([code, err.join('\n')]).toEqual([1, expect.stringContaining('is in use by another process')]);
    await other.stop();
    rmSync(long, { recursive: true });
  });

  it('waits for a server that starts, which has the directory before its socket', async () => {
    const other = dataDirectory();
    const starting = await ProductProcess.begin(['serve'], other.env);
    await eventually(() => findLockOwner(other.env.DATA_DIR!) !== undefined, 60_000, 1);
    starting.signal('SIGSTOP');
    expect(existsSync(join(other.env.DATA_DIR!, 'store.sock'))).toBe(false);
    const command = ProductProcess.run(['team', 'list'], other.env);
    // Longer than a command takes that does not wait.
    await pause(3_000);
    starting.signal('SIGCONT');
    const { code, err } = await command;
    expect([code, err.filter((line) => line.startsWith('error'))]).toEqual([0, []]);
    await starting.stop();
    other.remove();
  });

  it('fails with a reason when the server stands still', async () => {
    server.signal('SIGSTOP');
    const { code, err } = await ProductProcess.run(['team', 'list'], data.env, { killAfterMs: 60_000 });
    server.signal('SIGCONT');
    expect([code, err.join('\n')]).toEqual([1, expect.stringContaining('does not respond')]);
    expect(await runHere('team', 'list')).toMatchObject({ name: 'Acme' });
  });

  it('fails with a reason when the server ends in the middle of a response', async () => {
    const other = dataDirectory();
    const fake = createServer(({ url }, response) => {
      if (url === '/') {
        response.write(JSON.stringify({ version: PRODUCT_VERSION, session: 'x' }));
        return;
      }
      response.writeHead(200, { 'X-Summary': '{}', 'Content-Length': '1000' });
      response.write('[', () => response.destroy());
    });
    await once(fake.listen(join(other.env.DATA_DIR!, 'store.sock')), 'listening');
    for (const args of [['list'], ['set-plan', '--team', '1', '--plan', 'free']]) {
      const { code, err } = await runCommand(['team', ...args], other.env);
      expect([code, err.at(-1)]).toEqual([
        1,
        'error: the server that has the data directory open does not respond',
      ]);
    }
    fake.close();
    other.remove();
  });

  it('refuses to reach a server of another version', async () => {
    const other = dataDirectory();
    const fake = createServer((_, response) =>
      response.end(JSON.stringify({ version: '0.0.1', session: 'x' })),
    );
    await once(fake.listen(join(other.env.DATA_DIR!, 'store.sock')), 'listening');
    const { code, err } = await runCommand(['team', 'list'], other.env);
    expect([code, err.join('\n')]).toEqual([1, expect.stringContaining('version 0.0.1')]);
    fake.close();
    other.remove();
  });
});
