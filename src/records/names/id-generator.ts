import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import type { WriterCoordinator } from '../../coordination/writer-coordinator.js';

/** Tables of names that monitored applications use; each row has an ID. */
export type NameTableName = 'app_envs_v1' | 'endpoints_v1' | 'consumers_v1' | 'consumer_groups_v1';

/** IDs fit in a signed 32-bit integer, because public clients store them so (docs/contract.md#ids). */
const MAX_ID = 2 ** 31 - 1;

/** The highest ID of a table, including deleted rows; 0 if it never had rows. */
export async function findHighestId(store: ClickHouse, table: string): Promise<number> {
  // The table's name comes from a fixed list, never from outside.
  const sql = `
SELECT greatest(
  (SELECT max(id) FROM ${table}),
  (SELECT max(id) FROM id_claims_v1 WHERE table_name = '${table}')
) AS id`;
  const [row] = await store.rows<{ id: number }>('ids.highest', sql);
  return row?.id ?? 0;
}

/** @throws RangeError if the sequence has ended */
export function requireId(table: string, id: number): number {
  if (id > MAX_ID) throw new RangeError(`${table} has no IDs left`);
  return id;
}

/**
 * Assigns IDs to names: small integers, ascending, never reused, one sequence per table. A name gets the same
 * ID in all processes with the same coordinator.
 */
export class IdGenerator {
  /**
   * Tables whose highest ID this process has told the coordinator: earlier processes may have written without
   * it.
   */
  private readonly initialised = new Set<NameTableName>();

  constructor(
    private readonly store: ClickHouse,
    private readonly coordinator: WriterCoordinator,
  ) {}

  /**
   * IDs for those names of an app that are not in the store, in order.
   *
   * @throws StoreUnavailable if the coordinator is unavailable; an ID is never guessed
   */
  async allocate(table: NameTableName, appId: number, names: readonly string[]): Promise<number[]> {
    const qualified = names.map((name) => `${appId}:${name}`);
    if (this.initialised.has(table)) {
      const ids = await this.coordinator.allocateIds(table, qualified);
      if (!ids.includes(0)) return ids.map((id) => requireId(table, id));
    }
    const highest = await findHighestId(this.store, table);
    const ids = await this.coordinator.allocateIds(table, qualified, highest);
    this.initialised.add(table);
    return ids.map((id) => requireId(table, id));
  }
}
