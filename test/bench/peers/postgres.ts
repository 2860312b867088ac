import type { PeerQuery } from '../cases/case.js';
import { PostgresCluster } from './postgres-cluster.js';
import type { PeerTable } from './tables.js';

/** Values as text, as they come: reading them as numbers and dates would only cost PostgreSQL time. */
const AS_TEXT = { getTypeParser: () => (value: string) => value };

/** PostgreSQL with the same rows. */
export class Postgres {
  readonly name = 'postgres';

  private constructor(private readonly cluster: PostgresCluster) {}

  static async open(programs: string, directory: string, log: string): Promise<Postgres> {
    return new Postgres(await PostgresCluster.start(programs, directory, log));
  }

  /** Loads a table; the file must be readable to all. Everything in one transaction, which spares the log. */
  async load({ name, columns, indexes }: PeerTable, file: string): Promise<void> {
    const { client } = this.cluster;
    await client.query('BEGIN');
    await client.query(`CREATE TABLE ${name} (${columns})`);
    await client.query(`COPY ${name} FROM '${file}' (FORMAT csv, FREEZE)`);
    for (const index of indexes) await client.query(`CREATE ${index}`);
    await client.query('COMMIT');
    await client.query(`VACUUM (ANALYZE) ${name}`);
  }

  /** Prepared once for each case, as a service would. */
  async answer(
    id: string,
    { sql, values }: PeerQuery,
    nth: number,
  ): Promise<{ ms: number; rows: string[][] }> {
    const query = { name: id, text: sql, values: values(nth), rowMode: 'array' as const, types: AS_TEXT };
    const startedAt = performance.now();
    const { rows } = await this.cluster.client.query<string[]>(query);
    return { ms: performance.now() - startedAt, rows: rows.map((row) => row.map(String)) };
  }

  /** Bytes of a table with its indexes and what is kept outside of its rows. */
  async measureBytes(table: string): Promise<number> {
    const { rows } = await this.cluster.client.query<{ bytes: string }>(
      `SELECT pg_total_relation_size($1::regclass) AS bytes`,
      [table],
    );
    return Number(rows[0]?.bytes);
  }

  async version(): Promise<string> {
    const { rows } = await this.cluster.client.query<{ server_version: string }>('SHOW server_version');
    return `PostgreSQL ${rows[0]?.server_version ?? ''}`;
  }

  stop(): Promise<void> {
    return this.cluster.stop();
  }
}
