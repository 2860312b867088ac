import type { ClickHouse } from '../clickhouse/clickhouse.client.js';

/** Tables whose rows carry an ID of their own. */
export type Numbered =
  'teams_v1' | 'apps_v1' | 'app_envs_v1' | 'endpoints_v1' | 'consumers_v1' | 'consumer_groups_v1';

/** IDs fit in a signed 32-bit integer: public clients store them so (contract, section 7). */
const MAX_ID = 2 ** 31 - 1;

/** Gives IDs: small integers, ascending, never reused, one sequence for each table. */
export class Ids {
  private readonly last = new Map<Numbered, Promise<number>>();

  constructor(private readonly store: ClickHouse) {}

  async next(table: Numbered): Promise<number> {
    const id = (this.last.get(table) ?? this.highest(table)).then((last) => last + 1);
    this.last.set(table, id);
    try {
      if ((await id) > MAX_ID) throw new RangeError(`${table} has no IDs left`);
      return await id;
    } catch (error) {
      this.last.delete(table);
      throw error;
    }
  }

  private async highest(table: Numbered): Promise<number> {
    // The table's name comes from a fixed list, never from outside.
    const [row] = await this.store.rows<{ id: number }>('ids.highest', `SELECT max(id) AS id FROM ${table}`);
    return row?.id ?? 0;
  }
}

/** Milliseconds since the epoch as the engine reads a DateTime64(3) in UTC. */
export function dateTime64(epochMs: number): string {
  return new Date(epochMs).toISOString().replace('T', ' ').slice(0, -1);
}
