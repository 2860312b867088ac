/**
 * What no import into these tables can beat: one INSERT of the lines of a combined log, by the engine alone
 * (its arguments: what to insert, and the file). It decides nothing, masks nothing, keeps no log, and counts
 * repeated lines again. Names of environments and endpoints are inserted before, by themselves.
 */
import { Config } from '../../../src/config/config.js';
import { ClickHouse } from '../../../src/store/client/clickhouse.client.js';

const STATEMENT_WITHIN_MS = 3_600_000;
/** Rows of a block, about as many as the engine reads at once by default. */
const BLOCK = 65_536;
const THREADS = 2;

const LINES = (file: string) => `
(SELECT *, replaceRegexpAll(cutQueryString(url), '/[0-9]+', '/{id}') AS path
FROM file('${file}', 'Regexp', 'client_ip String, time String, method String, url String, status_code UInt16, bytes Int64, agent String'))`;
const SETTINGS = `
SETTINGS max_threads = ${THREADS}, max_insert_threads = ${THREADS}, optimize_on_insert = 0, format_regexp_escaping_rule = 'Raw',
  max_block_size = ${BLOCK}, max_insert_block_size = ${BLOCK}, min_insert_block_size_rows = ${BLOCK}, min_insert_block_size_bytes = 0,
  format_regexp = '^(\\\\S+) \\\\S+ \\\\S+ \\\\[([^\\\\]]+)\\\\] "(\\\\S+) (\\\\S+) [^"]*" (\\\\d+) (\\\\d+) "[^"]*" "([^"]*)"$'`;

const insertEnvironment = `
INSERT INTO app_envs_v1 (app_id, id, name) VALUES (1, 1, 'prod')`;
const insertEndpoints = (file: string) => `
INSERT INTO endpoints_v1 (app_id, id, method, path) ${SETTINGS}
SELECT 1, rowNumberInAllBlocks() + 1, method, path FROM (SELECT DISTINCT method, path FROM ${LINES(file)})`;

const RECORD = `concat('"env":"prod","consumer":null,"method":"', l.method, '","path":"', l.path, '","url":', toJSONString(l.url),
  ',"status_code":', toString(l.status_code), ',"request_size_bytes":null,"response_size_bytes":', toString(l.bytes),
  ',"response_time_ms":null,"client_ip":"', l.client_ip, '","client_country_iso_code":null}')`;
const CAPTURED = `concat('{"request_headers":[["user-agent",', toJSONString(l.agent), ']],"response_headers":[],"request_body_json":null,',
  '"response_body_json":null,"trace_id":null,"exception":null,"logs":[],"spans":[]}')`;
const insertRequests = (file: string) => `
INSERT INTO requests (app_id, timestamp, request_uuid, app_env_id, endpoint_id, consumer_id, method, status_code,
  request_size_bytes, response_size_bytes, response_time_ms, excluded_from_logs, record_json, captured_json)
${SETTINGS}
SELECT 1, parseDateTime64BestEffort(replaceOne(l.time, ':', ' '), 3, 'UTC'), generateUUIDv4(), 1, endpoints.id, 0, l.method, l.status_code,
  -1, l.bytes, -1, false, ${RECORD}, ${CAPTURED}
FROM ${LINES(file)} AS l
LEFT ANY JOIN (SELECT id, method, path FROM endpoints_v1 FINAL WHERE app_id = 1) AS endpoints
  ON endpoints.method = l.method AND endpoints.path = l.path`;

const [kind, file = ''] = process.argv.slice(2);
const store = await ClickHouse.open(new Config());
try {
  const statements = kind === 'names' ? [insertEnvironment, insertEndpoints(file)] : [insertRequests(file)];
  for (const statement of statements)
    await store.command(statement, undefined, { timeoutMs: STATEMENT_WITHIN_MS });
  process.stdout.write('done\n');
} finally {
  await store.close();
}
