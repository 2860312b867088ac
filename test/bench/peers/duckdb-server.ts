import { statSync } from 'node:fs';
import { type DuckDBPreparedStatement, DuckDBInstance } from '@duckdb/node-api';
import { serve } from '../rpc.js';
import type { PeerTable } from './tables.js';

const [file = ''] = process.argv.slice(2);
// The newest file format, which knows better compression than the one that old versions can read.
const instance = await DuckDBInstance.create(file, { storage_compatibility_version: 'latest' });
const connection = await instance.connect();
const prepared = new Map<string, Promise<DuckDBPreparedStatement>>();

/** The rows, and the milliseconds that they took. */
async function answer(id: string, sql: string, values: string[]) {
  const startedAt = performance.now();
  const preparing = prepared.get(id) ?? connection.prepare(sql);
  prepared.set(id, preparing);
  const statement = await preparing;
  for (const [index, value] of values.entries()) statement.bindVarchar(index + 1, value);
  const rows = (await statement.runAndReadAll()).getRows();
  return { ms: performance.now() - startedAt, rows };
}

const handlers = {
  version: async () => {
    const reader = await connection.runAndReadAll('SELECT version()');
    return `DuckDB ${String(reader.getRows()[0]?.[0])}`;
  },
  /** Loads a table; the bytes by which the file grew. */
  load: async ({ name, columns, duckdbIndexes = [] }: PeerTable, csv: string) => {
    const before = statSync(file).size;
    await connection.run(`CREATE TABLE ${name} (${columns})`);
    await connection.run(`COPY ${name} FROM '${csv}' (FORMAT csv, HEADER false)`);
    for (const index of duckdbIndexes) await connection.run(`CREATE ${index}`);
    await connection.run('CHECKPOINT');
    return statSync(file).size - before;
  },
  sample: async (...query: [id: string, sql: string, values: string[]]) => (await answer(...query)).ms,
  rows: async (...query: [id: string, sql: string, values: string[]]) =>
    (await answer(...query)).rows.map((row) => row.map(String)),
};
export type DuckDbHandlers = typeof handlers;

serve(handlers);
process.once('disconnect', () => {
  connection.closeSync();
  instance.closeSync();
  process.exit(0);
});
