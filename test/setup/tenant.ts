import { randomUUID } from 'node:crypto';
import { createApiKey, hashApiKey, parseIdentifier } from '../../src/access/keys/api-key.js';
import type { RequestRecord } from '../../src/records/request-record.js';
import { buildRequest } from '../factories/request.factory.js';
import type { TestApp } from './app.js';

/** Query parameters as a client would give them. */
export type Query = Record<string, string | number>;

/** The page envelope, as a client reads it. */
export interface PageBody<Item> {
  data: Item[];
  has_more: boolean;
  next_token?: string;
}

/** Members of a request log record that tests look at. */
export interface LogBody {
  timestamp: string;
  request_uuid: string;
  env: string;
  consumer: string | null;
  method: string;
  path: string | null;
  url: string;
  status_code: number;
}

export interface ConsumerBody {
  id: number;
  identifier: string;
  name: string;
  group: { id: number; name: string } | null;
  created_at: string;
  last_request_at: string | null;
}

export interface TrafficBody {
  period_start: string;
  period_end: string;
  requests: number;
  bytes_received: number;
  bytes_sent: number;
}

/**
 * Tenants that are made together, because an insert of eight rows costs as much as one of one row, and the
 * commands that make a team, a key and an app make ten statements.
 */
const BLOCK = 8;
/** The IDs of a block begin here times its number: far from those that the commands give meanwhile. */
const FIRST_ID = 1_000;

interface Spares {
  blocks: number;
  tenants: Promise<Tenant[]>;
}

const spares = new WeakMap<TestApp, Spares>();

/** A team with a key and one app of its own, which nothing else in the store touches. */
export class Tenant {
  constructor(
    private readonly app: TestApp,
    readonly teamId: number,
    readonly key: string,
    readonly appId: number,
    /** With which a collector is sent to; known of the app of `create`. */
    readonly clientId = '',
  ) {}

  static async create(app: TestApp): Promise<Tenant> {
    const ownSpares = spares.get(app) ?? { blocks: 0, tenants: Promise.resolve([]) };
    spares.set(app, ownSpares);
    const available = ownSpares.tenants.then((tenants) =>
      tenants.length > 0 ? tenants : Tenant.createBlock(app, FIRST_ID * (ownSpares.blocks += 1)),
    );
    ownSpares.tenants = available.then((tenants) => tenants.slice(1));
    return (await available)[0]!;
  }

  /** Makes the rows that the commands would make. */
  private static async createBlock(app: TestApp, firstId: number): Promise<Tenant[]> {
    const created_at = Date.now();
    const tenants = Array.from(
      { length: BLOCK },
      (_, index) => new Tenant(app, firstId + index, createApiKey(), firstId + BLOCK + index, randomUUID()),
    );
    const insert = (table: string, toRow: (tenant: Tenant) => object) =>
      app.store.insert(
        table,
        tenants.map((tenant) => JSON.stringify({ created_at, ...toRow(tenant) })),
      );
    await Promise.all([
      insert('teams_v1', ({ teamId }) => ({ id: teamId, name: 'Acme', plan: 'premium' })),
      insert('api_keys_v1', ({ teamId, key }) => ({
        identifier: parseIdentifier(key),
        team_id: teamId,
        key_sha256: hashApiKey(key),
        has_bodies: true,
      })),
      insert('apps_v1', ({ teamId, appId, clientId }) => ({
        id: appId,
        name: 'Shop',
        framework: 'express',
        client_id: clientId,
        team_id: teamId,
      })),
    ]);
    return tenants;
  }

  /** Another app of the same team, read with the same key. */
  async sibling(): Promise<Tenant> {
    const { id } = await this.app.admin.apps.create(this.teamId, 'Other shop', 'express');
    return new Tenant(this.app, this.teamId, this.key, id);
  }

  /** Puts requests into the app, as an import does. */
  async write(...requests: Partial<RequestRecord>[]): Promise<RequestRecord[]> {
    const records = requests.map(buildRequest);
    await this.app.writer.write(this.appId, records);
    return records;
  }

  /** A GET below the app: `get('traffic', { interval: 'day' })`. */
  get(resource: string, query: Query = {}) {
    return this.app.get(`/v1/apps/${this.appId}/${resource}`, this.key, query);
  }

  /** A POST below the app: `post('metrics', { since: '2026-11-01', metrics: ['requests'] })`. */
  post(resource: string, body: unknown) {
    return this.app.post(`/v1/apps/${this.appId}/${resource}`, this.key, body);
  }

  /** Rows of metrics as the client reads them: lines of JSON. */
  async metrics(body: object): Promise<Record<string, unknown>[]> {
    const response = await this.post('metrics', body);
    expect([response.status, response.text]).toEqual([200, response.text]);
    const lines = response.text.split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** A page that is a 200. */
  async page<Item>(resource: string, query: Query = {}): Promise<PageBody<Item>> {
    const response = await this.get(resource, query);
    expect([response.status, response.text]).toEqual([200, response.text]);
    return response.body as PageBody<Item>;
  }

  logs(query: Query = {}): Promise<PageBody<LogBody>> {
    return this.page('request-logs', query);
  }

  consumers(query: Query = {}): Promise<PageBody<ConsumerBody>> {
    return this.page('consumers', query);
  }

  traffic(query: Query = {}): Promise<PageBody<TrafficBody>> {
    return this.page('traffic', query);
  }

  /**
   * All items in the order of the pages; `getLimit` gives each page's limit and may change the store in
   * between.
   */
  async readAllPages<Item>(
    resource: string,
    query: Query,
    getLimit: (page: number) => number | Promise<number>,
  ): Promise<Item[]> {
    const items: Item[] = [];
    let token: Query = {};
    for (let page = 0; ; page++) {
      const limit = await getLimit(page);
      const body = await this.page<Item>(resource, { ...query, limit, ...token });
      expect(body.data.length).toBeLessThanOrEqual(limit);
      expect(body.has_more).toBe(body.next_token !== undefined);
      items.push(...body.data);
      if (body.next_token === undefined) return items;
      expect(body.data).toHaveLength(limit);
      token = { next_token: body.next_token };
    }
  }

  /** The ID that the API gives a name. */
  async envId(name: string): Promise<number> {
    const { body } = await this.app.get('/v1/apps', this.key);
    const app = body.data.find(({ id }: { id: number }) => id === this.appId);
    return app.envs.find((env: { name: string }) => env.name === name).id;
  }

  async consumerId(identifier: string): Promise<number> {
    const { data } = await this.consumers({ limit: 1000 });
    return data.find((consumer) => consumer.identifier === identifier)!.id;
  }

  exclude(method: string, path: string, excluded = true) {
    return this.app.admin.endpoints.setExcluded(this.appId, method, path, excluded);
  }
}
