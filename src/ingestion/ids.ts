import type { ClickHouse } from '../clickhouse/clickhouse.client.js';

/** Tables whose rows carry an ID of their own. */
export type Numbered =
  'teams_v1' | 'apps_v1' | 'app_envs_v1' | 'endpoints_v1' | 'consumers_v1' | 'consumer_groups_v1';

/** IDs fit in a signed 32-bit integer: public clients store them so (contract, section 7). */
const MAX_ID = 2 ** 31 - 1;

/** Gives names their IDs: small integers, ascending, never reused, one sequence for each table. */
export interface IdSource {
  /** Whether other processes are given IDs as well, so that names may have been given theirs elsewhere. */
  readonly isShared: boolean;
  /**
   * The ID of an app's name in a table. Whoever remembers names must not ask twice for the same one: only a shared
   * source knows that it was asked before.
   */
  idOf(table: Numbered, appId: number, name: string): Promise<number>;
}

/** The highest ID in a table; 0 when there is none. */
export async function highestId(store: ClickHouse, table: Numbered): Promise<number> {
  // The table's name comes from a fixed list, never from outside.
  const [row] = await store.rows<{ id: number }>('ids.highest', `SELECT max(id) AS id FROM ${table}`);
  return row?.id ?? 0;
}

/** The ID, unless the numbers ran out. */
export function withinIds(table: Numbered, id: number): number {
  if (id > MAX_ID) throw new RangeError(`${table} has no IDs left`);
  return id;
}

const perStore = new WeakMap<ClickHouse, Ids>();

/** Gives IDs in a process that is the only one to write names. */
export class Ids implements IdSource {
  readonly isShared = false;
  private readonly last = new Map<Numbered, Promise<number>>();

  constructor(private readonly store: ClickHouse) {}

  /** The one for a store in this process: two of them would give the same numbers. */
  static of(store: ClickHouse): Ids {
    const ids = perStore.get(store) ?? new Ids(store);
    perStore.set(store, ids);
    return ids;
  }

  async next(table: Numbered): Promise<number> {
    const id = (this.last.get(table) ?? highestId(this.store, table)).then((last) => last + 1);
    this.last.set(table, id);
    try {
      return withinIds(table, await id);
    } catch (error) {
      this.last.delete(table);
      throw error;
    }
  }

  idOf(table: Numbered): Promise<number> {
    return this.next(table);
  }
}

/** Milliseconds since the epoch as the engine reads a DateTime64(3) in UTC. */
export function dateTime64(epochMs: number): string {
  const iso = new Date(epochMs).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, -1)}`;
}
