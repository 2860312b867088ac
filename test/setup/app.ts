import 'reflect-metadata';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import { pino } from 'pino';
import request from 'supertest';
import { type Admin, createAdmin } from '../../src/ops/admin/admin.js';
import { AlertsAdmin } from '../../src/ops/admin/alerts.admin.js';
import { AppModule } from '../../src/app.module.js';
import { setUp } from '../../src/entry/bootstrap/api-setup.js';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import type { Plan } from '../../src/platform/http/account.js';
import { Config } from '../../src/config/config.js';
import { HttpAdapter } from '../../src/platform/http/http.adapter.js';
import { RequestsWriter } from '../../src/write/requests.writer.js';
import { PinoLogger } from '../../src/telemetry/logger.js';
import { conforms } from './conforms.js';
import { addSchema } from './schema.js';
import { captureOutput, captureResponse } from './secrets/run.js';

/**
 * A store of a test's own: a directory for the embedded engine, or a database where `CLICKHOUSE_URL` is set.
 */
export interface TestStore {
  config: Config;
  /** Removes all of it. */
  remove(): Promise<void>;
}

/** For suites in which a change of a key or of an app must show at once. */
export const WITHOUT_CACHE = { CACHE_TTL_MS: '0' };

/** The variables a test runs with: no request of it is above a limit. */
export function createTestStore(env: NodeJS.ProcessEnv = {}): Promise<TestStore> {
  const common = {
    RATE_LIMIT_PER_MINUTE: '1000000',
    TRACES_RATE_LIMIT_PER_SECOND: '1000000',
    TRACES_RATE_LIMIT_PER_MINUTE: '1000000',
    AUTH_FAILURES_PER_MINUTE: '1000000',
  };
  return process.env.CLICKHOUSE_URL
    ? serverStore({ ...common, ...env })
    : embeddedStore({ ...common, ...env });
}

function embeddedStore(env: NodeJS.ProcessEnv): Promise<TestStore> {
  const directory = mkdtempSync(join(tmpdir(), 'request-analytics-'));
  const config = new Config({ DATA_DIR: directory, EMBEDDED_SESSIONS: '3', ...env });
  const remove = () => {
    rmSync(directory, { recursive: true, force: true });
    return Promise.resolve();
  };
  return Promise.resolve({ config, remove });
}

async function serverStore(env: NodeJS.ProcessEnv): Promise<TestStore> {
  const database = `test_${randomUUID().replaceAll('-', '')}`;
  const { CLICKHOUSE_URL, CLICKHOUSE_USER, CLICKHOUSE_PASSWORD } = process.env;
  const config = new Config({
    CLICKHOUSE_URL,
    CLICKHOUSE_USER,
    CLICKHOUSE_PASSWORD,
    CLICKHOUSE_DATABASE: database,
    ...env,
  });
  const run = async (statement: string) => {
    const server = await ClickHouse.open(config, { database: '' });
    await server.command(statement).finally(() => server.close());
  };
  await run(`CREATE DATABASE ${database}`);
  return { config, remove: () => run(`DROP DATABASE ${database}`) };
}

/** The real application on a real socket, its store, and hands to put things into it. */
export class TestApp {
  readonly store: ClickHouse;
  readonly admin: Admin;
  readonly alerts: AlertsAdmin;
  /** Replaced where a collector writes to the same store: a process has one registry of names. */
  writer: RequestsWriter;
  private readonly server: ReturnType<NestExpressApplication['getHttpServer']>;

  private constructor(
    readonly app: NestExpressApplication,
    private readonly testStore: TestStore,
    private readonly lines: readonly string[],
  ) {
    this.store = app.get(ClickHouse);
    this.admin = createAdmin(this.store);
    this.alerts = new AlertsAdmin(this.store, this.admin.teams, this.admin.apps);
    this.writer = RequestsWriter.create(this.store);
    this.server = app.getHttpServer();
  }

  static async start(env: NodeJS.ProcessEnv = {}): Promise<TestApp> {
    const testStore = await createTestStore(env);
    const { config } = testStore;
    await addSchema(config);
    const module = await Test.createTestingModule({ imports: [AppModule.on(config)] }).compile();
    const app = module.createNestApplication<NestExpressApplication>(new HttpAdapter(), {
      bodyParser: false,
      logger: false,
    });
    const lines: string[] = [];
    const logger = pino(
      { level: 'trace' },
      {
        write: (line) => {
          lines.push(line);
          captureOutput('app', line);
        },
      },
    );
    app.useLogger(new PinoLogger(logger));
    setUp(app, config, logger);
    await app.listen(0, '127.0.0.1');
    return new TestApp(app, testStore, lines);
  }

  /** What it logged so far, a line each. */
  get logged(): string {
    return this.lines.join('');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** A team with a key. */
  async team(plan: Plan = 'premium'): Promise<{ teamId: number; key: string }> {
    const { id } = await this.admin.teams.create('Acme', plan);
    const { key } = await this.admin.keys.create(id);
    return { teamId: id, key };
  }

  /** A GET with a key; the response is held against the OpenAPI document. */
  get(path: string, key: string, query: Record<string, string | number> = {}) {
    const [bare = ''] = path.split('?', 1);
    return request(this.server)
      .get(path)
      .query(query)
      .set('Api-Key', key)
      .expect(captureResponse)
      .expect(conforms(bare));
  }

  /** A POST of JSON with a key; a text is sent as it is. What is not JSON is given as bytes. */
  post(path: string, key: string, body: unknown) {
    return request(this.server)
      .post(path)
      .set('Api-Key', key)
      .set('Content-Type', 'application/json')
      .send(typeof body === 'string' ? body : JSON.stringify(body))
      .buffer(true)
      .expect(captureResponse)
      .expect(conforms(path, 'POST'));
  }

  async stop(): Promise<void> {
    await this.app.close();
    await this.testStore.remove();
  }
}
