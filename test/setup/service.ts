import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { AdminService } from '../../src/admin/admin.service.js';
import { ClickHouse } from '../../src/clickhouse/clickhouse.client.js';
import { migrate } from '../../src/clickhouse/migrations/migrate.js';
import { Config } from '../../src/config/config.js';
import { RequestsWriter } from '../../src/ingestion/requests.writer.js';
import { buildRequest } from '../factories/request.factory.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { captureOutput, captureProcess, findKeys, forbidInOutput } from './secrets/run.js';

const TYPESCRIPT = new URL('./typescript.js', import.meta.url).href;
const CLI = join(process.cwd(), 'src/cli.ts');

/** What a command is started with: none of the tests' own variables. */
function start(args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  return spawn(process.execPath, ['--import', TYPESCRIPT, CLI, ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function lines(stream: NodeJS.ReadableStream | null): string[] {
  const all: string[] = [];
  if (stream) createInterface(stream).on('line', (line) => all.push(line));
  return all;
}

export interface Ended {
  code: number | null;
  out: string[];
  err: string[];
}

/** Runs a command of the command line, from the sources, to its end. */
export async function command(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  const child = start(args, env);
  const [out, err] = [lines(child.stdout), lines(child.stderr)];
  const [code] = (await once(child, 'close')) as [number | null];
  captureCommand({ code, out, err });
  return { code, out, err };
}

/** The same on a terminal of its own; standard output and standard error are one there. */
export async function commandOnTerminal(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Omit<Ended, 'err'>> {
  const words = [process.execPath, '--import', TYPESCRIPT, CLI, ...args];
  const line = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  const child = spawn('script', ['-qefc', line, '/dev/null'], {
    env: { PATH: process.env.PATH, SHELL: '/bin/sh', ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const out = lines(child.stdout);
  const [code] = (await once(child, 'close')) as [number | null];
  captureCommand({ code, out, err: [] });
  return { code, out };
}

/** A new key is shown once, on standard output, and nothing else may have it. */
function captureCommand({ out, err }: Ended) {
  const keys = out.flatMap(findKeys);
  forbidInOutput(...keys);
  const said = [...out.filter((line) => findKeys(line).length === 0), ...err];
  captureOutput('command', said.map((line) => `${line}\n`).join(''));
}

/** A serving command in a process of its own, and what it writes. */
export class Service {
  private static readonly running = new Set<ChildProcess>();

  private constructor(
    private readonly child: ChildProcess,
    readonly apiUrl: string,
    readonly collectorUrl: string,
    readonly metricsUrl: string,
    private readonly out: string[],
    readonly err: string[],
  ) {}

  /** Resolves once it can serve: `serve`, `serve --collector` or `collector`. */
  static async start(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Service> {
    const [api, collector, metrics] = [await freePort(), await freePort(), await freePort()];
    const child = start(args, {
      HOST: '127.0.0.1',
      PORT: String(api),
      COLLECTOR_PORT: String(collector),
      METRICS_PORT: String(metrics),
      ...env,
    });
    captureProcess('service', child);
    this.running.add(child);
    const url = (port: number) => `http://127.0.0.1:${port}`;
    const [out, err] = [lines(child.stdout), lines(child.stderr)];
    const service = new Service(child, url(api), url(collector), url(metrics), out, err);
    const last = args.some((word) => word.includes('collector')) ? url(collector) : url(api);
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error(`It ended with ${child.exitCode}: ${err.join('\n')}`);
      return fetch(`${last}/health/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    }, 30_000);
    return service;
  }

  /** Ends at once what a test that failed has left; to be called after each that starts one. */
  static async endAll(): Promise<void> {
    for (const child of this.running) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, 'close');
      child.kill('SIGKILL');
      await ended;
    }
    this.running.clear();
  }

  /** Its log so far. */
  get log(): Record<string, unknown>[] {
    return this.out.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** All that it wrote, as text. */
  get written(): string {
    return [...this.out, ...this.err].join('\n');
  }

  /** The line of the request with that ID. */
  async line(requestId: string): Promise<Record<string, unknown>> {
    return eventually(() => this.log.find(({ request_id }) => request_id === requestId));
  }

  /** Ends it as an orchestrator does; resolves to its exit code. */
  async stop(): Promise<number | null> {
    if (this.child.exitCode !== null) return this.child.exitCode;
    const ended = once(this.child, 'close') as Promise<[number | null]>;
    this.child.kill('SIGTERM');
    return (await ended)[0];
  }
}

/** What is in a prepared store. */
export interface Prepared {
  key: string;
  teamId: number;
  appId: number;
  clientId: string;
}

/** A team with a key and an app with requests of the last hour, in the store that the variables name. */
export async function prepare(env: NodeJS.ProcessEnv, requests = 20): Promise<Prepared> {
  const store = await ClickHouse.open(new Config(env));
  try {
    await migrate(store);
    const admin = new AdminService(store);
    const { id: teamId } = await admin.createTeam('Acme', 'premium');
    const { key } = await admin.createKey(teamId);
    const { id: appId, client_id: clientId } = await admin.createApp(teamId, 'Shop', 'express');
    const now = Date.now();
    const records = Array.from({ length: requests }, (_, n) =>
      buildRequest({ timestamp: now - 60_000 - n * 1000 }),
    );
    await new RequestsWriter(store).write(appId, records);
    return { key, teamId, appId, clientId };
  } finally {
    await store.close();
  }
}

/** A data directory of the embedded engine of a test's own. */
export function dataDirectory(): { env: NodeJS.ProcessEnv; remove: () => void } {
  const directory = mkdtempSync(join(tmpdir(), 'request-analytics-'));
  return {
    env: { DATA_DIR: directory },
    remove: () => {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
