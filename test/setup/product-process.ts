import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { readMemory, readProcessorSeconds } from '../bench/machine.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { captureOutput, captureProcess, findKeys, forbidInOutput } from './secrets/run.js';

const READY_WITHIN_MS = 60_000;
const POLL_MS = 20;

export interface ProgramOptions {
  cwd?: string;
  /** Runs on a terminal of its own, where standard output and standard error are one (Linux). */
  terminal?: boolean;
  /** Options of Node itself. */
  nodeOptions?: readonly string[];
}

/** How a command ended. */
export interface Ended {
  /** Null: a signal ended it. */
  code: number | null;
  out: string[];
  err: string[];
  /** Milliseconds from its start. */
  ms: number;
}

/** The options that `npm start` and the image give Node.js. */
export const SERVICE_NODE_OPTIONS = ['--max-semi-space-size=32'];

/**
 * The built product in a process of its own, with only the variables of the test. Its arguments are those of
 * the command line; none: `npm start`.
 */
export class ProductProcess {
  private static readonly running = new Set<ProductProcess>();

  /** Lines of standard output and of standard error, of all launches. */
  readonly out: string[] = [];
  readonly err: string[] = [];
  /** How the process of the last launch ends. */
  ended!: Promise<[code: number | null, signal: NodeJS.Signals | null]>;
  private child!: ChildProcess;

  private constructor(
    private readonly args: readonly string[],
    private readonly env: NodeJS.ProcessEnv,
    private readonly options: ProgramOptions,
  ) {}

  /** Runs a command to its end, or ends it with SIGKILL after `killAfterMs`. */
  static async run(
    args: readonly string[],
    env: NodeJS.ProcessEnv,
    { killAfterMs, ...options }: ProgramOptions & { killAfterMs?: number } = {},
  ): Promise<Ended> {
    const startedAt = performance.now();
    const product = new ProductProcess(args, env, options);
    product.spawn();
    const killer =
      killAfterMs === undefined
        ? undefined
        : setTimeout(() => {
            product.signal('SIGKILL');
          }, killAfterMs);
    const [code] = await product.ended;
    clearTimeout(killer);
    product.requireNoWarning();
    return { code, out: product.out, err: product.err, ms: performance.now() - startedAt };
  }

  /** Starts a serving command on free ports; resolves when it is ready. */
  static async start(
    args: readonly string[],
    env: NodeJS.ProcessEnv,
    options?: ProgramOptions,
  ): Promise<ProductProcess> {
    const product = await this.begin(args, env, options);
    await product.awaitReady();
    return product;
  }

  /** Starts a serving command on free ports, and does not wait for it. */
  static async begin(
    args: readonly string[],
    env: NodeJS.ProcessEnv,
    options: ProgramOptions = {},
  ): Promise<ProductProcess> {
    const addresses = {
      HOST: '127.0.0.1',
      PORT: String(await freePort()),
      COLLECTOR_PORT: String(await freePort()),
      COLLECTOR_GRPC_PORT: String(await freePort()),
      METRICS_PORT: String(await freePort()),
    };
    const product = new ProductProcess(args, { ...addresses, ...env }, options);
    product.spawn();
    return product;
  }

  /** Ends what a failed test left running. */
  static async endAll(): Promise<void> {
    await Promise.all([...this.running].map((product) => product.crash()));
  }

  get apiUrl(): string {
    return `http://127.0.0.1:${this.env.PORT}`;
  }

  get collectorUrl(): string {
    return `http://127.0.0.1:${this.env.COLLECTOR_PORT}`;
  }

  /** Host and port of OTLP over gRPC. */
  get grpcAddress(): string {
    return `127.0.0.1:${this.env.COLLECTOR_GRPC_PORT}`;
  }

  get metricsUrl(): string {
    return `http://127.0.0.1:${this.env.METRICS_PORT}`;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Resident memory since the launch in MB: now, and at most (Linux). */
  get memory(): { rssMb: number; peakMb: number } {
    return readMemory(this.pid);
  }

  /** Processor time since the launch (Linux). */
  get processorSeconds(): number {
    return readProcessorSeconds(this.pid);
  }

  /** Its log. */
  get log(): Record<string, unknown>[] {
    return this.out.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** All its output. */
  get written(): string {
    return [...this.out, ...this.err].join('\n');
  }

  /** The access log's line of a request. */
  async line(requestId: string): Promise<Record<string, unknown>> {
    return eventually(() => this.log.find(({ request_id }) => request_id === requestId));
  }

  /** Starts it again after its end, on the same ports; resolves when it is ready. */
  async launch(): Promise<void> {
    this.spawn();
    await this.awaitReady();
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Ends it with SIGKILL. */
  async crash(): Promise<void> {
    this.signal('SIGKILL');
    await this.ended;
  }

  /** Ends it as an orchestrator does; resolves to its exit code. */
  async stop(): Promise<number | null> {
    this.signal('SIGTERM');
    const [code] = await this.ended;
    this.requireNoWarning();
    return code;
  }

  /** @throws Error if Node.js warned of a deprecated function, of many listeners, of a negative timeout */
  private requireNoWarning(): void {
    const warning = this.err.find((line) => /^\(node:\d+\) \S*Warning: /.test(line));
    if (warning !== undefined) throw new Error(warning);
  }

  private spawn(): void {
    const { nodeOptions = [], cwd, terminal = false } = this.options;
    requireFreshBuild();
    const program = join(process.cwd(), 'dist', this.args.length === 0 ? 'main.cjs' : 'cli.cjs');
    const words = [process.execPath, ...nodeOptions, program, ...this.args];
    const line = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
    const [command = '', ...args] = terminal ? ['script', '-qefc', line, '/dev/null'] : words;
    const child = spawn(command, args, {
      cwd,
      env: { PATH: process.env.PATH, ...(terminal && { SHELL: '/bin/sh' }), ...this.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    createInterface(child.stdout).on('line', (line) => this.out.push(line));
    createInterface(child.stderr).on('line', (line) => this.err.push(line));
    this.capture();
    const kill = () => child.kill('SIGKILL');
    process.once('exit', kill);
    ProductProcess.running.add(this);
    this.ended = (once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>).finally(() => {
      process.off('exit', kill);
      ProductProcess.running.delete(this);
    });
  }

  /**
   * Keeps the output for the search for secrets. A command may show a new key on standard output, and nowhere
   * else.
   */
  private capture(): void {
    const { child, args } = this;
    const isServing = ['main', 'serve', 'collector'].includes(args[0] ?? 'main');
    // The first start on a terminal shows a new key there.
    if (isServing && !this.options.terminal) {
      captureProcess('product', child);
      return;
    }
    const capture = (line: string) => {
      captureOutput('command', `${line}\n`);
    };
    createInterface(child.stderr!).on('line', capture);
    createInterface(child.stdout!).on('line', (line) => {
      const keys = findKeys(line);
      if (keys.length > 0) forbidInOutput(...keys);
      else capture(line);
    });
  }

  private async awaitReady(): Promise<void> {
    const hasCollector = this.args.includes('collector') || this.env.COLLECTOR !== 'off';
    // The collector is the last to listen.
    const url = `${hasCollector ? this.collectorUrl : this.apiUrl}/health/ready`;
    const isReady = async () => {
      if (!this.isRunning) throw new Error(`${this.args.join(' ')} ended: ${this.written}`);
      return fetch(url).then(
        ({ ok }) => ok,
        () => false,
      );
    };
    await eventually(isReady, READY_WITHIN_MS, POLL_MS);
  }
}

let isFresh = false;

/** @throws Error if a source is newer than the build: the test would run other code than the sources. */
function requireFreshBuild(): void {
  if (isFresh) return;
  const newest = (directory: string) =>
    readdirSync(directory, { recursive: true, encoding: 'utf8' })
      .filter((name) => /(?<!\.spec)\.c?[jt]s$/.test(name))
      .reduce((latest, name) => Math.max(latest, statSync(join(directory, name)).mtimeMs), 0);
  if (newest('src') > newest('dist')) throw new Error('dist is older than src: run "npm run build" first');
  isFresh = true;
}

// Jest waits without end for the child of a failed test. Benchmarks run without Jest.
if (typeof afterAll === 'function') afterAll(() => ProductProcess.endAll());
