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

/**
 * The rows of a statement on a CSV file with a header, read strictly by RFC 4180, which is the view `rows` to
 * it. Values are texts; null is what is empty without quotes.
 */
export async function queryCsv(bytes: Buffer, statement: string): Promise<unknown[][]> {
  const names = bytes.toString('utf8', 0, bytes.indexOf('\r\n')).split(',');
  const columns = names.map((name) => `'${name}': 'VARCHAR'`).join();
  const options = `columns = {${columns}}, header = true, delim = ',', quote = '"', escape = '"', new_line = '\\r\\n',
    auto_detect = false, allow_quoted_nulls = false, max_line_size = 100000000`;
  return (await run(bytes, [statement], (path) => `read_csv('${path}', ${options})`)).getRowsJson();
}

/** The rows of a statement on lines of JSON, which are the view `rows` to it. */
export async function queryNdjson(bytes: Buffer, statement: string): Promise<unknown[][]> {
  const reader = (path: string) => `read_json('${path}', format = 'newline_delimited')`;
  return (await run(bytes, [statement], reader)).getRowsJson();
}

async function run(
  bytes: Buffer,
  statements: readonly string[],
  reader = (path: string) => `read_parquet('${path}')`,
): Promise<DuckDBResultReader> {
  const directory = mkdtempSync(join(tmpdir(), 'rows-'));
  const path = join(directory, 'rows');
  writeFileSync(path, bytes);
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run(`CREATE VIEW rows AS SELECT * FROM ${reader(path)}`);
    for (const statement of statements.slice(0, -1)) await connection.run(statement);
    return await connection.runAndReadAll(statements.at(-1)!);
  } finally {
    connection.closeSync();
    instance.closeSync();
    rmSync(directory, { recursive: true });
  }
}
