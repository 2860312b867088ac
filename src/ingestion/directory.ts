import type { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { type Ids, type Numbered, dateTime64 } from './ids.js';
import type { ConsumerRecord, RequestRecord } from './request-record.js';

/** The IDs behind the names of one request; 0 where it has no endpoint or consumer. */
export interface RequestIds {
  app_env_id: number;
  endpoint_id: number;
  consumer_id: number;
}

/** What names the endpoint, the environment and the consumer of a request. */
type Named = Pick<RequestRecord, 'env' | 'method' | 'path' | 'consumer' | 'timestamp'>;

interface ConsumerRow {
  id: number;
  identifier: string;
  name: string;
  group_id: number;
  created_at: string;
}

const ENVS = `SELECT id, name FROM app_envs_v1 FINAL WHERE app_id = {app_id:UInt32}`;
const ENDPOINTS = `SELECT id, method, path FROM endpoints_v1 FINAL WHERE app_id = {app_id:UInt32}`;
const GROUPS = `SELECT id, name FROM consumer_groups_v1 FINAL WHERE app_id = {app_id:UInt32}`;
const CONSUMERS = `
SELECT id, identifier, name, group_id, toString(created_at) AS created_at
FROM consumers_v1 FINAL WHERE app_id = {app_id:UInt32}`;

/**
 * The names of one app and their IDs: environments, endpoints, consumers and groups, created as they are met.
 *
 * It remembers what it has read, so a process keeps one directory for each app it writes to.
 */
export class Directory {
  private readonly envs = new Map<string, number>();
  private readonly endpoints = new Map<string, number>();
  private readonly groups = new Map<string, number>();
  private readonly consumers = new Map<string, ConsumerRow>();
  private readonly pending = new Map<Numbered, Map<number, object>>();

  private constructor(
    private readonly store: ClickHouse,
    private readonly ids: Ids,
    private readonly appId: number,
  ) {}

  static async load(store: ClickHouse, ids: Ids, appId: number): Promise<Directory> {
    const directory = new Directory(store, ids, appId);
    const read = <Row>(sql: string) => store.rows<Row>('directory.load', sql, { app_id: appId });
    const [envs, endpoints, groups, consumers] = await Promise.all([
      read<{ id: number; name: string }>(ENVS),
      read<{ id: number; method: string; path: string }>(ENDPOINTS),
      read<{ id: number; name: string }>(GROUPS),
      read<ConsumerRow>(CONSUMERS),
    ]);
    for (const { id, name } of envs) directory.envs.set(name, id);
    for (const { id, method, path } of endpoints) directory.endpoints.set(`${method} ${path}`, id);
    for (const { id, name } of groups) directory.groups.set(name, id);
    for (const row of consumers) directory.consumers.set(row.identifier, row);
    return directory;
  }

  /** The IDs of each request, in order. What is new is in the store before this resolves. */
  async resolve(records: readonly Named[]): Promise<RequestIds[]> {
    const resolved: RequestIds[] = [];
    for (const { env, method, path, consumer, timestamp } of records)
      resolved.push({
        app_env_id: this.envs.get(env) ?? (await this.addEnv(env, timestamp)),
        endpoint_id: path === null ? 0 : await this.endpoint(method, path, timestamp),
        consumer_id: consumer === null ? 0 : await this.consumer(consumer, timestamp),
      });
    await this.save();
    return resolved;
  }

  private async endpoint(method: string, path: string, seenAt: number): Promise<number> {
    const key = `${method} ${path}`;
    const known = this.endpoints.get(key);
    if (known !== undefined) return known;
    const id = await this.add('endpoints_v1', { method, path }, seenAt);
    this.endpoints.set(key, id);
    return id;
  }

  private async addEnv(name: string, seenAt: number): Promise<number> {
    const id = await this.add('app_envs_v1', { name }, seenAt);
    this.envs.set(name, id);
    return id;
  }

  private async consumer({ identifier, name, group }: ConsumerRecord, seenAt: number): Promise<number> {
    const known = this.consumers.get(identifier);
    const group_id = group === undefined ? (known?.group_id ?? 0) : await this.group(group, seenAt);
    const wanted = { name: name ?? known?.name ?? identifier, group_id };
    if (known?.name === wanted.name && known.group_id === group_id) return known.id;
    const created_at = known?.created_at ?? dateTime64(seenAt);
    const id = known?.id ?? (await this.ids.next('consumers_v1'));
    const row = { id, identifier, ...wanted, created_at };
    this.consumers.set(identifier, row);
    this.queue('consumers_v1', row);
    return id;
  }

  private async group(name: string, seenAt: number): Promise<number> {
    const known = this.groups.get(name);
    if (known !== undefined) return known;
    const id = await this.add('consumer_groups_v1', { name }, seenAt);
    this.groups.set(name, id);
    return id;
  }

  private async add(table: Numbered, members: object, seenAt: number): Promise<number> {
    const id = await this.ids.next(table);
    this.queue(table, { id, ...members, created_at: dateTime64(seenAt) });
    return id;
  }

  private queue(table: Numbered, row: { id: number; created_at: string }) {
    const rows = this.pending.get(table) ?? new Map<number, object>();
    this.pending.set(table, rows.set(row.id, row));
  }

  private async save() {
    for (const [table, rows] of this.pending) {
      const texts = [...rows.values()].map((row) => JSON.stringify({ app_id: this.appId, ...row }));
      await this.store.insert(table, texts);
      this.pending.delete(table);
    }
  }
}
