import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance, type DuckDBResultReader } from '@duckdb/node-api';

/** A Parquet file as another engine reads it: names and types of its columns, and the values of each row. */
export async function readParquet(bytes: Buffer): Promise<{ columns: string[]; rows: unknown[][] }> {
  const result = await run(bytes, ['SELECT * FROM rows']);
  const types = result.columnTypes().map(String);
  const columns = result.columnNames().map((name, index) => `${name} ${types[index]}`);
  return { columns, rows: result.getRowsJson() };
}

/** The rows of the last of several statements on a Parquet file, which is the view `rows` to them. */
export async function queryParquet(bytes: Buffer, statements: readonly string[]): Promise<unknown[][]> {
  return (await run(bytes, statements)).getRowsJson();
}

async function run(bytes: Buffer, statements: readonly string[]): Promise<DuckDBResultReader> {
  const directory = mkdtempSync(join(tmpdir(), 'parquet-'));
  const path = join(directory, 'rows.parquet');
  writeFileSync(path, bytes);
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run(`CREATE VIEW rows AS SELECT * FROM read_parquet('${path}')`);
    for (const statement of statements.slice(0, -1)) await connection.run(statement);
    return await connection.runAndReadAll(statements.at(-1)!);
  } finally {
    connection.closeSync();
    instance.closeSync();
    rmSync(directory, { recursive: true });
  }
}
