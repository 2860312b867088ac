/**
 * Fills a store with requests that an import finds as known, by the engine alone (its arguments: how many,
 * and whose UUIDs). They are spread evenly over the days of the logs, and one in ten has captured data, as in
 * the lines of the benchmark. Only the tables are filled in which an import looks.
 */
import { Config } from '../../../src/config/config.js';
import { readRequestTime } from '../../../src/shared/hash-uuid.js';
import { ClickHouse } from '../../../src/store/client/clickhouse.client.js';
import { settled } from '../dataset/settled.js';
import { LOG_DAYS } from '../dataset/shape.js';
import type { Identities } from './import-growth.js';

const DAY_MS = 86_400_000;
/** The retention does not cut the oldest ones while the benchmark runs. */
const MARGIN_MS = 3 * 3_600_000;
const CAPTURED_EACH = 10;
const STATEMENT_WITHIN_MS = 3_600_000;

/** Random digits, and the time where `toRequestUuid` has it. */
const OWN_UUID = `concat(substring(h, 1, 8), '-', substring(h, 9, 4), '-8', substring(h, 13, 3), '-8', substring(t, 1, 3), '-', substring(t, 4), '000')`;
/** Random digits alone. */
const FOREIGN_UUID = `concat(substring(h, 1, 8), '-', substring(h, 9, 4), '-4', substring(h, 13, 3), '-8', substring(h, 16, 3), '-', substring(h, 19, 12))`;

const [count, identities] = process.argv.slice(2) as [string, Identities];
const uuid = identities === 'own' ? OWN_UUID : FOREIGN_UUID;
const from = Date.now() - LOG_DAYS * DAY_MS + MARGIN_MS;
const step = (LOG_DAYS * DAY_MS - MARGIN_MS) / Number(count);
const requests = (condition: string) => `
WITH lower(hex(sipHash128(number))) AS h, toUInt64(${from} + floor(number * ${step})) AS ms, lower(hex(ms)) AS t
SELECT 1 AS app_id, toUUID(${uuid}) AS request_uuid, fromUnixTimestamp64Milli(toInt64(ms), 'UTC') AS timestamp
FROM numbers(${count}) WHERE ${condition}`;

const store = await ClickHouse.open(new Config());
try {
  const run = (statement: string) => store.command(statement, undefined, { timeoutMs: STATEMENT_WITHIN_MS });
  await run(`INSERT INTO import_ledger_v1 (app_id, request_uuid, timestamp) ${requests('true')}`);
  await run(
    `INSERT INTO request_details_v1 (app_id, request_uuid, timestamp, in_ledger, captured_json)
     SELECT *, true, '{}' FROM (${requests(`number % ${CAPTURED_EACH} = 0`)})`,
  );
  // Else the engine merges all of them during the import that is measured: it has just got them.
  for (const table of ['import_ledger_v1', 'request_details_v1']) await run(`OPTIMIZE TABLE ${table} FINAL`);
  await settled(store);
  const [row] = await store.rows<{ requests: number; first: string; ms: number }>(
    'known',
    `SELECT count() AS requests, min(request_uuid) AS first, toUnixTimestamp64Milli(argMin(timestamp, request_uuid)) AS ms
     FROM import_ledger_v1`,
  );
  if (row?.requests !== Number(count))
    throw new Error(`${row?.requests} requests are known instead of ${count}`);
  if (identities === 'own' && readRequestTime(row.first) !== row.ms)
    throw new Error(`${row.first} is not made as the product makes UUIDs`);
} finally {
  await store.close();
}
