import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { sendRaw } from './raw-http.js';
import { captureProcess } from './secrets/run.js';

const TYPESCRIPT = new URL('./typescript.js', import.meta.url).href;
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** The server as `npm start` runs it, from the sources, in a process of its own. */
export class ApiProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  /**
   * Resolves once the service responds, in any state of its store.
   *
   * @param at the port; left out: any that is free
   */
  static async start(env: NodeJS.ProcessEnv, at?: number): Promise<ApiProcess> {
    const port = String(at ?? (await freePort()));
    const child = spawn(process.execPath, ['--import', TYPESCRIPT, MAIN], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, HOST: '127.0.0.1', PORT: port, ...env },
    });
    captureProcess('api', child, { shown: true });
    const api = new ApiProcess(child, `http://127.0.0.1:${port}`);
    const isLive = () =>
      sendRaw(api.url, '/health/live').then(
        ({ status }) => status === 200,
        () => false,
      );
    await eventually(isLive, 20_000);
    return api;
  }

  get alive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Memory that is really in use, in MiB (Linux). */
  get residentMiB(): number {
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
  }

  /** Asks it to stop; resolves to its exit code. */
  async stop(): Promise<number | null> {
    if (!this.alive) return this.child.exitCode;
    const exited = once(this.child, 'exit') as Promise<[number | null]>;
    this.child.kill('SIGTERM');
    return (await exited)[0];
  }
}
