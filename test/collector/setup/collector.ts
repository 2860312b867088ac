import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { type Logger, pino } from 'pino';
import { startCollectorOn } from '../../../src/entry/bootstrap/collector-server.js';
import { MessageIntake } from '../../../src/sources/intake/message-intake.js';
import type { ClickHouse } from '../../../src/store/client/clickhouse.client.js';
import type { QueryLimiter } from '../../../src/store/client/query-limiter.js';
import type { BatchQueue } from '../../../src/write/batches/batch-queue.js';
import { BatchCommitter } from '../../../src/write/batches/batch-committer.js';
import { Config } from '../../../src/config/config.js';
import type { Telemetry } from '../../../src/telemetry/telemetry.js';
import { NameRegistry } from '../../../src/records/names/name-registry.js';
import { RequestClaims } from '../../../src/write/request-claims.js';
import { RequestsWriter } from '../../../src/write/requests.writer.js';
import { TestApp } from '../../setup/app.js';
import { Tenant } from '../../setup/tenant.js';
import { logFile } from './log-file.js';
import { type PostResponse, post } from './post.js';

/** The real collector on a real socket. */
export class TestCollector {
  private constructor(
    readonly url: string,
    private readonly running: Awaited<ReturnType<typeof startCollectorOn>>,
  ) {}

  static async start(
    store: ClickHouse,
    config: Config,
    logger = pino({ level: 'silent' }),
    telemetry?: Telemetry,
  ): Promise<TestCollector> {
    const running = await startCollectorOn(store, config, logger, 0, telemetry);
    const { port } = running.app.getHttpServer().address() as AddressInfo;
    return new TestCollector(`http://127.0.0.1:${port}`, running);
  }

  /** Host and port of OTLP over gRPC. */
  get grpcAddress(): string {
    return `127.0.0.1:${(this.running.grpc.connections.address() as AddressInfo).port}`;
  }

  /** Begins a stop: it still serves. */
  drain(): void {
    this.running.drain();
  }

  stop(): Promise<void> {
    return this.running.stop();
  }

  /** A writer beside the collector, in the same process. */
  createWriter(store: ClickHouse): RequestsWriter {
    const { app } = this.running;
    return new RequestsWriter(store, app.get(NameRegistry), app.get(RequestClaims));
  }

  /** Counts spans whose metric did not arrive in time, as the collector does at intervals. */
  settle(): Promise<void> {
    return this.running.app.get(BatchCommitter).settle();
  }

  /** Counts exceptions that are in the traces of requests, likewise. */
  countExceptions(): Promise<void> {
    return this.running.app.get(BatchCommitter).countExceptions();
  }

  /** Commits no batch during the work, which can ask how many messages wait. */
  holdBatches<T>(work: (countWaiting: () => number) => Promise<T>): Promise<T> {
    const { queue } = this.running.app.get<{ queue: BatchQueue<unknown> }>(BatchCommitter);
    return queue.runExclusive(() => work(() => queue.length));
  }

  /** Takes the turn of an app until it is released, so that the bodies of the app wait. */
  holdTurn(appId: number): { readonly waiting: number; release: () => void } {
    const { parsing } = this.running.app.get<{ parsing: QueryLimiter }>(MessageIntake);
    let release!: () => void;
    const held = new Promise<void>((resolve) => (release = resolve));
    void parsing.run(new AbortController().signal, () => held, { group: appId });
    return {
      get waiting() {
        return parsing.waiting;
      },
      release,
    };
  }

  post(path: string, body: string | Buffer): Promise<PostResponse> {
    return post(`${this.url}${path}`, body);
  }
}

/** The read API and the collector on one store, as `npm start` runs them. */
export class TestService {
  private constructor(
    readonly api: TestApp,
    public collector: TestCollector,
  ) {}

  static async start(env: NodeJS.ProcessEnv = {}, logger?: Logger): Promise<TestService> {
    const api = await TestApp.start(env);
    const collector = await TestCollector.start(api.store, api.app.get(Config), logger);
    api.writer = collector.createWriter(api.store);
    return new TestService(api, collector);
  }

  tenant(): Promise<Client> {
    return Client.create(this.api, this.collector);
  }

  async stop(): Promise<void> {
    await this.collector.stop();
    await this.api.stop();
  }
}

/** An app of its own, what is sent for it and what is read of it. */
export class Client {
  private constructor(
    readonly tenant: Tenant,
    readonly clientId: string,
    private readonly collector: TestCollector,
  ) {}

  static async create(api: TestApp, collector: TestCollector): Promise<Client> {
    const tenant = await Tenant.create(api);
    return new Client(tenant, tenant.clientId, collector);
  }

  path(kind: string, env = 'prod'): string {
    return `/v2/${this.clientId}/${env}/${kind}`;
  }

  send(kind: string, body: object, env?: string): Promise<PostResponse> {
    return this.collector.post(this.path(kind, env), JSON.stringify(body));
  }

  /** A log file, a line for each item: an object, or the text of a line. */
  sendLog(
    items: readonly (object | string)[],
    uuid: string = randomUUID(),
    env?: string,
  ): Promise<PostResponse> {
    return this.collector.post(`${this.path('log', env)}?uuid=${uuid}`, logFile(items));
  }
}
