import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { Config } from '../../src/config/config.js';

const TABLES = `
SELECT name FROM system.tables
WHERE database = currentDatabase() AND engine LIKE '%MergeTree' ORDER BY name`;

/**
 * Those of the texts that are in a file of the directory, or in its name, byte for byte; most data in it is
 * compressed.
 */
export function findInFiles(directory: string, texts: readonly string[]): string[] {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  const found = new Set(texts.filter((text) => files.some((name) => name.includes(text))));
  for (const name of files) {
    const path = join(directory, name);
    if (!statSync(path).isFile()) continue;
    const bytes = readFileSync(path);
    for (const text of texts) if (bytes.includes(text)) found.add(text);
  }
  return [...found];
}

/** Those of the texts that are in a column of a table, by table. The directory must not be open. */
export async function findInTables(
  directory: string,
  texts: readonly string[],
): Promise<Record<string, string[]>> {
  const store = await ClickHouse.open(new Config({ DATA_DIR: directory }));
  try {
    const found: Record<string, string[]> = {};
    for (const { name } of await store.rows<{ name: string }>('test.tables', TABLES)) {
      const rows = await store.rows<{ row: string }>(
        'test.row',
        `SELECT toString(tuple(*)) AS row FROM ${name}`,
      );
      const all = rows.map(({ row }) => row).join('\n');
      const some = texts.filter((text) => all.includes(text));
      if (some.length > 0) found[name] = some;
    }
    return found;
  } finally {
    await store.close();
  }
}
