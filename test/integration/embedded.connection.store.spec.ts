import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ClickHouseClient } from '@clickhouse/client';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { DataDirectoryInUse, StoreUnavailable } from '../../src/store/client/clickhouse.errors.js';
import { EmbeddedConnection } from '../../src/store/embedded/embedded.connection.js';
import { createEngineClient } from '../../src/store/embedded/engine-client.js';
import { RequestContext } from '../../src/telemetry/request-context.js';
import { Config } from '../../src/config/config.js';
import { eventually } from '../setup/eventually.js';
import { describeEmbedded } from '../setup/store.js';

const SLOW = 'SELECT sleep(0.5) AS slow';

describeEmbedded('EmbeddedConnection', () => {
  const directory = mkdtempSync(join(tmpdir(), 'embedded-'));
  let connection: EmbeddedConnection;
  let client: ClickHouseClient;

  const open = async (maxIdle: number) => {
    connection = await EmbeddedConnection.open(directory, maxIdle);
    client = createEngineClient(connection);
  };
  const call = async (query: string, abort_signal?: AbortSignal) => {
    const { stream } = await client.exec({
      query: `${query} FORMAT JSONEachRow`,
      ...(abort_signal ? { abort_signal } : {}),
    });
    return text(stream);
  };
  /** Names in the order in which their questions were answered. */
  const order = async (questions: Record<string, Promise<unknown>>) => {
    const answered: string[] = [];
    await Promise.all(
      Object.entries(questions).map(([name, question]) => question.then(() => answered.push(name))),
    );
    return answered;
  };

  afterEach(() => client.close());

  afterAll(() => {
    rmSync(directory, { recursive: true });
  });

  const itAsRoot = process.getuid?.() === 0 ? it : it.skip;
  itAsRoot('leaves no file of root in a directory of another account', async () => {
    const owner = 65_534;
    chownSync(directory, owner, owner);
    await open(1);
    await client.command({ query: 'CREATE TABLE owned (n Int8) ENGINE = MergeTree ORDER BY n' });
    await client.command({ query: 'INSERT INTO owned VALUES (1)' });
    await client.close();
    const entries = readdirSync(directory, { recursive: true, encoding: 'utf8' });
    expect(entries.length).toBeGreaterThan(10);
    expect(entries.filter((entry) => lstatSync(join(directory, entry)).uid !== owner)).toEqual([]);
    chownSync(directory, 0, 0);
  });

  it('returns a fast query while a slow one runs, beyond the sessions that it keeps', async () => {
    await open(1);
    const questions = { slow: call(SLOW), fast: call('SELECT 1') };
    expect(connection.busySessions).toBe(2);
    expect(await order(questions)).toEqual(['fast', 'slow']);
    expect(connection.busySessions).toBe(0);
    expect(await call('SELECT 1 AS n')).toBe('{"n":1}\n');
  });

  it('runs a long statement in each session, also in a new one', async () => {
    await open(1);
    const long = `SELECT length('${'x'.repeat(1_000_000)}') AS n FORMAT JSONEachRow`;
    const query = () => connection.exec({ query: long });
    const results = await Promise.all([query(), query()]);
    for (const { stream } of results) expect(await text(stream)).toBe('{"n":1000000}\n');
  });

  it('frees the session of a query that failed', async () => {
    await open(1);
    await expect(call('SELECT nonsense')).rejects.toThrow();
    await expect(call('SELECT 1 AS n')).resolves.toBe('{"n":1}\n');
  });

  it('finishes the running queries when it is closed, and rejects later ones', async () => {
    await open(1);
    const running = call(SLOW);
    const closed = client.close();
    await expect(call('SELECT 1')).rejects.toThrow(StoreUnavailable);
    await closed;
    expect(connection.busySessions).toBe(0);
    expect(await running).toBe('{"slow":0}\n');
  });

  it('cancels a read whose caller is gone, and lets a write end', async () => {
    await open(2);
    await client.command({ query: 'CREATE TABLE ends (n UInt64) ENGINE = MergeTree ORDER BY n' });
    const gone = new AbortController();
    const slow = (rows: number) =>
      `SELECT sleepEachRow(1) AS n FROM numbers(${rows}) SETTINGS max_block_size = 1`;
    const read = call(slow(600), gone.signal);
    const write = client.command({ query: `INSERT INTO ends ${slow(2)}`, abort_signal: gone.signal });
    await eventually(async () => (await call('SELECT count() AS n FROM system.processes')).includes('3'));
    gone.abort();
    await expect(read).rejects.toThrow('Query was cancelled');
    await write;
    expect(await call('SELECT count() AS n FROM ends')).toBe('{"n":2}\n');
    expect(connection.busySessions).toBe(0);
  });

  it('does not begin for a caller who is gone already', async () => {
    await open(1);
    await expect(call(SLOW, AbortSignal.abort())).rejects.toThrow();
  });

  it('keeps what was written when it is opened again', async () => {
    await open(2);
    await client.command({ query: 'CREATE TABLE kept (n UInt8) ENGINE = MergeTree ORDER BY n' });
    await client.command({ query: 'INSERT INTO kept VALUES (7)' });
    await client.close();
    await open(1);
    expect(await call('SELECT n FROM kept')).toBe('{"n":7}\n');
  });
});

describeEmbedded('the limit of queries that run at once in the embedded engine', () => {
  const directory = mkdtempSync(join(tmpdir(), 'embedded-limit-'));
  let store: ClickHouse;

  beforeEach(async () => {
    store = await ClickHouse.open(new Config({ DATA_DIR: directory, EMBEDDED_SESSIONS: '1' }));
  });

  afterEach(() => store.close());

  afterAll(() => {
    rmSync(directory, { recursive: true });
  });

  it('counts a query whose client disconnected until the engine is done with it', async () => {
    // Opens the session, so that the next query is with the engine at once.
    await store.rows('test.first', 'SELECT 1');
    const ended: string[] = [];
    const gone = new AbortController();
    const abandoned = new RequestContext(gone.signal)
      .run(() => store.rows('test.abandoned', SLOW))
      .catch((why: unknown) => {
        ended.push('abandoned');
        return why;
      });
    const next = store.rows('test.next', 'SELECT 1').then(() => ended.push('next'));
    // In the next turn of the event loop the engine has the query.
    await new Promise(setImmediate);
    gone.abort(new Error('gone'));
    await Promise.all([abandoned, next]);
    expect(await abandoned).toEqual(new Error('gone'));
    expect(ended).toEqual(['abandoned', 'next']);
  });

  it('leaves writes and pings out', async () => {
    const slow = store.rows('test.slow', 'SELECT sleep(3)').then(() => 'slow');
    const beside = [store.command('SELECT 1').then(() => 'write'), store.ping().then(() => 'ping')];
    expect(await Promise.race([slow, Promise.all(beside)])).toEqual(['write', 'ping']);
    await slow;
  });

  it('reads files in the thread of the query', async () => {
    const sql = "SELECT getSetting('local_filesystem_read_method') AS method";
    expect(await store.rows('test.setting', sql)).toEqual([{ method: 'pread' }]);
  });

  it('does not run a query whose client disconnected in the queue', async () => {
    const running = store.rows('test.running', SLOW);
    const gone = new AbortController();
    const sql = "SELECT throwIf(1, 'it ran')";
    const read = new RequestContext(gone.signal).run(() => store.rows('test.left', sql));
    const remaining = expect(read).rejects.toThrow('gone');
    gone.abort(new Error('gone'));
    await Promise.all([running, remaining]);
  });
});

describeEmbedded('a data directory that another process has', () => {
  const directory = mkdtempSync(join(tmpdir(), 'embedded-'));
  const HOLD = `
    import { createChdbConnection } from 'chdb/connection';
    const connection = createChdbConnection({ path: process.argv[1] });
    console.log('open');
    process.stdin.resume().once('end', () => connection.close());`;
  let other: ChildProcess;

  beforeAll(async () => {
    const options = ['--input-type=module', '--eval', HOLD, directory];
    other = spawn(process.execPath, options, { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(other.stdout!, 'data');
  });

  afterAll(() => {
    other.kill('SIGKILL');
    rmSync(directory, { recursive: true });
  });

  it('is one sentence that says so and what to do, and can be opened once the other is done', async () => {
    const config = new Config({ DATA_DIR: directory });
    const refusal = ClickHouse.open(config);
    await expect(refusal).rejects.toThrow(DataDirectoryInUse);
    await expect(refusal).rejects.toThrow(
      `The data directory ${directory} is in use by another process (a server or another command): ` +
        'stop that one first, use another DATA_DIR, or set CLICKHOUSE_URL to share a ClickHouse server.',
    );
    const exited = once(other, 'exit');
    other.stdin!.end();
    await exited;
    const store = await ClickHouse.open(config);
    expect(await store.ping()).toBe(true);
    await store.close();
  });
});
