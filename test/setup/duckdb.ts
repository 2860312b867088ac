import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';

/** A Parquet file as another engine reads it: names and types of its columns, and the values of each row. */
export async function readParquet(bytes: Buffer): Promise<{ columns: string[]; rows: unknown[][] }> {
  const directory = mkdtempSync(join(tmpdir(), 'parquet-'));
  const path = join(directory, 'rows.parquet');
  writeFileSync(path, bytes);
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    const result = await connection.runAndReadAll(`SELECT * FROM read_parquet('${path}')`);
    const types = result.columnTypes().map(String);
    const columns = result.columnNames().map((name, index) => `${name} ${types[index]}`);
    return { columns, rows: result.getRowsJson() };
  } finally {
    connection.closeSync();
    instance.closeSync();
    rmSync(directory, { recursive: true });
  }
}
