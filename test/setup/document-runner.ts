import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { SHELLS, type ShellBlock } from './document-blocks.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { forbidInOutput } from './secrets/run.js';

const READY_WITHIN_MS = 120_000;
const ENDS_WITHIN_MS = 300_000;

/** A line of each format that docs/import-logs.md reads from `my.log`. */
function writeLines(directory: string): void {
  const now = new Date(Date.now() - 60_000);
  const [date = '', clock = ''] = now.toISOString().split(/[T.]/);
  const month = now.toLocaleString('en', { month: 'short', timeZone: 'UTC' });
  const apache = `[${date.slice(8)}/${month}/${date.slice(0, 4)}:${clock} +0000]`;
  const combined = `203.0.113.7 - - ${apache} "GET /orders/7 HTTP/1.1" 200 12 "-" "curl"`;
  const lines = [
    `203.0.113.7 [${date}T${clock}+00:00] "GET /a HTTP/1.1" 200 0.004`,
    `203.0.113.7 - - ${apache} "GET /b HTTP/1.1" 200 12 4000`,
    `203.0.113.7 - - ${apache} "GET /c HTTP/1.1" 200 12 "-" "curl" 4000`,
    `[${date}T${clock}Z] "GET /d HTTP/1.1" 200 4`,
  ];
  const mapped = {
    ts: now,
    verb: 'GET',
    req: { url: '/e', agent: 'curl' },
    res: { status: 200 },
    took: 4000,
  };
  writeFileSync(join(directory, 'access.log'), `${combined}\n`);
  writeFileSync(join(directory, 'access.log.gz'), gzipSync(`${combined}\n`));
  writeFileSync(join(directory, 'my.log'), `${lines.join('\n')}\n`);
  writeFileSync(join(directory, 'app.log'), `${JSON.stringify(mapped)}\n`);
}

/** A directory that stands for a clone, a service of its store, and a shell that blocks are pasted into. */
export class DocumentRunner {
  private readonly home = mkdtempSync(join(tmpdir(), 'documents-'));
  private readonly clone = join(this.home, 'clone');
  private readonly bin = join(this.home, 'bin');
  private readonly nginx = join(this.home, 'nginx');
  private readonly running = new Set<ChildProcess>();
  private env: NodeJS.ProcessEnv = {};

  private constructor(
    private readonly shell: string,
    private readonly port: number,
    private readonly collectorPort: number,
  ) {}

  static async create(shell: string): Promise<DocumentRunner> {
    const runner = new DocumentRunner(shell, await freePort(), await freePort());
    runner.prepare();
    return runner;
  }

  /** Pastes a block that serves; resolves to its output when the service is ready. */
  async serve(block: ShellBlock): Promise<string> {
    const service = this.paste(block.text);
    await eventually(async () => {
      if (service.child.exitCode !== null) throw new Error(service.output());
      return fetch(`http://127.0.0.1:${this.collectorPort}/health/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    }, READY_WITHIN_MS);
    return service.output();
  }

  /** Variables that people export after `init` told them. */
  setVariables(key: string, token: string): void {
    forbidInOutput(key, token);
    this.env = {
      API_KEY: key,
      TOKEN: token,
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${this.collectorPort}`,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer ${token}`,
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=dev',
    };
  }

  /** Pastes a block; resolves to its exit code and what it wrote. */
  async run(
    block: ShellBlock,
    env: NodeJS.ProcessEnv = {},
  ): Promise<{ code: number | null; output: string }> {
    const { child, output } = this.paste(block.text, env);
    const timer = setTimeout(() => {
      this.kill(child);
    }, ENDS_WITHIN_MS);
    const [code] = (await once(child, 'close')) as [number | null];
    clearTimeout(timer);
    return { code, output: output() };
  }

  /** Ends what serves. */
  async stop(): Promise<void> {
    await Promise.all(
      [...this.running].map(async (child) => {
        const closed = once(child, 'close');
        this.kill(child);
        await closed;
      }),
    );
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.home, { recursive: true, force: true });
  }

  private prepare(): void {
    for (const directory of [this.clone, this.bin, this.nginx, join(this.home, 'backups')])
      mkdirSync(directory);
    const program = (name: string) => join(process.cwd(), 'dist', name);
    const scripts = { start: `node ${program('main.cjs')}`, cli: `node ${program('cli.cjs')}` };
    const demo = `node ${program('cli.cjs')} demo`;
    writeFileSync(
      join(this.clone, 'package.json'),
      JSON.stringify({ private: true, scripts: { ...scripts, demo } }),
    );
    writeLines(this.clone);
    cpSync(join(this.clone, 'access.log'), join(this.nginx, 'access.log'));
    const npm = execFileSync('which', ['npm'], { encoding: 'utf8' }).trim();
    const duckdb = join(process.cwd(), 'test/setup/duckdb-shim.js');
    const programs = {
      'request-analytics': `exec node '${program('cli.cjs')}' "$@"`,
      // The packages of a clone are installed already.
      npm: `[ "$1" = ci ] || exec '${npm}' "$@"`,
      kubectl: `cat '${join(this.clone, 'access.log')}'`,
      xz: `cat '${join(this.clone, 'access.log')}'`,
      duckdb: `exec node '${duckdb}' "$2"`,
    };
    for (const [name, script] of Object.entries(programs)) {
      writeFileSync(join(this.bin, name), `#!/bin/sh\n${script}\n`);
      chmodSync(join(this.bin, name), 0o755);
    }
  }

  private paste(text: string, env: NodeJS.ProcessEnv = {}): { child: ChildProcess; output: () => string } {
    const placed = text
      .replaceAll('localhost:3000', `127.0.0.1:${this.port}`)
      .replaceAll('localhost:3001', `127.0.0.1:${this.collectorPort}`)
      .replaceAll('/var/log/nginx', this.nginx)
      .replaceAll('/backups/', `${join(this.home, 'backups')}/`);
    const child = spawn(this.shell, SHELLS[this.shell], {
      cwd: this.clone,
      detached: true,
      env: {
        PATH: `${this.bin}:${process.env.PATH}`,
        HOME: this.home,
        PS1: '',
        HOST: '127.0.0.1',
        PORT: String(this.port),
        COLLECTOR_PORT: String(this.collectorPort),
        COLLECTOR_GRPC_PORT: 'off',
        ...this.env,
        ...env,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.running.add(child);
    child.once('close', () => this.running.delete(child));
    let written = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => (written += chunk));
    // What is pasted is read from standard input, which programs must not read.
    child.stdin.end(`set -e\n{\n${placed}\n} < /dev/null\nexit 0\n`);
    return { child, output: () => written };
  }

  private kill({ pid }: ChildProcess): void {
    try {
      process.kill(-pid!, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
}
