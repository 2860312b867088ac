import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import type { Parameters } from '../../store/client/query-parameters.js';
import type { WriterCoordinator } from '../../coordination/writer-coordinator.js';
import { RequestClaims } from '../../write/request-claims.js';

/**
 * A change inserts the whole row again, copied inside the engine with the new value, and replaces the copied
 * row by its newer version. Changes of one row are made one after another. On a server without Redis,
 * commands cannot coordinate: of two simultaneous commands, the one with the newer version undoes the other.
 * So a change of a name gets a lower version than a change of permissions, and nothing undoes a revocation.
 */
const VERSIONS = {
  name: 'updated_at + INTERVAL 1 MILLISECOND',
  state: `greatest(updated_at + INTERVAL 1 SECOND, now64(6, 'UTC'))`,
  revocation: `greatest(updated_at, toDateTime64('2200-01-01', 6, 'UTC')) + INTERVAL 1 MILLISECOND`,
} as const;

/**
 * A command waits this long for another one that changes the same row; a dead one holds its claim for a
 * minute.
 */
const WAIT_MS = 90_000;

/** A row, identified by its key. */
export interface ChangedRow {
  readonly table: 'teams_v1' | 'apps_v1' | 'api_keys_v1' | 'write_tokens_v1' | 'endpoints_v1';
  /** In SQL, with placeholders. */
  readonly where: string;
  readonly key: Readonly<Record<string, string | number>>;
}

export interface Change {
  /** The name of the statement. */
  readonly name: string;
  /** The columns with their new values, in SQL. */
  readonly columns: string;
  readonly kind: keyof typeof VERSIONS;
}

/** Changes of rows that several commands may make at the same time. */
export class RowChanges {
  private readonly claims: RequestClaims;

  constructor(
    private readonly store: ClickHouse,
    coordinator: WriterCoordinator,
  ) {
    this.claims = new RequestClaims(coordinator);
  }

  async make(
    { table, where, key }: ChangedRow,
    { name, columns, kind }: Change,
    params: Parameters = {},
  ): Promise<void> {
    const sql = `
INSERT INTO ${table}
SELECT * REPLACE (${columns}, ${VERSIONS[kind]} AS updated_at) FROM ${table} FINAL WHERE ${where}`;
    await this.claims.run([`row/${table}/${JSON.stringify(key)}`], WAIT_MS, async (hold) => {
      await hold();
      await this.store.command(sql, { ...params, ...key }, { name, operation: 'INSERT' });
    });
  }
}
