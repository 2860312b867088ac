import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endProcess } from '../end-process.js';
import type { FailureMode, FailureOrder, Order, Reply, SeenQuery, Started } from './protocol.js';

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));
const TYPESCRIPT = new URL('../typescript.js', import.meta.url).href;

/**
 * ClickHouse's HTTP interface over the embedded engine in another process, on a port and in a directory of
 * its own, with failures to order. What was written survives a restart.
 */
export class ClickHouseServer {
  private child?: ChildProcess;
  private port = 0;
  private orders = 0;
  private readonly replies = new Map<number, (seen: SeenQuery[]) => void>();
  private readonly directory = mkdtempSync(join(tmpdir(), 'clickhouse-'));

  private readonly endWithProcess = () => this.child?.kill('SIGKILL');

  private constructor(
    readonly user: string,
    readonly password: string,
  ) {
    process.once('exit', this.endWithProcess);
  }

  static async start({ user = 'default', password = '' } = {}): Promise<ClickHouseServer> {
    const server = new ClickHouseServer(user, password);
    await server.launch();
    return server;
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  /**
   * Runs the process, at first or again after `kill`; resolves once it listens, the second time on the same
   * port.
   */
  async launch() {
    const given = [this.directory, String(this.port), this.user, this.password];
    const child = spawn(process.execPath, ['--import', TYPESCRIPT, MAIN, ...given], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      // The engine's queries run on these threads: one that takes long must not hold up the others.
      env: { ...process.env, UV_THREADPOOL_SIZE: '16' },
    });
    this.child = child;
    const started = await Promise.race([
      once(child, 'message') as Promise<[Started]>,
      once(child, 'exit').then(() => undefined),
    ]);
    if (!started) throw new Error('The store did not start');
    this.port = started[0].port;
    child.on('message', ({ id, seen }: Reply) => {
      this.replies.get(id)?.(seen);
      this.replies.delete(id);
    });
  }

  /** From now on, and before what was ordered earlier. */
  async fail(failure: FailureMode, which: Omit<FailureOrder, 'failure'> = {}) {
    await this.order({ do: 'fail', order: { failure, ...which } });
  }

  /** Ends all failures but `refuse`. */
  async heal() {
    await this.order({ do: 'heal' });
  }

  /** Closes the listener and every connection; the process lives on. */
  async refuse() {
    await this.order({ do: 'refuse' });
  }

  async accept() {
    await this.order({ do: 'accept' });
  }

  /** The last few thousand queries, in the order in which they came. */
  queries(): Promise<SeenQuery[]> {
    return this.order({ do: 'report' });
  }

  /** Ends the process at once, as a crash would. */
  async kill() {
    if (!this.child) return;
    await endProcess(this.child, 'SIGKILL');
    this.child = undefined;
  }

  /** Stops the process without ending it: the system accepts connections, and none gets a response. */
  freeze() {
    this.child?.kill('SIGSTOP');
  }

  thaw() {
    this.child?.kill('SIGCONT');
  }

  async stop() {
    await this.kill();
    process.off('exit', this.endWithProcess);
    rmSync(this.directory, { recursive: true, force: true });
  }

  private order(order: Order): Promise<SeenQuery[]> {
    const id = ++this.orders;
    return new Promise((ok) => {
      this.replies.set(id, ok);
      this.child?.send({ id, order });
    });
  }
}
