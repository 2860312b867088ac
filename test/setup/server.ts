import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { AdminService } from '../../src/admin/admin.service.js';
import { ClickHouse } from '../../src/clickhouse/clickhouse.client.js';
import { migrate } from '../../src/clickhouse/migrations/migrate.js';
import { Config } from '../../src/config/config.js';
import { endProcess } from './end-process.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { sendRaw } from './raw-http.js';
import { captureProcess } from './secrets/run.js';

/**
 * The built server in a process of its own, as `npm start` runs it. Each has a data directory of its own, since
 * embedded engines cannot share one; what they are prepared with is the same.
 */
export class ServerProcess {
  /** What it logged so far, a line each. */
  readonly log: string[] = [];

  private constructor(
    private readonly child: ChildProcess,
    private readonly directory: string,
    readonly url: string,
  ) {
    createInterface(child.stdout!).on('line', (line) => this.log.push(line));
    process.once('exit', this.endWithProcess);
  }

  /** A server that is ready, its store prepared. */
  static async start(env: NodeJS.ProcessEnv, prepare: (admin: AdminService) => Promise<unknown>) {
    const directory = mkdtempSync(join(tmpdir(), 'request-analytics-'));
    const store = await ClickHouse.open(new Config({ DATA_DIR: directory }));
    await migrate(store);
    await prepare(new AdminService(store)).finally(() => store.close());
    const port = await freePort();
    const own = { DATA_DIR: directory, PORT: String(port), HOST: '127.0.0.1', LOG_LEVEL: 'info' };
    const child = spawn(process.execPath, [join(process.cwd(), 'dist/main.js')], {
      cwd: directory,
      env: { PATH: process.env.PATH, ...own, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    captureProcess('server', child, { shown: true });
    // What counts its requests must not wait behind it.
    setPriority(child.pid!, constants.priority.PRIORITY_BELOW_NORMAL);
    const server = new ServerProcess(child, directory, `http://127.0.0.1:${port}`);
    await eventually(() => server.isReady(), 20_000);
    return server;
  }

  /** Ends it as an orchestrator does. */
  async stop(): Promise<void> {
    await endProcess(this.child, 'SIGTERM');
    process.off('exit', this.endWithProcess);
    rmSync(this.directory, { recursive: true, force: true });
  }

  private readonly endWithProcess = () => this.child.kill('SIGKILL');

  private async isReady(): Promise<boolean> {
    if (this.child.exitCode !== null) throw new Error(`The server ended with ${this.child.exitCode}`);
    return sendRaw(this.url, '/health/ready').then(
      ({ status }) => status === 200,
      () => false,
    );
  }
}
