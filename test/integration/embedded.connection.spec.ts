import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClickHouseClient, createClient } from '@clickhouse/client';
import { ClickHouse } from '../../src/clickhouse/clickhouse.client.js';
import { DataDirectoryInUse, StoreUnavailable } from '../../src/clickhouse/clickhouse.errors.js';
import { EmbeddedConnection } from '../../src/clickhouse/embedded/embedded.connection.js';
import { Config } from '../../src/config/config.js';
import { describeEmbedded } from '../setup/store.js';

const SLOW = 'SELECT sleep(0.5) AS slow';

describeEmbedded('EmbeddedConnection', () => {
  const directory = mkdtempSync(join(tmpdir(), 'embedded-'));
  let client: ClickHouseClient;

  const open = async (sessions: number, waitMs = 10_000) => {
    client = createClient({ connection: await EmbeddedConnection.open(directory, sessions, waitMs) });
  };
  const call = async (query: string, abort_signal?: AbortSignal) => {
    const result = await client.query({
      query,
      format: 'JSONEachRow',
      ...(abort_signal ? { abort_signal } : {}),
    });
    return result.text();
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

  it('answers a fast query while a slow one runs, where there is a session left', async () => {
    await open(2);
    expect(await order({ slow: call(SLOW), fast: call('SELECT 1') })).toEqual(['fast', 'slow']);
  });

  it('lets queries wait for a session, in their order, where there is none left', async () => {
    await open(1);
    const questions = { slow: call(SLOW), second: call('SELECT 2'), third: call('SELECT 3') };
    expect(await order(questions)).toEqual(['slow', 'second', 'third']);
  });

  it('is overloaded when no session comes free in time, and recovers', async () => {
    await open(1, 50);
    const slow = call(SLOW);
    await expect(call('SELECT 1')).rejects.toThrow(StoreUnavailable);
    await expect(slow).resolves.toBe('{"slow":0}\n');
    await expect(call('SELECT 1 AS n')).resolves.toBe('{"n":1}\n');
  });

  it('frees the session of a query that failed', async () => {
    await open(1, 50);
    await expect(call('SELECT nonsense')).rejects.toThrow();
    await expect(call('SELECT 1 AS n')).resolves.toBe('{"n":1}\n');
  });

  it('answers the running queries when it is closed, and refuses the waiting and later ones', async () => {
    await open(1);
    const [running, waiting] = [call(SLOW), call('SELECT 1')];
    const refused = expect(waiting).rejects.toThrow(StoreUnavailable);
    const begun = performance.now();
    const closed = client.close();
    await expect(call('SELECT 1')).rejects.toThrow(StoreUnavailable);
    await closed;
    expect(performance.now() - begun).toBeGreaterThan(400);
    expect(await running).toBe('{"slow":0}\n');
    await refused;
  });

  it('lets go of a caller who is gone, and not of the session before its query is done', async () => {
    await open(1);
    const gone = new AbortController();
    const abandoned = call(SLOW, gone.signal).catch((error: unknown) => error);
    const next = call('SELECT 1');
    setTimeout(() => {
      gone.abort();
    }, 20);
    const started = performance.now();
    expect(await order({ abandoned, next })).toEqual(['abandoned', 'next']);
    expect(performance.now() - started).toBeGreaterThan(400);
    expect(await abandoned).toMatchObject({ type: 'QUERY_WAS_CANCELLED' });
  });

  it('does not begin for a caller who left while waiting', async () => {
    await open(1);
    const started = performance.now();
    const running = call(SLOW);
    const gone = new AbortController();
    const left = expect(call(SLOW, gone.signal)).rejects.toThrow();
    gone.abort();
    await Promise.all([running, left, call('SELECT 1')]);
    expect(performance.now() - started).toBeLessThan(950);
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
