import type { ClickHouse } from '../../store/client/clickhouse.client.js';

/** A table whose rows are stored in files. */
export interface StoredTable {
  name: string;
  /**
   * The cluster of a sharded table, whose rows are in a local table of each shard; empty on a single server.
   */
  cluster: string;
}

/** Names of tables and clusters come from the catalog of the store, never from outside. */
const TABLES = `
SELECT name, if(engine = 'Distributed', splitByChar('''', engine_full)[2], '') AS cluster
FROM system.tables
WHERE database = currentDatabase() AND (engine = 'Distributed' OR endsWith(engine, 'MergeTree'))
  AND name NOT IN (
    SELECT concat(name, '_local') FROM system.tables WHERE database = currentDatabase() AND engine = 'Distributed'
  )
  AND name IN (SELECT table FROM system.columns WHERE database = currentDatabase() AND name IN {columns:Array(String)})
ORDER BY name`;

/** The tables with one of these columns. */
export function findTables(store: ClickHouse, ...columns: string[]): Promise<StoredTable[]> {
  return store.rows<StoredTable>('tables.find', TABLES, { columns });
}

/** Deletes rows on every replica, by rewriting the parts that contain them. */
export function buildDelete({ name, cluster }: StoredTable, condition: string): string {
  const target = cluster === '' ? name : `${name}_local ON CLUSTER ${cluster}`;
  return `ALTER TABLE ${target} DELETE WHERE ${condition}`;
}
