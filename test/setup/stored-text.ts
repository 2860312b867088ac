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
  const search = createSearch(texts);
  const found = new Set(search(Buffer.from(files.join('\n'))));
  for (const name of files) {
    const path = join(directory, name);
    if (statSync(path).isFile()) for (const text of search(readFileSync(path))) found.add(text);
  }
  return [...found];
}

const NONE: [string, Buffer][] = [];

/**
 * A function that finds those of the texts that are in bytes. It reads the bytes once, however many texts
 * there are. Texts have at least four bytes.
 */
function createSearch(texts: readonly string[]): (bytes: Buffer) => Set<string> {
  // By their last bytes, because many of them begin with the same.
  const byEnd = new Map<number, [text: string, bytes: Buffer][]>();
  const isLast = new Uint8Array(256);
  for (const text of texts) {
    const bytes = Buffer.from(text);
    const end = bytes.readInt32BE(bytes.length - 4);
    byEnd.set(end, [...(byEnd.get(end) ?? []), [text, bytes]]);
    isLast[end & 255] = 1;
  }
  return (bytes) => {
    const found = new Set<string>();
    let end = 0;
    for (let at = 1; at <= bytes.length; at++) {
      const byte = bytes[at - 1]!;
      end = (end << 8) | byte;
      const ending = isLast[byte] === 0 ? undefined : byEnd.get(end);
      for (const [text, sought] of ending ?? NONE)
        if (sought.equals(bytes.subarray(Math.max(0, at - sought.length), at))) found.add(text);
    }
    return found;
  };
}

/** Those of the texts that are in a column of a table, by table. The directory must not be open. */
export async function findInTables(
  directory: string,
  texts: readonly string[],
): Promise<Record<string, string[]>> {
  const store = await ClickHouse.open(new Config({ DATA_DIR: directory }));
  try {
    const found: Record<string, string[]> = {};
    const search = createSearch(texts);
    for (const { name } of await store.rows<{ name: string }>('test.tables', TABLES)) {
      const rows = await store.rows<{ row: string }>(
        'test.row',
        `SELECT toString(tuple(*)) AS row FROM ${name}`,
      );
      const some = search(Buffer.from(rows.map(({ row }) => row).join('\n')));
      if (some.size > 0) found[name] = [...some];
    }
    return found;
  } finally {
    await store.close();
  }
}
