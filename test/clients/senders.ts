import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { endProcess } from '../setup/end-process.js';
import { eventually } from '../setup/eventually.js';
import { freePort } from '../setup/free-port.js';
import { APPS, type Packages, locate } from './packages.js';

/** An application with an official SDK or a client library, unmodified. */
export interface Sender {
  name: string;
  packages: Packages;
  /** The command that runs it in the directory of its packages. */
  run: readonly [program: string, ...args: string[]];
  env?: Readonly<Record<string, string>>;
  /** The routes of its endpoints, by default `/users/{id}`, `/users` and `/boom`. */
  routes?: { user: string; users: string; boom: string };
  /** What it speaks; by default OTLP over HTTP. The hub protocol neither samples nor identifies traces. */
  protocol?: 'hub' | 'grpc';
  /** Whether it is told no more than address, token and name. */
  hasDefaults?: true;
  /** What it sends, and the framework that it reports. */
  sends: {
    /** The query of the URL. */
    query: boolean;
    /** The type of its exception, if it sends exceptions. */
    exception?: string;
    span: boolean;
    log: boolean;
    framework: string;
  };
}

const npm = (directory: string, ...packages: string[]): Packages => ({
  directory,
  registry: 'npm',
  needs: ['npm'],
  install: [
    ['npm', 'init', '-y'],
    [
      'npm',
      'install',
      '--prefer-offline',
      '--fetch-retry-mintimeout=1000',
      '--no-audit',
      '--no-fund',
      '--ignore-scripts',
      ...packages,
    ],
  ],
});
const pip = (directory: string, ...packages: string[]): Packages => ({
  directory,
  registry: 'PyPI',
  needs: ['python3'],
  install: [
    ['python3', '-m', 'venv', 'venv'],
    ['venv/bin/pip', 'install', '-q', ...packages],
  ],
});

const NODE_SDK = npm(
  'node-sdk',
  'express@5.3.0',
  'fastify@5.12.8',
  'pino@10.4.0',
  'koa@3.3.0',
  '@koa/router@15.7.0',
  '@nestjs/common@12.5.1',
  '@nestjs/core@12.5.1',
  '@nestjs/platform-express@12.5.1',
  'reflect-metadata@0.2.2',
  'rxjs@7.8.2',
  '@fastify/otel@0.21.2',
  '@opentelemetry/api@1.10.0',
  '@opentelemetry/core@3.1.1',
  '@opentelemetry/auto-instrumentations-node@0.82.0',
);
const PYTHON_SDK = pip(
  'python-sdk',
  'fastapi==0.165.0',
  'uvicorn==0.54.0',
  'opentelemetry-distro==0.66b2',
  'opentelemetry-exporter-otlp==1.45.2',
  'opentelemetry-instrumentation-fastapi==0.66b2',
  'opentelemetry-instrumentation-logging==0.66b2',
);
const PYTHON_LIBRARY = pip(
  'python-library',
  'apitally[fastapi]==1.0.0',
  'fastapi==0.165.0',
  'uvicorn==0.54.0',
);
const GO_SDK: Packages = {
  directory: 'go-sdk',
  registry: 'Go modules',
  needs: ['go'],
  install: [
    ['go', 'mod', 'init', 'app'],
    [
      ...(['go', 'get'] as const),
      'go.opentelemetry.io/otel/sdk@v1.47.0',
      'go.opentelemetry.io/otel/sdk/metric@v1.47.0',
      'go.opentelemetry.io/otel/sdk/log@v1.47.0',
      'go.opentelemetry.io/contrib/exporters/autoexport@v0.72.0',
      'go.opentelemetry.io/contrib/bridges/otelslog@v0.21.0',
      'go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp@v0.72.0',
      'go.opentelemetry.io/contrib/instrumentation/github.com/gin-gonic/gin/otelgin@v0.65.0',
      'github.com/gin-gonic/gin@v1.12.0',
    ],
  ],
  build: [['go', 'build', '-o', 'app', 'main.go']],
};
const jar = (artifact: string) =>
  [
    ...(['mvn', '-q', '-B', 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy'] as const),
    `-Dartifact=io.opentelemetry${artifact}`,
    '-DoutputDirectory=.',
    '-Dmdep.stripVersion=true',
  ] as const;
const JAVA_CLASSES = '.:opentelemetry-api.jar:opentelemetry-common.jar:opentelemetry-context.jar';
const JAVA_AGENT: Packages = {
  directory: 'java-agent',
  registry: 'Maven',
  needs: ['mvn', 'javac'],
  install: [
    jar('.javaagent:opentelemetry-javaagent:2.33.1'),
    jar(':opentelemetry-api:1.68.0'),
    jar(':opentelemetry-common:1.68.0'),
    jar(':opentelemetry-context:1.68.0'),
  ],
  build: [['javac', '-cp', JAVA_CLASSES, 'App.java']],
};
const SPRING_BOOT: Packages = {
  directory: 'spring-boot',
  registry: 'Maven',
  needs: ['mvn', 'javac'],
  install: [
    jar('.javaagent:opentelemetry-javaagent:2.33.1'),
    [
      ...(['mvn', '-q', '-B', '-f', join(APPS, 'pom.xml')] as const),
      'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies',
      `-DoutputDirectory=${locate({ directory: 'spring-boot' })}/lib`,
    ],
  ],
  build: [['javac', '-parameters', '-cp', 'lib/*', 'Spring.java']],
};
const HUB_LIBRARY = npm(
  'hub-library',
  'apitally@0.25.8',
  'fastify@5.12.8',
  'fastify-plugin@5.0.1',
  'koa@3.3.0',
  '@koa/router@15.7.0',
  'hono@4.13.19',
  '@hono/node-server@1.19.19',
  '@hapi/hapi@21.4.9',
);

const AUTO_INSTRUMENTATIONS = {
  NODE_OPTIONS: '--require @opentelemetry/auto-instrumentations-node/register',
  OTEL_NODE_RESOURCE_DETECTORS: 'env,host,process,serviceinstance',
};
const UVICORN = ['-m', 'uvicorn', 'fastapi_app:app', '--log-level', 'error', '--host', '127.0.0.1'] as const;
const ALL = { query: true, exception: 'TypeError', span: true, log: true };

const OTLP_SENDERS: readonly Sender[] = [
  {
    name: 'OpenTelemetry SDK for Node.js, Express',
    packages: NODE_SDK,
    run: ['node', 'express.cjs'],
    env: AUTO_INSTRUMENTATIONS,
    sends: { ...ALL, framework: 'express' },
  },
  {
    name: 'OpenTelemetry SDK for Node.js, Fastify',
    packages: NODE_SDK,
    run: ['node', 'fastify.cjs'],
    env: AUTO_INSTRUMENTATIONS,
    sends: { ...ALL, framework: 'fastify' },
  },
  {
    name: 'OpenTelemetry SDK for Node.js, Koa',
    packages: NODE_SDK,
    run: ['node', 'koa.cjs'],
    env: AUTO_INSTRUMENTATIONS,
    sends: { query: true, span: true, log: true, framework: 'koa' },
  },
  {
    name: 'OpenTelemetry SDK for Node.js, NestJS as an ES module',
    packages: NODE_SDK,
    run: [
      'node',
      '--experimental-loader=@opentelemetry/instrumentation/hook.mjs',
      '--import=@opentelemetry/auto-instrumentations-node/register',
      'nest.mjs',
    ],
    env: { OTEL_NODE_RESOURCE_DETECTORS: AUTO_INSTRUMENTATIONS.OTEL_NODE_RESOURCE_DETECTORS },
    sends: { query: true, span: true, log: true, framework: 'express' },
  },
  {
    name: 'OpenTelemetry distro for Python, FastAPI, its defaults',
    packages: PYTHON_SDK,
    run: ['venv/bin/opentelemetry-instrument', 'venv/bin/python', ...UVICORN],
    protocol: 'grpc',
    hasDefaults: true,
    sends: { ...ALL, framework: 'fastapi' },
  },
  {
    name: 'OpenTelemetry SDK for Python, FastAPI',
    packages: PYTHON_SDK,
    run: ['venv/bin/opentelemetry-instrument', 'venv/bin/python', ...UVICORN],
    env: { OTEL_PYTHON_LOGGING_AUTO_INSTRUMENTATION_ENABLED: 'true' },
    sends: { ...ALL, framework: 'fastapi' },
  },
  {
    name: 'apitally 1.0.0 for Python, FastAPI',
    packages: PYTHON_LIBRARY,
    run: ['venv/bin/python', ...UVICORN],
    sends: { ...ALL, framework: 'fastapi' },
  },
  {
    name: 'OpenTelemetry SDK for Go, net/http',
    packages: GO_SDK,
    run: ['./app', 'net/http'],
    sends: { ...ALL, query: false, exception: '*errors.errorString', framework: 'net/http' },
  },
  {
    name: 'OpenTelemetry SDK for Go, Gin, over gRPC',
    packages: GO_SDK,
    run: ['./app', 'gin'],
    protocol: 'grpc',
    sends: { ...ALL, query: false, exception: '*errors.errorString', framework: 'gin' },
  },
  {
    name: 'OpenTelemetry agent for Java, com.sun.net.httpserver',
    packages: JAVA_AGENT,
    run: ['java', '-javaagent:opentelemetry-javaagent.jar', '-cp', JAVA_CLASSES, 'App'],
    routes: { user: '/users', users: '/users', boom: '/boom' },
    sends: { ...ALL, exception: 'IllegalStateException', framework: 'unknown' },
  },
  {
    name: 'OpenTelemetry agent for Java, Spring Boot, exceptions as log records',
    packages: SPRING_BOOT,
    run: ['java', '-javaagent:opentelemetry-javaagent.jar', '-cp', '.:lib/*', 'Spring'],
    env: { OTEL_SEMCONV_EXCEPTION_SIGNAL_PREVIEW: 'logs' },
    sends: { ...ALL, exception: 'IllegalStateException', framework: 'unknown' },
  },
];

/** Express and NestJS are in `test/collector/libraries.slow.spec.ts`. */
const HUB_SENDERS = ['fastify', 'koa', 'hono', 'hapi'].map((framework): Sender => ({
  name: `apitally 0.25 for Node.js, ${framework}`,
  packages: HUB_LIBRARY,
  run: ['node', 'hub.cjs', framework],
  protocol: 'hub',
  sends: { ...ALL, span: false, framework },
}));

export const SENDERS: readonly Sender[] = [...OTLP_SENDERS, ...HUB_SENDERS];

/** A sender's application, running in the directory of its packages. */
export class SenderApp {
  private child?: ChildProcess;
  private port = 0;

  constructor(private readonly sender: Sender) {}

  async start(env: Readonly<Record<string, string>>): Promise<void> {
    this.port = await freePort();
    const [program, ...args] = this.sender.run;
    const [port, { PATH = '', HOME = '' }] = [String(this.port), process.env];
    const isUvicorn = args.includes('uvicorn');
    const child = spawn(program, isUvicorn ? [...args, '--port', port] : args, {
      cwd: locate(this.sender.packages),
      env: { PATH, HOME, PORT: port, ...this.sender.env, ...env },
      stdio: ['ignore', 'ignore', process.env.CLIENTS_SHOWN ? 'inherit' : 'ignore'],
    });
    this.child = child;
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error(`${this.sender.name}: ended; CLIENTS_SHOWN=1 shows why`);
      const socket = connect(this.port, '127.0.0.1');
      return once(socket, 'connect')
        .then(
          () => true,
          () => false,
        )
        .finally(() => socket.destroy());
    }, 120_000);
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
}
