import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endProcess } from '../../setup/end-process.js';

/** A request to a sample application. */
export interface Call {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: object;
}

/**
 * A sample application of `apps` in a process of its own, with the client library that reports to the
 * collector.
 */
export class SampleApp {
  private readonly endWithProcess = () => this.child.kill('SIGKILL');

  private constructor(
    private readonly child: ChildProcess,
    private readonly directory: string,
    private readonly port: number,
  ) {
    process.once('exit', this.endWithProcess);
  }

  static async start(name: string, env: Record<string, string>): Promise<SampleApp> {
    // The library keeps its files there.
    const directory = mkdtempSync(join(tmpdir(), 'sample-app-'));
    const main = join(process.cwd(), 'test/collector/apps', `${name}.ts`);
    const child = spawn(process.execPath, ['--import', './test/setup/typescript.js', main], {
      env: { PATH: process.env.PATH, NODE_ENV: 'test', TMPDIR: directory, ...env },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const started = await Promise.race([
      once(child, 'message') as Promise<[{ port: number }]>,
      once(child, 'exit').then(() => undefined),
    ]);
    if (!started) throw new Error(`${name} did not start`);
    return new SampleApp(child, directory, started[0].port);
  }

  /** The status of the response, which is read to its end, and the bytes of its body. */
  async call({ method = 'GET', path, headers = {}, body }: Call): Promise<{ status: number; bytes: number }> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, bytes: (await response.arrayBuffer()).byteLength };
  }

  async stop(): Promise<void> {
    await endProcess(this.child, 'SIGKILL');
    process.off('exit', this.endWithProcess);
    rmSync(this.directory, { recursive: true, force: true });
  }
}
