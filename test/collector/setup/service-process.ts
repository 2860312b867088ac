import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { readMemory, readProcessorSeconds } from '../../bench/machine.js';
import { endProcess } from '../../setup/end-process.js';
import { eventually } from '../../setup/eventually.js';
import { freePort } from '../../setup/free-port.js';
import { captureProcess } from '../../setup/secrets/run.js';

/** How Node runs the product from the sources. */
const SOURCES = ['--import', './test/setup/typescript.js', join(process.cwd(), 'src/cli.ts')];
/** How Node runs what is built, which starts in a third of the time. */
export const BUILT = [join(process.cwd(), 'dist/cli.js')];

/** The read API and the collector in a process of their own, as `npm run start:all` runs them, on a data directory. */
export class ServiceProcess {
  private child?: ChildProcess;
  private readonly endWithProcess = () => this.child?.kill('SIGKILL');

  private constructor(
    private readonly program: readonly string[],
    private readonly env: NodeJS.ProcessEnv,
    readonly apiUrl: string,
    readonly collectorUrl: string,
  ) {
    process.once('exit', this.endWithProcess);
  }

  /** @param program Node's arguments up to the command's own */
  static async start(
    dataDir: string,
    { program = SOURCES, env: overrides = {} }: { program?: readonly string[]; env?: NodeJS.ProcessEnv } = {},
  ): Promise<ServiceProcess> {
    const [port, collectorPort] = [await freePort(), await freePort()];
    const env = {
      PATH: process.env.PATH,
      DATA_DIR: dataDir,
      HOST: '127.0.0.1',
      PORT: String(port),
      COLLECTOR_PORT: String(collectorPort),
      COLLECTOR_RATE_LIMIT_PER_MINUTE: '1000000',
      LOG_LEVEL: 'fatal',
      ...overrides,
    };
    const url = (at: number) => `http://127.0.0.1:${at}`;
    const service = new ServiceProcess(program, env, url(port), url(collectorPort));
    await service.launch();
    return service;
  }

  /** Runs the process, at first or again after `crash`; resolves once both can serve. */
  async launch(): Promise<void> {
    const child = spawn(process.execPath, [...this.program, 'serve', '--collector'], {
      env: this.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    captureProcess('service', child, { shown: true });
    this.child = child;
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error(`The service ended with ${child.exitCode}`);
      return isReady(this.collectorUrl);
    }, 120_000);
  }

  get pid(): number {
    return this.child?.pid ?? 0;
  }

  /** Whether the process that was launched last is there. */
  get isRunning(): boolean {
    return this.child?.exitCode === null && this.child.signalCode === null;
  }

  /** The most memory that it has had since its launch, in MiB (Linux). */
  get peakMiB(): number {
    return Math.round(readMemory(this.pid).peakMb);
  }

  /** Processor time since its launch, in seconds (Linux). */
  get processorSeconds(): number {
    return readProcessorSeconds(this.pid);
  }

  /** Ends the process at once: nothing in it gets to do anything any more. */
  async crash(): Promise<void> {
    await this.end('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.end('SIGTERM');
    process.off('exit', this.endWithProcess);
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    if (!this.child) return;
    await endProcess(this.child, signal);
    this.child = undefined;
  }
}

function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/health/ready`).then(
    ({ ok }) => ok,
    () => false,
  );
}
