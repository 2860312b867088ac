import { LRUCache } from 'lru-cache';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { chunkBySize, chunkForLookup } from '../../shared/chunk.js';
import { type IdGenerator, type NameTableName } from './id-generator.js';

/** A name in the store. */
export interface NameRow {
  id: number;
  /** Set if this row stands for all names beyond the app's limit. */
  isOverflow?: true;
}

/** A name that may have to be registered. */
export interface NewName {
  /** Columns of its row. */
  members: Readonly<Record<string, string | number>>;
  /** Milliseconds since the Unix epoch. */
  seenAt: number;
  /** Whether the row has more than the name. */
  isDescribed?: boolean;
  /** Whether no application named it: such names take at most half of the limit. */
  isInferred?: boolean;
}

interface NameTableSpec<Row> {
  table: NameTableName;
  /** The column that identifies a name within its app, in SQL. */
  key: string;
  /** Columns of `Row` except the ID, in SQL. */
  columns?: readonly string[];
  /** The row of a newly registered name, as `lookup` would return it. */
  toRow: (id: number, name: NewName) => Row;
  /** The name under which all names beyond the limit are counted. */
  overflow: { key: string; members: NewName['members'] };
  /** In SQL, whether a row belongs to an erased name. No other name gets its ID. */
  isErased?: string;
  /** For how many further names a row takes memory. */
  weigh?: (row: Row) => number;
  /** Number of cached names of all apps. */
  cached: number;
}

/**
 * The version of a row with only the name. Two processes may both write it: a change in between, such as an
 * endpoint's mark or a consumer's group, has a newer version and wins.
 */
const FIRST_VERSION = { updated_at: '1970-01-01 00:00:00' };
/**
 * Characters of the names of one lookup: a server accepts parameters of 128 KiB, and a character has up to 4
 * bytes.
 */
const LOOKUP_CHARACTERS = 24_000;
/** Quotation marks and a comma around each name. */
const PER_NAME = 3;

/** One kind of names, for all apps. */
export class NameTable<Row extends NameRow = NameRow> {
  private readonly cache: LRUCache<string, Row>;
  private readonly find: string;
  private readonly count: string;
  private readonly findErased: string | null;
  /** Inserts of this process, and those of others that the cache takes account of. */
  private ownInserts = 0;
  private foreignInserts = 0;

  constructor(
    private readonly store: ClickHouse,
    private readonly ids: IdGenerator,
    private readonly spec: NameTableSpec<Row>,
  ) {
    const { table, key, columns = [], isErased, weigh, cached } = spec;
    // Grows with its entries: `max` would allocate memory for all of them at once.
    this.cache = new LRUCache({ maxSize: cached, sizeCalculation: (row) => 1 + (weigh?.(row) ?? 0) });
    // All parts come from this file's callers, never from outside.
    this.find = `
SELECT ${[`${key} AS key`, 'id', ...columns].join(', ')}
FROM ${table} FINAL
WHERE app_id = {app_id:UInt32} AND ${key} IN {keys:Array(String)}`;
    this.count = `
SELECT uniqExact(id) AS names FROM ${table} WHERE app_id = {app_id:UInt32} AND ${key} != {overflow:String}`;
    this.findErased =
      isErased === undefined
        ? null
        : `SELECT DISTINCT id FROM ${table} WHERE app_id = {app_id:UInt32} AND id IN {ids:Array(UInt32)} AND ${isErased}`;
  }

  /** Drops the cached names of an app, after names were erased in the store. */
  forget(appId: number): void {
    for (const key of this.cache.keys()) if (key.startsWith(`${appId}/`)) this.cache.delete(key);
  }

  /** Drops the cached rows of names that another process may have changed. */
  forgetChanged(appId: number, keys: Iterable<string>): void {
    const version = this.store.getVersion(this.spec.table);
    if (version === undefined) for (const key of keys) this.cache.delete(`${appId}/${key}`);
    else if (version - this.ownInserts !== this.foreignInserts) {
      this.foreignInserts = version - this.ownInserts;
      this.cache.clear();
    }
  }

  /** The rows of an app's registered names, by key. */
  async lookup(appId: number, keys: Iterable<string>): Promise<Map<string, Row>> {
    const found = new Map<string, Row>();
    const unknown: string[] = [];
    for (const key of keys) {
      const row = this.cache.get(`${appId}/${key}`);
      if (row) found.set(key, row);
      else unknown.push(key);
    }
    for (const some of chunkBySize(unknown, LOOKUP_CHARACTERS, PER_NAME)) {
      const params = { app_id: appId, keys: some };
      const rows = await this.store.rows<Row & { key: string }>('names.find', this.find, params);
      for (const { key, ...row } of rows) this.remember(appId, found, key, row as unknown as Row);
    }
    return found;
  }

  /**
   * The rows of an app's names, by key. Missing names are registered, in order; names beyond the limit get
   * the overflow name.
   *
   * @param registered result of a `lookup` of the names
   */
  async findOrRegister(
    appId: number,
    names: ReadonlyMap<string, NewName>,
    limit: number,
    registered?: ReadonlyMap<string, Row>,
  ): Promise<Map<string, Row>> {
    const rows = new Map(registered ?? (await this.lookup(appId, names.keys())));
    const missing = [...names].filter(([key]) => !rows.has(key));
    if (missing.length === 0) return rows;
    const { overflow } = this.spec;
    const params = { app_id: appId, overflow: overflow.key };
    const [counted] = await this.store.rows<{ names: number }>('names.count', this.count, params);
    const admitted = chooseNames(missing, limit, counted?.names ?? 0);
    await this.insert(
      appId,
      missing.filter(([key]) => admitted.has(key)),
      rows,
    );
    if (admitted.size === missing.length) return rows;
    const row = await this.requireOverflow(appId);
    for (const [key] of missing) if (!admitted.has(key)) rows.set(key, row);
    return rows;
  }

  /** Writes changes of registered names. */
  async update(appId: number, rows: readonly { key: string; row: Row; members: object }[]): Promise<void> {
    if (rows.length === 0) return;
    const texts = rows.map(({ row, members }) => JSON.stringify({ app_id: appId, id: row.id, ...members }));
    await this.insertRows(texts);
    for (const { key, row } of rows) this.cache.set(`${appId}/${key}`, row);
  }

  private async requireOverflow(appId: number): Promise<Row> {
    const { key, members } = this.spec.overflow;
    const found = await this.lookup(appId, [key]);
    if (!found.has(key)) await this.insert(appId, [[key, { members, seenAt: Date.now() }]], found);
    const row = found.get(key);
    if (!row) throw new Error(`${this.spec.table} has no overflow name for app ${appId}`);
    return { ...row, isOverflow: true };
  }

  private async insert(
    appId: number,
    names: readonly (readonly [key: string, name: NewName])[],
    registered: Map<string, Row>,
  ): Promise<void> {
    const { toRow } = this.spec;
    if (names.length === 0) return;
    const keys = names.map(([key]) => key);
    const ids = await this.allocateIds(appId, keys);
    const rows = names.map(([key, name], index) => ({ key, name, id: ids[index] ?? 0 }));
    const texts = rows.map(({ id, name: { members, seenAt, isDescribed } }) =>
      JSON.stringify({
        app_id: appId,
        id,
        ...members,
        created_at: seenAt,
        ...(!isDescribed && FIRST_VERSION),
      }),
    );
    await this.insertRows(texts);
    for (const { key, name, id } of rows) this.remember(appId, registered, key, toRow(id, name));
  }

  private async insertRows(texts: readonly string[]): Promise<void> {
    try {
      await this.store.insert(this.spec.table, texts);
    } finally {
      this.ownInserts += 1;
    }
  }

  /**
   * For an hour the coordinator returns an erased name's old ID; then it allocates another one, the same in
   * all processes.
   */
  private async allocateIds(appId: number, keys: readonly string[]): Promise<number[]> {
    const ids = await this.ids.allocate(this.spec.table, appId, keys);
    if (this.findErased === null) return ids;
    const erased = new Set<number>();
    for (const some of chunkForLookup(ids))
      for (const { id } of await this.store.rows<{ id: number }>('names.find_erased', this.findErased, {
        app_id: appId,
        ids: some,
      }))
        erased.add(id);
    if (erased.size === 0) return ids;
    const again = keys.flatMap((key, index) =>
      erased.has(ids[index] ?? 0) ? [`${key}\n${ids[index]}`] : [],
    );
    const others = await this.allocateIds(appId, again);
    return ids.map((id) => (erased.has(id) ? (others.shift() ?? 0) : id));
  }

  private remember(appId: number, rows: Map<string, Row>, key: string, row: Row): void {
    rows.set(key, row);
    this.cache.set(`${appId}/${key}`, row);
  }
}

/** The new names for which the limit has room: first those that an application named. */
function chooseNames(
  missing: readonly (readonly [key: string, name: NewName])[],
  limit: number,
  existing: number,
): ReadonlySet<string> {
  const named = missing.filter(([, { isInferred }]) => !isInferred).slice(0, Math.max(0, limit - existing));
  const room = Math.max(0, Math.ceil(limit / 2) - existing - named.length);
  const inferred = missing.filter(([, { isInferred }]) => isInferred).slice(0, room);
  return new Set([...named, ...inferred].map(([key]) => key));
}
