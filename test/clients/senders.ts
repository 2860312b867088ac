import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endProcess } from '../setup/end-process.js';
import { eventually } from '../setup/eventually.js';
import { freePort } from '../setup/free-port.js';

/** Longest installation of a sender, in milliseconds. */
export const INSTALLED_WITHIN_MS = 600_000;

/** An application with an official SDK or a client library, unmodified, from the registry of its language. */
export interface Sender {
  name: string;
  /** The program that it needs. */
  needs: string;
  /** Commands that install its packages into its directory. */
  install: readonly (readonly [program: string, ...args: string[]])[];
  /** The command that runs it in its directory. */
  run: readonly [program: string, ...args: string[]];
  env?: Readonly<Record<string, string>>;
  /** The routes of its endpoints, by default `/users/{id}`, `/users` and `/boom`. */
  routes?: { user: string; users: string; boom: string };
  /** Whether it speaks the hub protocol, which neither samples nor identifies traces; OTLP otherwise. */
  isHub?: true;
  /** What it sends, and the framework that it reports. */
  sends: {
    consumer: boolean;
    exception: boolean;
    span: boolean;
    log: boolean;
    framework: string;
  };
}

const NODE_ENV = {
  NODE_OPTIONS: '--require @opentelemetry/auto-instrumentations-node/register',
  OTEL_NODE_RESOURCE_DETECTORS: 'env,host,process,serviceinstance',
};
const NODE_SDK = ['@opentelemetry/api', '@opentelemetry/core', '@opentelemetry/auto-instrumentations-node'];
const npm = (...packages: string[]): Sender['install'] => [
  ['npm', 'init', '-y'],
  ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages],
];
const PIP = ['venv/bin/pip', 'install', '-q'] as const;
const VENV = ['python3', '-m', 'venv', 'venv'] as const;
const UVICORN = ['-m', 'uvicorn', 'fastapi_app:app', '--log-level', 'error', '--host', '127.0.0.1'] as const;
const ALL = { consumer: true, exception: true, span: true, log: false };

export const SENDERS: readonly Sender[] = [
  {
    name: 'OpenTelemetry SDK for Node.js, Express 5',
    needs: 'npm',
    install: npm('express@5', ...NODE_SDK),
    run: ['node', 'express.cjs'],
    env: NODE_ENV,
    sends: { ...ALL, framework: 'express' },
  },
  {
    name: 'OpenTelemetry SDK for Node.js, Fastify 5',
    needs: 'npm',
    install: npm('fastify@5', '@fastify/otel', ...NODE_SDK),
    run: ['node', 'fastify.cjs'],
    env: NODE_ENV,
    sends: { ...ALL, exception: false, framework: 'fastify' },
  },
  {
    name: 'OpenTelemetry SDK for Python, FastAPI',
    needs: 'python3',
    install: [
      VENV,
      [
        ...PIP,
        ...['fastapi', 'uvicorn', 'opentelemetry-distro', 'opentelemetry-exporter-otlp-proto-http'],
        ...['opentelemetry-instrumentation-fastapi', 'opentelemetry-instrumentation-logging'],
      ],
    ],
    run: ['venv/bin/opentelemetry-instrument', 'venv/bin/python', ...UVICORN],
    env: { OTEL_PYTHON_LOGGING_AUTO_INSTRUMENTATION_ENABLED: 'true' },
    sends: { ...ALL, log: true, framework: 'fastapi' },
  },
  {
    name: 'apitally 1.0.0 for Python, FastAPI',
    needs: 'python3',
    install: [VENV, [...PIP, 'apitally[fastapi]==1.0.0', 'uvicorn']],
    run: ['venv/bin/python', ...UVICORN],
    sends: { ...ALL, log: true, framework: 'fastapi' },
  },
  {
    name: 'OpenTelemetry SDK for Go, net/http',
    needs: 'go',
    install: [
      ['go', 'mod', 'init', 'app'],
      ['go', 'mod', 'tidy'],
      ['go', 'build', '-o', 'app', 'main.go'],
    ],
    run: ['./app'],
    sends: { ...ALL, exception: false, framework: 'net/http' },
  },
  {
    name: 'OpenTelemetry agent for Java, com.sun.net.httpserver',
    needs: 'mvn',
    install: [
      [
        'mvn',
        ...['-q', '-B', 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy'],
        '-Dartifact=io.opentelemetry.javaagent:opentelemetry-javaagent:RELEASE',
        ...['-DoutputDirectory=.', '-Dmdep.stripVersion=true'],
      ],
      ['javac', 'App.java'],
    ],
    run: ['java', '-javaagent:opentelemetry-javaagent.jar', 'App'],
    routes: { user: '/users', users: '/users', boom: '/boom' },
    sends: { ...ALL, consumer: false, exception: false, span: false, framework: 'unknown' },
  },
];

/** The version of the client library is that of `devDependencies`. */
const hub = (framework: string, ...packages: string[]): Sender => ({
  name: `apitally 0.25 for Node.js, ${framework}`,
  needs: 'npm',
  install: npm('apitally@0.25.8', ...packages),
  run: ['node', 'hub.cjs', framework],
  isHub: true,
  sends: { ...ALL, span: false, log: true, framework },
});

/** Express and NestJS are in `test/collector/libraries.e2e-spec.ts`. */
export const HUB_SENDERS: readonly Sender[] = [
  hub('fastify', 'fastify@5', 'fastify-plugin@5'),
  hub('koa', 'koa@3', '@koa/router@13'),
  hub('hono', 'hono@4', '@hono/node-server@1'),
  hub('hapi', '@hapi/hapi@21'),
];

/** What npm, pip, Go and Maven write if their registry cannot be reached. */
const UNREACHABLE =
  /ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|NewConnectionError|Failed to establish a new connection|dial tcp|UnknownHost|Connection refused/;

export function hasProgram(program: string): boolean {
  try {
    execFileSync('which', [program], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** A sender's application, installed in a directory of its own and running. */
export class SenderApp {
  private child?: ChildProcess;
  private directory = '';
  private port = 0;

  constructor(private readonly sender: Sender) {}

  /**
   * Whether the packages are installed; they are not if their registry cannot be reached.
   *
   * @throws Error with the output of the installation if it fails otherwise
   */
  install(): boolean {
    this.directory = mkdtempSync(join(tmpdir(), 'sender-'));
    cpSync(join(process.cwd(), 'test/clients/apps'), this.directory, { recursive: true });
    try {
      for (const [program, ...args] of this.sender.install)
        execFileSync(program, args, { cwd: this.directory, stdio: 'pipe', timeout: INSTALLED_WITHIN_MS });
      return true;
    } catch (error) {
      if (error instanceof Error && UNREACHABLE.test(error.message)) return false;
      throw error;
    }
  }

  async start(env: Readonly<Record<string, string>>): Promise<void> {
    this.port = await freePort();
    const [program, ...args] = this.sender.run;
    const [port, { PATH = '', HOME = '' }] = [String(this.port), process.env];
    const isUvicorn = args.includes('uvicorn');
    this.child = spawn(program, isUvicorn ? [...args, '--port', port] : args, {
      cwd: this.directory,
      env: { PATH, HOME, PORT: port, ...this.sender.env, ...env },
      stdio: ['ignore', 'ignore', process.env.CLIENTS_SHOWN ? 'inherit' : 'ignore'],
    });
    await eventually(
      () =>
        fetch(`http://127.0.0.1:${port}/nothing-here`).then(
          () => true,
          () => false,
        ),
      120_000,
    );
  }

  async call(path: string, init: RequestInit = {}): Promise<number> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, init);
    await response.arrayBuffer();
    return response.status;
  }

  async stop(): Promise<void> {
    // OpenTelemetry's SDK for Node.js handles SIGTERM and goes on.
    if (this.child) await endProcess(this.child, 'SIGKILL');
    this.child = undefined;
  }

  remove(): void {
    if (this.directory !== '') rmSync(this.directory, { recursive: true, force: true });
  }
}
