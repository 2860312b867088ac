import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { endProcess } from './end-process.js';
import { freePort } from './free-port.js';

const BINARY = ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0);
const SHARED_URL = process.env.REDIS_URL ?? '';

if (process.env.CI && BINARY === undefined)
  throw new Error('Install redis-server: its tests must not be skipped');

/** For suites that are content with any Redis: the one of `REDIS_URL`, or one of their own. */
export const describeWithRedis = SHARED_URL !== '' || BINARY !== undefined ? describe : describe.skip;
/** For suites that stop, freeze or reconfigure Redis: one of their own. */
export const describeWithRedisServer = BINARY === undefined ? describe.skip : describe;

/** An address of Redis with keys of its own, and how to end its use. */
export interface RedisAddress {
  readonly url: string;
  stop(): Promise<void>;
}

/** The Redis of `REDIS_URL`, under a key prefix of the caller's own, or a server of the caller's own. */
export async function openRedis(): Promise<RedisAddress> {
  if (SHARED_URL === '') return RedisServer.start();
  const url = new URL(SHARED_URL);
  url.searchParams.set('keyPrefix', `test-${randomUUID()}:`);
  return { url: url.href, stop: () => Promise.resolve() };
}

/**
 * Redis has a machine of its own where it matters; here it must not wait behind the load that it is to count.
 * Without the privilege for that it takes its turn like the others.
 */
function goFirst(pid: number) {
  try {
    setPriority(pid, constants.priority.PRIORITY_HIGHEST);
  } catch {
    // Not permitted, or ended already, which the caller will learn.
  }
}

/** A real server on a port and in a directory of its own, which keeps nothing over a restart. */
export class RedisServer implements RedisAddress {
  private child?: ChildProcess;
  private readonly directory = mkdtempSync(join(tmpdir(), 'redis-'));

  private readonly endWithProcess = () => this.child?.kill('SIGKILL');

  private constructor(readonly port: number) {
    process.once('exit', this.endWithProcess);
  }

  static async start(): Promise<RedisServer> {
    const server = new RedisServer(await freePort());
    await server.launch();
    return server;
  }

  get url() {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Runs the server again after `kill`; resolves once it accepts connections. */
  async launch() {
    const given = ['--port', this.port, '--bind', '127.0.0.1', '--save', '', '--dir', this.directory].map(
      String,
    );
    const child = spawn(BINARY ?? '', given, { stdio: ['ignore', 'pipe', 'ignore'] });
    this.child = child;
    goFirst(child.pid!);
    for await (const line of createInterface(child.stdout)) if (line.includes('Ready to accept')) break;
    child.stdout.resume();
  }

  /** Stops the process without ending it: connections stay open, and no response is sent. */
  freeze() {
    this.child?.kill('SIGSTOP');
  }

  thaw() {
    this.child?.kill('SIGCONT');
  }

  async kill() {
    if (!this.child) return;
    await endProcess(this.child, 'SIGKILL');
    this.child = undefined;
  }

  async stop() {
    await this.kill();
    process.off('exit', this.endWithProcess);
    rmSync(this.directory, { recursive: true, force: true });
  }
}
