import type { Child } from '../rpc.js';
import type { ServerHandlers } from '../server/server.js';

/** One of the engine's tables. */
export interface TableSize {
  table: string;
  parts: number;
  rows: number;
  bytes: number;
}

/** Parts and bytes on disk of every table that grows with the requests. */
export async function measureStorage(server: Child<ServerHandlers>): Promise<TableSize[]> {
  const text = await server.call(
    'sql',
    `SELECT table, count(), sum(rows), sum(bytes_on_disk) FROM system.parts
     WHERE active AND database = currentDatabase()
       AND (table LIKE 'request%' OR table LIKE 'counts%' OR table LIKE 'import%' OR table LIKE 'error%' OR table LIKE 'instance%')
     GROUP BY table ORDER BY table`,
  );
  return text
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [table = '', ...numbers] = line.split('\t');
      const [parts = 0, rows = 0, bytes = 0] = numbers.map(Number);
      return { table, parts, rows, bytes };
    });
}
