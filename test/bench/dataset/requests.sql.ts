import {
  COLD_ENDPOINTS,
  CONSUMERS,
  ENVS,
  HOT_APP,
  HOT_ENDPOINTS,
  HOT_TENTHS,
  RARE_ENDPOINTS,
  RARE_SHARE,
} from './shape.js';

/** A number from 0 to 1 that belongs to the row and to nothing else: the same data set every time. */
export const unit = (salt: number) => `(bitShiftRight(cityHash64(number, ${salt}), 11) / 9007199254740992.)`;
export const hash = (salt: number) => `cityHash64(number, ${salt})`;

const COMMON_HOT = HOT_ENDPOINTS - RARE_ENDPOINTS;

/** Zipf's law by its inverse: rank k comes with a likelihood of about 1/k. */
const zipf = (count: number, salt: number) =>
  `least(${count}, toUInt32(floor(pow(${count + 1}, ${unit(salt)}))))`;

/** The columns of a request that the traffic is grouped by, and how likely each value is. */
export const APP = `if(${hash(1)} % 10 < ${HOT_TENTHS}, ${HOT_APP}, 2 + intDiv(${hash(1)}, 10) % 4)`;
export const ENV = `multiIf(${unit(2)} < ${ENVS[0].share}, 1, ${unit(2)} < ${ENVS[0].share + ENVS[1].share}, 2, 3)`;
export const RANKED_ENDPOINT = `if(app = ${HOT_APP}, ${zipf(COMMON_HOT, 3)}, ${zipf(COLD_ENDPOINTS, 3)})`;
export const CONSUMER = `((${zipf(CONSUMERS, 4)} * 7919) % ${CONSUMERS}) + 1`;
const ENDPOINT = `if(app = ${HOT_APP} AND ${unit(5)} < ${RARE_SHARE}, ${COMMON_HOT} + 1 + ${hash(5)} % ${RARE_ENDPOINTS}, ${RANKED_ENDPOINT})`;

/** IDs of the tables, from the app's and the number within the app. */
export const endpointId = (app: string, endpoint: string) => `((${app} - 1) * 1000 + ${endpoint})`;
export const envId = (app: string, env: string) => `((${app} - 1) * ${ENVS.length} + ${env})`;
export const consumerId = (app: string, consumer: string) => `((${app} - 1) * ${CONSUMERS} + ${consumer})`;

const RESOURCES = Array.from({ length: HOT_ENDPOINTS / 5 }, (_, index) =>
  index === HOT_ENDPOINTS / 5 - 1 ? 'internal/exports' : `v1/resource-${String(index + 1).padStart(2, '0')}`,
);
export const method = (endpoint: string) =>
  `arrayElement(['GET', 'POST', 'GET', 'PATCH', 'DELETE'], (${endpoint} - 1) % 5 + 1)`;
export const path = (endpoint: string) =>
  `concat('/', arrayElement([${RESOURCES.map((name) => `'${name}'`).join()}], intDiv(${endpoint} - 1, 5) + 1), if((${endpoint} - 1) % 5 >= 2, '/{id}', ''))`;

/**
 * About normally distributed around 0 with a deviation of 0.5; a number of its own for each place in a
 * lambda.
 */
const spread = (salt: number, place = '0') =>
  `(${[0, 1, 2].map((more) => `cityHash64(number, ${salt + more}, ${place}) / 18446744073709551616.`).join(' + ')} - 1.5)`;
/**
 * Milliseconds: each endpoint has a time of its own, from 10 to 330 in the middle, around which its requests
 * are spread.
 */
export const latencyMs = (endpoint: string, place?: string) =>
  `toUInt32(exp(2.3 + (${endpoint} % 8) * 0.5 + ${spread(60, place)}))`;
/** Bytes of a response, likewise: from 150 to 5,000 in the middle. */
export const bytesSent = (endpoint: string, place?: string) =>
  `toUInt32(exp(5 + (${endpoint} % 6) * 0.7 + ${spread(70, place)}))`;

export const STATUS = `multiIf(${unit(6)} < 0.001, 500 + ${hash(6)} % 4, ${unit(6)} < 0.03, 404, ${unit(6)} < 0.05, 422, method = 'POST', 201, method = 'DELETE', 204, 200)`;
const COUNTRIES = ['DE', 'US', 'GB', 'FR', 'IN', 'JP', 'BR', 'NL', 'SE', 'PL']
  .map((code) => `'${code}'`)
  .join();
const IP = `concat(toString(${hash(7)} % 223 + 1), '.', toString(bitShiftRight(${hash(7)}, 8) % 256), '.', toString(bitShiftRight(${hash(7)}, 16) % 256), '.', toString(bitShiftRight(${hash(7)}, 24) % 256))`;
const URL = `concat('https://api.example.com', replaceOne(path, '{id}', toString(${hash(8)} % 1000000)), if(method = 'GET' AND endpoint % 3 = 0, concat('?page=', toString(${hash(8)} % 50)), ''))`;

/** An order of 10 to 59 items: 2 to 8 KB of JSON text in the shape of Request Details. */
const ITEM = `concat('{\\\\"sku\\\\":\\\\"', hex(toUInt32(cityHash64(number, 100 + i))), '\\\\",\\\\"name\\\\":\\\\"', arrayElement(['blue widget', 'green lamp', 'oak table', 'steel bolt'], cityHash64(number, i) % 4 + 1), '\\\\",\\\\"quantity\\\\":', toString(cityHash64(number, 200 + i) % 9 + 1), ',\\\\"price\\\\":\\\\"', toString(cityHash64(number, 300 + i) % 10000), '.50\\\\"}')`;
const BODY = `arrayStringConcat(arrayMap(i -> ${ITEM}, range(toUInt32(14 + ${hash(9)} % 60))), ',')`;
const HEADERS = `[["accept","application/json"],["authorization","******"],["content-type","application/json"],["user-agent","shop-client/3.2 (Linux; x64)"],["x-request-id","`;
const SPAN = `concat('{"span_id":"', lower(hex(cityHash64(number, 400 + s))), '","parent_span_id":null,"name":"SELECT orders","kind":"CLIENT","start_time_ns":', toString(toUnixTimestamp64Milli(timestamp) * 1000000 + s), ',"end_time_ns":', toString(toUnixTimestamp64Milli(timestamp) * 1000000 + 4000000 + s), ',"duration_ns":4000000,"status":"OK","attributes":{"db.system":"postgresql","db.rows":', toString(s * 7), '}}')`;
const LOG = `concat('{"timestamp":"', formatDateTime(timestamp, '%Y-%m-%dT%H:%i:%S'), '.000120Z","message":"Order ', toString(cityHash64(number, 500 + l) % 100000), ' checked","level":"INFO","logger":"shop.orders","file":"orders.py","line":', toString(l * 11 + 40), '}')`;
const CAPTURE = `concat('{"request_headers":${HEADERS}', lower(hex(${hash(10)})), '"]],"response_headers":[["content-type","application/json"],["cache-control","no-store"],["server","shop"]],"request_body_json":"{\\\\"items\\\\":[', ${BODY}, ']}","response_body_json":"{\\\\"id\\\\":', toString(${hash(11)} % 1000000), ',\\\\"status\\\\":\\\\"accepted\\\\"}","trace_id":"', lower(hex(${hash(12)})), lower(hex(${hash(13)})), '","exception":null,"logs":[', arrayStringConcat(arrayMap(l -> ${LOG}, range(3)), ','), '],"spans":[', arrayStringConcat(arrayMap(s -> ${SPAN}, range(4)), ','), ']}')`;

const RECORD = `concat('"env":"', arrayElement([${ENVS.map(({ name }) => `'${name}'`).join()}], env_number),
  '","consumer":', if(consumer_number = 0, 'null', concat('"customer-', toString(consumer_number), '"')),
  ',"method":"', method, '","path":"', path, '","url":"', ${URL}, '","status_code":', toString(status_code),
  ',"request_size_bytes":', if(received = -1, 'null', toString(received)), ',"response_size_bytes":', toString(sent),
  ',"response_time_ms":', toString(time_ms), ',"client_ip":"', ${IP},
  '","client_country_iso_code":"', arrayElement([${COUNTRIES}], ${hash(19)} % 10 + 1), '"}')`;

/**
 * Requests `from` to `to` of the data set of `rows`, through the landing table; times ascend evenly over the
 * logs' days.
 *
 * @param start of the logs, milliseconds since the epoch
 * @param spanMs length of the logs' days
 * @param capturedEach one in `capturedEach` requests was captured
 */
export function insertRequests(of: {
  from: number;
  to: number;
  rows: number;
  start: number;
  spanMs: number;
  capturedEach: number;
}): string {
  const { from, to, rows, start, spanMs, capturedEach } = of;
  return `
INSERT INTO requests (app_id, timestamp, request_uuid, app_env_id, endpoint_id, consumer_id, method, status_code,
  request_size_bytes, response_size_bytes, response_time_ms, excluded_from_logs, record_json, captured_json)
WITH ${APP} AS app, ${ENV} AS env_number, ${ENDPOINT} AS endpoint,
  fromUnixTimestamp64Milli(toInt64(${start} + floor((number + ${unit(14)}) * ${spanMs / rows})), 'UTC') AS timestamp,
  ${method('endpoint')} AS method, ${path('endpoint')} AS path, ${STATUS} AS status_code,
  if(${hash(15)} % 10 = 0, 0, ${CONSUMER}) AS consumer_number,
  if(method = 'GET', -1, toInt64(200 + ${hash(16)} % 4000)) AS received,
  toInt64(${bytesSent('endpoint')}) AS sent, toInt64(${latencyMs('endpoint')}) AS time_ms
SELECT app, timestamp, generateUUIDv4(number), ${envId('app', 'env_number')}, ${endpointId('app', 'endpoint')},
  if(consumer_number = 0, 0, ${consumerId('app', 'consumer_number')}), method, status_code, received, sent, time_ms, false,
  ${RECORD}, if(number % ${capturedEach} = 0, ${CAPTURE}, '')
FROM numbers(${from}, ${to - from})`;
}
