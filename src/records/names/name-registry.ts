import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { Slices } from '../../shared/async/slices.js';
import { CachedLookup } from '../../shared/cached-lookup.js';
import { DEFAULT_LIMITS, type NameLimits } from '../../config/name-limits.js';
import { hasOperation } from '../operation.js';
import type { RequestRecord } from '../request-record.js';
import { LocalCoordinator, type WriterCoordinator } from '../../coordination/writer-coordinator.js';
import { ErasedConsumers, IS_ERASED } from './erased-consumers.js';
import { IdGenerator } from './id-generator.js';
import { NameLimitsLookup, OVERFLOW_NAME } from './name-limits.js';
import { changeAttributes } from './consumer-attributes.js';
import { type NameRow, NameTable, type NewName } from './name-table.js';

/** The IDs of one request's names; 0 without an endpoint or consumer. */
export interface RequestIds {
  app_env_id: number;
  endpoint_id: number;
  consumer_id: number;
}

/** A record with the names that it is stored under and their IDs. */
export interface WithIds<R> {
  record: R;
  ids: RequestIds;
  /** The kinds of names beyond the app's limits; the record counts under `*` for them. */
  overflow?: (keyof NameLimits)[];
}

/** The names of a request's environment, endpoint and consumer. */
export type DimensionNames = Pick<RequestRecord, 'env' | 'method' | 'path' | 'consumer' | 'timestamp'> & {
  /** False: an existing endpoint is used, but no endpoint is created. */
  registersPath?: boolean;
  is_path_inferred?: boolean;
};

interface ConsumerRow extends NameRow {
  name: string;
  group_id: number;
  attributes: string;
  created_at: number;
}

/** A consumer as a batch of records describes it; the last description counts. */
interface BatchConsumer {
  seenAt: number;
  name?: string;
  group?: string;
  /** Changes of its attributes; see `changeAttributes`. */
  attributes: string[];
}

interface BatchNames {
  envs: Map<string, NewName>;
  /**
   * Endpoints of the records, and endpoints that may be registered, each with the first record that may
   * register it.
   */
  endpoints: Set<string>;
  newEndpoints: Map<string, NewName & { index: number }>;
  groups: Map<string, NewName>;
  consumers: Map<string, BatchConsumer>;
}

/** Characters of a cached consumer with a name alone. */
const TYPICAL_ROW = 100;
/** New ones of other processes are used within this time. */
const OPERATED_REMEMBERED_MS = 60_000;
const OPERATED = `
SELECT id FROM endpoints_v1 FINAL
WHERE app_id = {app_id:UInt32} AND (method, path) IN (
  SELECT method, substring(path, 1, position(path, '#') - 1) FROM endpoints_v1
  WHERE app_id = {app_id:UInt32} AND position(path, '#') > 0
)`;
const NAME_KINDS = ['environments', 'endpoints', 'consumers', 'consumerGroups'] as const;

/**
 * The names that monitored applications use and their IDs: environments, endpoints, consumers and groups, by
 * app, registered at their first use. Names are looked up in the store when needed and cached within bounds.
 */
export class NameRegistry {
  private readonly envs: NameTable;
  private readonly endpoints: NameTable;
  private readonly groups: NameTable;
  private readonly consumers: NameTable<ConsumerRow>;
  private readonly operated = new CachedLookup<ReadonlySet<number>>(OPERATED_REMEMBERED_MS);
  /** The end of each app's queue of work. */
  private readonly tails = new Map<number, Promise<void>>();

  constructor(
    private readonly store: ClickHouse,
    ids: IdGenerator,
    private readonly limits: NameLimitsLookup,
    private readonly erased = new ErasedConsumers(store),
  ) {
    const toRow = (id: number): NameRow => ({ id });
    const byName = { key: 'name', overflow: { key: OVERFLOW_NAME, members: { name: OVERFLOW_NAME } }, toRow };
    this.envs = new NameTable(store, ids, { ...byName, table: 'app_envs_v1', cached: 10_000 });
    this.groups = new NameTable(store, ids, { ...byName, table: 'consumer_groups_v1', cached: 20_000 });
    this.endpoints = new NameTable(store, ids, {
      table: 'endpoints_v1',
      key: `concat(method, ' ', path)`,
      overflow: {
        key: endpointKey(OVERFLOW_NAME, OVERFLOW_NAME),
        members: { method: OVERFLOW_NAME, path: OVERFLOW_NAME },
      },
      toRow,
      cached: 50_000,
    });
    this.consumers = new NameTable<ConsumerRow>(store, ids, {
      table: 'consumers_v1',
      key: 'identifier',
      columns: ['name', 'group_id', 'attributes', 'toUnixTimestamp64Milli(created_at) AS created_at'],
      overflow: {
        key: OVERFLOW_NAME,
        members: { identifier: OVERFLOW_NAME, name: OVERFLOW_NAME, group_id: 0, attributes: '' },
      },
      toRow: (id, { members, seenAt }) => ({
        id,
        name: String(members.name),
        group_id: Number(members.group_id),
        attributes: String(members.attributes),
        created_at: seenAt,
      }),
      isErased: IS_ERASED,
      weigh: ({ attributes }) => Math.ceil(attributes.length / TYPICAL_ROW),
      cached: 200_000,
    });
  }

  /**
   * The registry of a process; a process has one for each store.
   *
   * @param coordinator shared with the other writers of the store; left out if there are none
   * @param limits for apps without their own limits
   */
  static create(
    store: ClickHouse,
    coordinator: WriterCoordinator = new LocalCoordinator(),
    limits = DEFAULT_LIMITS,
  ): NameRegistry {
    return new NameRegistry(store, new IdGenerator(store, coordinator), new NameLimitsLookup(store, limits));
  }

  /** Each record of an app with its IDs, in order. New names are in the store before this resolves. */
  resolve<R extends DimensionNames>(appId: number, records: readonly R[]): Promise<WithIds<R>[]> {
    if (records.length === 0) return Promise.resolve([]);
    // One after another: concurrent calls with the same new name would each assign it an ID.
    const before = this.tails.get(appId) ?? Promise.resolve();
    const resolved = before.then(() => this.resolveExclusive(appId, records));
    const removeTail = () => {
      if (this.tails.get(appId) === tail) this.tails.delete(appId);
    };
    // Its caller handles the error.
    const tail = resolved.then(removeTail, removeTail);
    this.tails.set(appId, tail);
    return resolved;
  }

  /** The IDs of the endpoints of an app that have operations of their own. */
  listOperated(appId: number): Promise<ReadonlySet<number>> {
    return this.operated.find(String(appId), async () => {
      const rows = await this.store.rows<{ id: number }>('names.operated', OPERATED, { app_id: appId });
      return new Set(rows.map(({ id }) => id));
    });
  }

  private async resolveExclusive<R extends DimensionNames>(
    appId: number,
    records: readonly R[],
  ): Promise<WithIds<R>[]> {
    const batchNames = await collectNames(records);
    if (batchNames.consumers.size > 0 && (await this.erased.hasNew(appId)))
      for (const table of [this.consumers, this.groups]) table.forget(appId);
    const limits = await this.limits.find(appId);
    const envs = await this.envs.findOrRegister(appId, batchNames.envs, limits.environments);
    const groups = await this.groups.findOrRegister(appId, batchNames.groups, limits.consumerGroups);
    const registered = await this.endpoints.lookup(appId, batchNames.endpoints);
    const { newEndpoints } = batchNames;
    const endpoints = await this.endpoints.findOrRegister(appId, newEndpoints, limits.endpoints, registered);
    const isNew = (key: string) => hasOperation(key) && !registered.has(key);
    if ([...newEndpoints.keys()].some(isNew)) this.operated.forget(String(appId));
    const consumers = await this.resolveConsumers(appId, batchNames.consumers, groups, limits.consumers);
    const resolve = (record: R, index: number): WithIds<R> => {
      const { env, method, path, consumer } = record;
      const envRow = envs.get(env);
      const key = path === null ? '' : endpointKey(method, path);
      // A path counts only for records after the record that registered it, even within a batch.
      const isRegistered = registered.has(key) || (newEndpoints.get(key)?.index ?? Infinity) <= index;
      const endpointRow = isRegistered ? endpoints.get(key) : undefined;
      const consumerRow = consumer ? consumers.get(consumer.identifier) : undefined;
      const ids = {
        app_env_id: envRow?.id ?? 0,
        endpoint_id: endpointRow?.id ?? 0,
        consumer_id: consumerRow?.id ?? 0,
      };
      const named = path !== null && !endpointRow ? { ...record, path: null } : record;
      const groupRow = consumer?.group === undefined ? undefined : groups.get(consumer.group);
      const rowsByKind = {
        environments: envRow,
        endpoints: endpointRow,
        consumers: consumerRow,
        consumerGroups: groupRow,
      };
      const overflow = NAME_KINDS.filter((kind) => rowsByKind[kind]?.isOverflow);
      if (overflow.length === 0) return { record: named, ids };
      return {
        record: {
          ...named,
          ...(envRow?.isOverflow && { env: OVERFLOW_NAME }),
          ...(endpointRow?.isOverflow && { path: OVERFLOW_NAME }),
          ...(consumerRow?.isOverflow && { consumer: { identifier: OVERFLOW_NAME } }),
        },
        ids,
        overflow,
      };
    };
    const resolved: WithIds<R>[] = [];
    await new Slices().forEach(records.entries(), ([index, record]) => {
      resolved.push(resolve(record, index));
    });
    return resolved;
  }

  private async resolveConsumers(
    appId: number,
    batchNames: ReadonlyMap<string, BatchConsumer>,
    groups: ReadonlyMap<string, NameRow>,
    limit: number,
  ): Promise<Map<string, ConsumerRow>> {
    const groupId = (group: string | undefined, otherwise: number) =>
      group === undefined ? otherwise : (groups.get(group)?.id ?? 0);
    // A description that another process wrote must neither hide this newer one nor be lost in part.
    const isDescribed = ({ name, group, attributes }: BatchConsumer) =>
      name !== undefined || group !== undefined || attributes.length > 0;
    const described = [...batchNames].filter(([, consumer]) => isDescribed(consumer));
    this.consumers.forgetChanged(
      appId,
      described.map(([identifier]) => identifier),
    );
    const names = new Map(
      Array.from(batchNames, ([identifier, consumer]): [string, NewName] => {
        const { seenAt, name = identifier, group } = consumer;
        const attributes = changeAttributes('', consumer.attributes);
        const members = { identifier, name, group_id: groupId(group, 0), attributes };
        return [identifier, { members, seenAt, isDescribed: isDescribed(consumer) }];
      }),
    );
    const rows = await this.consumers.findOrRegister(appId, names, limit);
    const changes = [];
    for (const [identifier, described] of batchNames) {
      const row = rows.get(identifier);
      if (!row || row.isOverflow) continue;
      const { id, created_at } = row;
      const name = described.name ?? row.name;
      const group_id = groupId(described.group, row.group_id);
      const attributes = changeAttributes(row.attributes, described.attributes);
      if (name === row.name && group_id === row.group_id && attributes === row.attributes) continue;
      const values = { name, group_id, attributes, created_at };
      changes.push({ key: identifier, row: { id, ...values }, members: { identifier, ...values } });
    }
    await this.consumers.update(appId, changes);
    return rows;
  }
}

async function collectNames(records: readonly DimensionNames[]): Promise<BatchNames> {
  const batchNames: BatchNames = {
    envs: new Map(),
    endpoints: new Set(),
    newEndpoints: new Map(),
    groups: new Map(),
    consumers: new Map(),
  };
  await new Slices().forEach(records.entries(), ([index, record]) => {
    const {
      env,
      method,
      path,
      consumer,
      timestamp: seenAt,
      registersPath = true,
      is_path_inferred = false,
    } = record;
    if (!batchNames.envs.has(env)) batchNames.envs.set(env, { members: { name: env }, seenAt });
    if (path !== null) {
      const key = endpointKey(method, path);
      batchNames.endpoints.add(key);
      // Operations are often named by clients, not by the application.
      const isInferred = is_path_inferred || hasOperation(path);
      const named = batchNames.newEndpoints.get(key);
      if (named) named.isInferred &&= isInferred;
      else if (registersPath)
        batchNames.newEndpoints.set(key, {
          members: { method, path },
          seenAt,
          index,
          isInferred,
        });
    }
    if (consumer === null) return;
    const { identifier, name, group, attributes } = consumer;
    if (group !== undefined && !batchNames.groups.has(group))
      batchNames.groups.set(group, { members: { name: group }, seenAt });
    const seen = batchNames.consumers.get(identifier) ?? { seenAt, attributes: [] };
    batchNames.consumers.set(identifier, seen);
    Object.assign(seen, name !== undefined && { name }, group !== undefined && { group });
    // Each request of a consumer may repeat them.
    if (attributes !== undefined && attributes !== seen.attributes.at(-1)) seen.attributes.push(attributes);
  });
  return batchNames;
}

function endpointKey(method: string, path: string): string {
  return `${method} ${path}`;
}
