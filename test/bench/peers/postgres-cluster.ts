import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, openSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';

const DEBIAN = '/usr/lib/postgresql';
export const HOW_TO_INSTALL =
  'PostgreSQL is not installed: apt-get install --no-install-recommends postgresql';
const MB = 1024 * 1024;

/** Directory of the newest PostgreSQL's programs; undefined when there is none. */
export function postgresPrograms(): string | undefined {
  if (!existsSync(DEBIAN)) return undefined;
  const versions = readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a));
  return versions
    .map((version) => join(DEBIAN, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'initdb')));
}

/** A private PostgreSQL server on a free port, run by a user without privileges. */
export class PostgresCluster {
  private constructor(
    private readonly server: ChildProcess,
    readonly client: pg.Client,
  ) {}

  /** Starts the cluster of a directory, made when it is not there. */
  static async start(programs: string, directory: string, log: string): Promise<PostgresCluster> {
    const user = unprivileged();
    if (!existsSync(directory)) {
      mkdirSync(dirname(directory), { recursive: true });
      mkdirSync(directory);
      if (user) chownSync(directory, user.uid, user.gid);
      const options = ['-D', directory, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--locale=C'];
      execFileSync(join(programs, 'initdb'), options, { ...user, cwd: directory, stdio: 'ignore' });
    }
    const port = await freePort();
    const output = openSync(log, 'a');
    const server = spawn(
      join(programs, 'postgres'),
      ['-D', directory, '-p', String(port), ...settings().flatMap((setting) => ['-c', setting])],
      { ...user, cwd: directory, stdio: ['ignore', output, output] },
    );
    process.once('exit', () => server.kill('SIGINT'));
    const client = await connected(port, server, log);
    return new PostgresCluster(server, client);
  }

  async stop(): Promise<void> {
    await this.client.end();
    const gone = new Promise((ok) => this.server.once('exit', ok));
    // The fast shutdown: sessions are ended, data is written.
    this.server.kill('SIGINT');
    await gone;
  }
}

/**
 * A quarter of the memory for its cache, the rest known to the planner, and no waiting for the disk while
 * loading.
 */
function settings(): string[] {
  const memory = Math.round(totalmem() / MB);
  return [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    `shared_buffers=${Math.round(memory / 4)}MB`,
    `effective_cache_size=${Math.round((memory * 3) / 4)}MB`,
    'work_mem=64MB',
    'maintenance_work_mem=1GB',
    'random_page_cost=1.1',
    'wal_level=minimal',
    'max_wal_senders=0',
    'max_wal_size=16GB',
    'checkpoint_timeout=30min',
    'synchronous_commit=off',
  ];
}

/** PostgreSQL refuses to run as root: then it runs as the user that its package made, else as nobody. */
function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody'])
    try {
      const id = (flag: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }));
      return { uid: id('-u'), gid: id('-g') };
    } catch {
      // No such user: the next one.
    }
  return undefined;
}

export function freePort(): Promise<number> {
  return new Promise((ok, no) => {
    const probe = createServer();
    probe.once('error', no);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => {
        ok(typeof address === 'object' ? (address?.port ?? 0) : 0);
      });
    });
  });
}

async function connected(port: number, server: ChildProcess, log: string): Promise<pg.Client> {
  for (;;) {
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'bench', database: 'postgres' });
    try {
      await client.connect();
      return client;
    } catch (error) {
      if (server.exitCode !== null) throw new Error(`PostgreSQL did not start; see ${log}`, { cause: error });
      await new Promise((ok) => setTimeout(ok, 200));
    }
  }
}
