import type { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { type IdSource, type Numbered, dateTime64 } from './ids.js';
import type { ConsumerRecord, RequestRecord } from './request-record.js';

/** The IDs behind the names of one request; 0 where it has no endpoint or consumer. */
export interface RequestIds {
  app_env_id: number;
  endpoint_id: number;
  consumer_id: number;
}

/** A record and the IDs behind its names. */
export interface Resolved<R> {
  record: R;
  ids: RequestIds;
}

/** What names the endpoint, the environment and the consumer of a request. */
export type Named = Pick<RequestRecord, 'env' | 'method' | 'path' | 'consumer' | 'timestamp'>;

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
 * The version of a row that only says that the name is there. Two processes may both write it: whatever was said of
 * the name in between, an endpoint's mark or a consumer's group, is newer.
 */
const FIRST_VERSION = { updated_at: '1970-01-01 00:00:00' };

/**
 * The names of one app and their IDs: environments, endpoints, consumers and groups, created as they are met.
 *
 * It remembers what it has read, so a process keeps one directory for each app it writes to: see `Directories`.
 */
export class Directory {
  private readonly envs = new Map<string, number>();
  private readonly endpoints = new Map<string, number>();
  private readonly groups = new Map<string, number>();
  private readonly consumers = new Map<string, ConsumerRow>();
  private readonly pending = new Map<Numbered, Map<number, object>>();
  private turn: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly store: ClickHouse,
    private readonly ids: IdSource,
    private readonly appId: number,
  ) {}

  static async load(store: ClickHouse, ids: IdSource, appId: number): Promise<Directory> {
    const directory = new Directory(store, ids, appId);
    await directory.read();
    return directory;
  }

  /** Each record with its IDs, in order. What is new is in the store before this resolves. */
  resolve<R extends Named>(records: readonly R[]): Promise<Resolved<R>[]> {
    // One after another: two that met the same new name would each give it an ID.
    const resolved = this.turn.then(() => this.resolveAlone(records));
    this.turn = resolved.catch(() => undefined);
    return resolved;
  }

  private async resolveAlone<R extends Named>(records: readonly R[]): Promise<Resolved<R>[]> {
    if (this.ids.isShared && records.some((record) => !this.knownIds(record))) {
      await this.save();
      await this.read();
    }
    const resolved: Resolved<R>[] = [];
    // Waiting for what is known already would cost more than looking it up.
    for (const record of records)
      resolved.push({ record, ids: this.knownIds(record) ?? (await this.idsOf(record)) });
    await this.save();
    return resolved;
  }

  private async idsOf({ env, method, path, consumer, timestamp }: Named): Promise<RequestIds> {
    return {
      app_env_id: this.envs.get(env) ?? (await this.addEnv(env, timestamp)),
      endpoint_id: path === null ? 0 : await this.endpoint(method, path, timestamp),
      consumer_id: consumer === null ? 0 : await this.consumer(consumer, timestamp),
    };
  }

  private async read(): Promise<void> {
    const rowsOf = <Row>(sql: string) => this.store.rows<Row>('directory.read', sql, { app_id: this.appId });
    const [envs, endpoints, groups, consumers] = await Promise.all([
      rowsOf<{ id: number; name: string }>(ENVS),
      rowsOf<{ id: number; method: string; path: string }>(ENDPOINTS),
      rowsOf<{ id: number; name: string }>(GROUPS),
      rowsOf<ConsumerRow>(CONSUMERS),
    ]);
    for (const { id, name } of envs) this.envs.set(name, id);
    for (const { id, method, path } of endpoints) this.endpoints.set(`${method} ${path}`, id);
    for (const { id, name } of groups) this.groups.set(name, id);
    for (const row of consumers) this.consumers.set(row.identifier, row);
  }

  /** The IDs of a request that names nothing new and says nothing new of its consumer; undefined for any other. */
  private knownIds({ env, method, path, consumer }: Named): RequestIds | undefined {
    const app_env_id = this.envs.get(env);
    const endpoint_id = path === null ? 0 : this.endpoints.get(`${method} ${path}`);
    const consumer_id = consumer === null ? 0 : this.knownConsumer(consumer);
    if (app_env_id === undefined || endpoint_id === undefined || consumer_id === undefined) return undefined;
    return { app_env_id, endpoint_id, consumer_id };
  }

  private knownConsumer({ identifier, name, group }: ConsumerRecord): number | undefined {
    const known = this.consumers.get(identifier);
    if (!known || (name !== undefined && name !== known.name)) return undefined;
    return group === undefined || this.groups.get(group) === known.group_id ? known.id : undefined;
  }

  private async endpoint(method: string, path: string, seenAt: number): Promise<number> {
    const key = `${method} ${path}`;
    const known = this.endpoints.get(key);
    if (known !== undefined) return known;
    const id = await this.add('endpoints_v1', key, { method, path }, seenAt);
    this.endpoints.set(key, id);
    return id;
  }

  private async addEnv(name: string, seenAt: number): Promise<number> {
    const id = await this.add('app_envs_v1', name, { name }, seenAt);
    this.envs.set(name, id);
    return id;
  }

  private async consumer({ identifier, name, group }: ConsumerRecord, seenAt: number): Promise<number> {
    const known = this.consumers.get(identifier);
    const group_id = group === undefined ? (known?.group_id ?? 0) : await this.group(group, seenAt);
    const wanted = { name: name ?? known?.name ?? identifier, group_id };
    if (known?.name === wanted.name && known.group_id === group_id) return known.id;
    const created_at = known?.created_at ?? dateTime64(seenAt);
    const id = known?.id ?? (await this.ids.idOf('consumers_v1', this.appId, identifier));
    const row = { id, identifier, ...wanted, created_at };
    this.consumers.set(identifier, row);
    this.queue('consumers_v1', { ...row, ...(name === undefined && group === undefined && FIRST_VERSION) });
    return id;
  }

  private async group(name: string, seenAt: number): Promise<number> {
    const known = this.groups.get(name);
    if (known !== undefined) return known;
    const id = await this.add('consumer_groups_v1', name, { name }, seenAt);
    this.groups.set(name, id);
    return id;
  }

  private async add(table: Numbered, name: string, members: object, seenAt: number): Promise<number> {
    const id = await this.ids.idOf(table, this.appId, name);
    this.queue(table, { id, ...members, created_at: dateTime64(seenAt), ...FIRST_VERSION });
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
