import { setTimeout as pause } from 'node:timers/promises';
import { Config } from '../../src/config/config.js';
import { TestApp, WITHOUT_CACHE } from '../setup/app.js';
import { ClickHouseServer } from '../setup/clickhouse-server/clickhouse-server.js';
import type { HttpResponse } from '../setup/conforms.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';
import { Tenant } from '../setup/tenant.js';

/** The time limit of a query in these tests. */
export const QUERY_TIMEOUT_MS = 1_000;
/** What a request may take on top: the application's own slack, and a busy machine. */
export const SLACK_MS = 1_500;

/** An operation of the API, and what it asks of the store, in order. */
export interface Operation {
  name: string;
  path: string;
  queries: readonly string[];
}

export interface Timed extends HttpResponse {
  ms: number;
}

const KEY = 'api_keys.find';
const SCOPE = 'apps.find_scope';
const DAY = 86_400_000;

/** The read API on a real socket, over a store in another process that fails as ordered, with data in it. */
export class OutageHarness {
  private asked = 0;

  private constructor(
    readonly store: ClickHouseServer,
    readonly app: TestApp,
    readonly key: string,
    readonly operations: readonly Operation[],
  ) {}

  static async start(env: NodeJS.ProcessEnv = {}): Promise<OutageHarness> {
    const store = await ClickHouseServer.start({ user: 'reader', password: 'a p:ss' });
    process.env.CLICKHOUSE_URL = store.url;
    const app = await TestApp.start({
      ...WITHOUT_CACHE,
      CLICKHOUSE_USER: store.user,
      CLICKHOUSE_PASSWORD: store.password,
      QUERY_TIMEOUT_SECONDS: String(QUERY_TIMEOUT_MS / 1000),
      ...env,
    });
    const tenant = await Tenant.create(app);
    const now = Date.now();
    const [first] = await tenant.write(
      ...Array.from({ length: 40 }, (_, n) => ({
        timestamp: now - n * 3_600_000 - 60_000,
        path: `/things/${n}`,
        consumer: { identifier: `someone ${n}` },
      })),
    );
    const at = `/v1/apps/${tenant.appId}`;
    const window = `start=${new Date(now - 2 * DAY).toISOString()}&end=${new Date(now).toISOString()}&limit=20`;
    const toOperation = (name: string, path: string, query: string) => {
      return { name, path: at + path, queries: [KEY, SCOPE, query] };
    };
    return new OutageHarness(store, app, tenant.key, [
      { name: 'team', path: '/v1/team', queries: [KEY] },
      { name: 'apps', path: '/v1/apps', queries: [KEY, 'apps.list', 'apps.list_envs'] },
      toOperation('endpoints', '/endpoints', 'endpoints.list'),
      toOperation('consumers', '/consumers?limit=20', 'consumers.page'),
      toOperation('request logs', `/request-logs?${window}`, 'request_logs.page'),
      toOperation('request details', `/request-logs/${first?.request_uuid}`, 'request_logs.find'),
      toOperation('traffic', `/traffic?${window}`, 'traffic.sums'),
    ]);
  }

  /** The database of the store that the data is in. */
  get database(): string {
    return this.app.app.get(Config).clickhouse.database;
  }

  /** Asks for an operation; what does not come within ten seconds counts as status 0. */
  async call({ path }: Operation): Promise<Timed> {
    const started = performance.now();
    const headers = { 'api-key': this.key, 'x-request-id': `request-${++this.asked}` };
    const hung: HttpResponse = { status: 0, headers: {}, text: 'no response' };
    const given = new AbortController();
    const response = await Promise.race([
      sendRaw(this.app.url, path, { headers }),
      pause(10_000, hung, { signal: given.signal, ref: false }),
    ]);
    given.abort();
    const ms = performance.now() - started;
    const kept = response.headers['x-request-id'] === headers['x-request-id'];
    return kept || response === hung
      ? { ...response, ms }
      : { ...response, text: 'another X-Request-Id', ms };
  }

  /** All operations at once, in their order. */
  callAll(operations = this.operations): Promise<Timed[]> {
    return Promise.all(operations.map((operation) => this.call(operation)));
  }

  async stop() {
    await this.store.heal();
    closeConnections();
    await this.app.stop();
    await this.store.stop();
    delete process.env.CLICKHOUSE_URL;
  }
}
