import type { ClickHouse } from '../../clickhouse/clickhouse.client.js';

/** Tables of names that monitored applications use; each row has an ID. */
export type NameTableName = 'app_envs_v1' | 'endpoints_v1' | 'consumers_v1' | 'consumer_groups_v1';

/** IDs fit in a signed 32-bit integer, because public clients store them so (docs/contract.md#ids). */
const MAX_ID = 2 ** 31 - 1;

/** Assigns IDs to names: small integers, ascending, never reused, one sequence per table. */
export interface IdGenerator {
  /** Whether other processes assign IDs too, so that a name may already have an ID from another process. */
  readonly isShared: boolean;
  /** IDs for names of an app that have none in the store, in order. */
  allocate(table: NameTableName, appId: number, names: readonly string[]): Promise<number[]>;
}

/** The highest ID in a table; 0 if it is empty. */
export async function findHighestId(store: ClickHouse, table: string): Promise<number> {
  // The table's name comes from a fixed list, never from outside.
  const [row] = await store.rows<{ id: number }>('ids.highest', `SELECT max(id) AS id FROM ${table}`);
  return row?.id ?? 0;
}

/** The ID, unless the sequence has ended. */
export function requireId(table: string, id: number): number {
  if (id > MAX_ID) throw new RangeError(`${table} has no IDs left`);
  return id;
}

/** Assigns IDs if this process is the only writer of names. */
export class SequenceIdGenerator implements IdGenerator {
  readonly isShared = false;
  private readonly last = new Map<NameTableName, Promise<number>>();

  constructor(private readonly store: ClickHouse) {}

  async allocate(table: NameTableName, _appId: number, names: readonly string[]): Promise<number[]> {
    const before = this.last.get(table) ?? findHighestId(this.store, table);
    this.last.set(
      table,
      before.then((last) => last + names.length),
    );
    try {
      const last = await before;
      return names.map((_, index) => requireId(table, last + 1 + index));
    } catch (error) {
      this.last.delete(table);
      throw error;
    }
  }
}

/** Milliseconds since the epoch as the engine reads a DateTime64(3) in UTC. */
export function dateTime64(epochMs: number): string {
  const iso = new Date(epochMs).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, -1)}`;
}
