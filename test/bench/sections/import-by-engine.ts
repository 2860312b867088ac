/**
 * The engine alone, without this product's code: one INSERT of a file's lines (its arguments: file, lines)
 * into the tables of a store that has their names. It decides nothing, masks nothing, keeps no log and counts
 * repeated lines again, so no import into these tables can be faster. Prints `EngineImport` as JSON.
 */
import { ClickHouse } from '../../../src/store/client/clickhouse.client.js';
import { Config } from '../../../src/config/config.js';
import type { EngineImport } from './import.js';

const STATEMENT_WITHIN_MS = 3_600_000;
/** Rows of a block, about as many as the engine reads at once by default. */
const BLOCK = 65_536;
const THREADS = 2;

const COLUMNS = `
  timestamp String, method LowCardinality(String), url String, path String, status_code UInt16, env LowCardinality(String),
  consumer Tuple(identifier String), request_size_bytes Nullable(Int64), response_size_bytes Nullable(Int64),
  response_time_ms Nullable(Int64), client_ip String, request_headers String, response_headers String,
  request_body_json String, logs String, spans String`;
const RECORD = ['env', 'consumer', 'method', 'path', 'url', 'client_ip']
  .map((name) => `'"${name}":"', ${name === 'consumer' ? 'l.consumer.1' : `l.${name}`}, '",'`)
  .concat(
    ['status_code', 'request_size_bytes', 'response_size_bytes', 'response_time_ms'].map(
      (name) => `'"${name}":', ifNull(toString(l.${name}), 'null'), ','`,
    ),
  )
  .join(', ');
const CAPTURED = ['request_headers', 'response_headers', 'request_body_json', 'logs', 'spans']
  .map((name, index) => `'${index === 0 ? '{' : ','}"${name}":', l.${name}`)
  .join(', ');

const insertFile = (file: string) => `
INSERT INTO requests (app_id, timestamp, request_uuid, app_env_id, endpoint_id, consumer_id, method, status_code,
  request_size_bytes, response_size_bytes, response_time_ms, excluded_from_logs, record_json, captured_json)
SETTINGS max_threads = ${THREADS}, max_insert_threads = ${THREADS}, optimize_on_insert = 0, input_format_parallel_parsing = 0,
  max_block_size = ${BLOCK}, max_insert_block_size = ${BLOCK}, min_insert_block_size_rows = ${BLOCK}, min_insert_block_size_bytes = 0,
  input_format_json_read_arrays_as_strings = 1, input_format_json_read_objects_as_strings = 1
SELECT 1, parseDateTime64BestEffort(l.timestamp, 3, 'UTC'), generateUUIDv4(), envs.id, endpoints.id, consumers.id, l.method, l.status_code,
  ifNull(l.request_size_bytes, -1), ifNull(l.response_size_bytes, -1), ifNull(l.response_time_ms, -1), false,
  concat(${RECORD}, '"client_country_iso_code":null}'),
  if(l.request_headers = '', '', concat(${CAPTURED}, '}'))
FROM file('${file}', 'JSONEachRow', '${COLUMNS}') AS l
LEFT ANY JOIN (SELECT id, name FROM app_envs_v1 FINAL WHERE app_id = 1) AS envs ON envs.name = l.env
LEFT ANY JOIN (SELECT id, method, path FROM endpoints_v1 FINAL WHERE app_id = 1) AS endpoints
  ON endpoints.method = l.method AND endpoints.path = l.path
LEFT ANY JOIN (SELECT id, identifier FROM consumers_v1 FINAL WHERE app_id = 1) AS consumers
  ON consumers.identifier = l.consumer.1`;

const [file = '', lines = ''] = process.argv.slice(2);
const store = await ClickHouse.open(new Config());
try {
  const [startedAt, before] = [performance.now(), process.cpuUsage()];
  await store.command(insertFile(file), undefined, { timeoutMs: STATEMENT_WITHIN_MS });
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(before);
  const counted =
    "SELECT sum(n) AS requests FROM counts_per_day_v1 WHERE app_id = 1 AND measure = 'requests'";
  const [row] = await store.rows<{ requests: number }>('counted', counted);
  if (row?.requests !== 2 * Number(lines))
    throw new Error(`${row?.requests} requests instead of ${lines} of the import and as many of the engine`);
  const figures: EngineImport = {
    linesPerSecond: Math.round(Number(lines) / seconds),
    processorMicroseconds: Number(((user + system) / Number(lines)).toPrecision(3)),
  };
  process.stdout.write(JSON.stringify(figures));
} finally {
  await store.close();
}
