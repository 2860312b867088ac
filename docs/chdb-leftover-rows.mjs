// Shows a fault of the `chdb` package (3.4.0, engine 26.7.2.1) with nothing else: after a query that fails
// behind its first rows, the next query of the same session returns the rows of the failed one in front of
// its own.
//
//     node docs/chdb-leftover-rows.mjs
//
// Expected: each "next query" returns {"ok":1}. Seen: up to megabytes of the failed query's rows before it.
// Errors before the first block is formatted leave nothing. Closing the session and opening another one
// removes the rows.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Session } from 'chdb';

const FAILING = {
  'result limit (396)': `SELECT n, text FROM t SETTINGS max_result_bytes = 8000000, result_overflow_mode = 'throw'`,
  'read limit (307)': `SELECT n, text FROM t SETTINGS max_bytes_to_read = 16000000, read_overflow_mode = 'throw'`,
  'time limit (159)': `SELECT n, text, sleepEachRow(0.00002) FROM t
    SETTINGS max_execution_time = 1, timeout_overflow_mode = 'throw', max_block_size = 1000`,
  'memory limit (241)': 'SELECT n, repeat(text, 10) FROM t SETTINGS max_memory_usage = 64000000',
  'error of a function (395)': 'SELECT n, text, throwIf(n = 299999) FROM t',
};

const directory = mkdtempSync(join(tmpdir(), 'chdb-leftover-rows-'));
const session = new Session(directory);
try {
  await session.queryAsync('CREATE TABLE t (n UInt32, text String) ENGINE = MergeTree ORDER BY n');
  await session.queryAsync(`INSERT INTO t SELECT number, repeat('x', 80) FROM numbers(300000)`);
  for (const [name, query] of Object.entries(FAILING)) {
    const error = await session.queryAsync(`${query} FORMAT JSONEachRow`).then(
      () => 'no error',
      ({ message }) => message.slice(0, 40),
    );
    const next = (await session.queryAsync('SELECT 1 AS ok FORMAT JSONEachRow')).text();
    console.log(`${name}: ${error}…; next query returned ${next.length} bytes: ${next.slice(0, 20)}…`);
  }
} finally {
  session.close();
  rmSync(directory, { recursive: true });
}
