import type { ClickHouse } from '../clickhouse/clickhouse.client.js';
import type { Parameters } from '../clickhouse/query-parameters.js';

/**
 * A change inserts the whole row again, copied inside the engine with the new value. Two changes at the same time copy the same row, so
 * that the one with the newer version undoes the other. A name therefore counts less than what decides who may do what, and nothing
 * undoes a revocation. Each version is newer than that of the copied row, which it replaces.
 */
export const NAME_VERSION = 'updated_at + INTERVAL 1 MILLISECOND AS updated_at';
export const STATE_VERSION = `greatest(updated_at + INTERVAL 1 SECOND, now64(6, 'UTC')) AS updated_at`;
export const REVOKED_VERSION = `greatest(updated_at, toDateTime64('2200-01-01', 6, 'UTC')) + INTERVAL 1 MILLISECOND AS updated_at`;

/** Inserts a row again with its change. */
export function changeRow(store: ClickHouse, name: string, sql: string, params: Parameters): Promise<void> {
  return store.command(sql, params, { name, operation: 'INSERT' });
}
