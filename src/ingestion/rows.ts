import type { RequestIds } from './directory.js';
import { dateTime64 } from './ids.js';
import { partsOf } from './lookups.js';
import type { CountRecord, RequestRecord } from './request-record.js';

/** A call of `JSON.stringify` for each row took two thirds more time; more rows in one take no less. */
const ROWS_IN_TEXT = 100;

/**
 * The rows of an insert, one made of each item: texts of many rows each with commas between them, which JSONEachRow
 * passes over.
 */
export function textsOf<T>(items: readonly T[], rowOf: (item: T) => object): string[] {
  return Array.from(partsOf(items, ROWS_IN_TEXT), (part) => JSON.stringify(part.map(rowOf)).slice(1, -1));
}

/** One row of `logged_requests`. */
export function loggedRow(appId: number, record: RequestRecord, ids: RequestIds) {
  const { request_uuid, method, status_code, capture } = record;
  return {
    app_id: appId,
    timestamp: dateTime64(record.timestamp),
    request_uuid,
    app_env_id: ids.app_env_id,
    endpoint_id: ids.endpoint_id,
    consumer_id: ids.consumer_id,
    method,
    status_code,
    record: recordText(record),
    capture,
  };
}

/** One row of `requests`. */
export function requestRow(appId: number, record: RequestRecord, ids: RequestIds) {
  const { request_size_bytes, response_size_bytes, is_noise } = record;
  return Object.assign(loggedRow(appId, record, ids), {
    request_size_bytes: request_size_bytes ?? -1,
    response_size_bytes: response_size_bytes ?? -1,
    is_noise,
  });
}

/**
 * The members of a request log record behind `request_uuid`, and the closing brace, as the API sends them: names and order
 * are the specification's.
 */
function recordText(record: RequestRecord): string {
  const { env, consumer, method, path, url, status_code } = record;
  const { request_size_bytes, response_size_bytes, response_time_ms, client_ip, client_country_iso_code } =
    record;
  const members = {
    env,
    consumer: consumer?.identifier ?? null,
    method,
    path,
    url,
    status_code,
    request_size_bytes,
    response_size_bytes,
    response_time_ms,
    client_ip,
    client_country_iso_code,
  };
  return JSON.stringify(members).slice(1);
}

/** One row of `request_counts`. */
export function countRow(appId: number, count: CountRecord, ids: RequestIds) {
  const { timestamp, requests, bytes_received, bytes_sent } = count;
  return { app_id: appId, timestamp: dateTime64(timestamp), ...ids, requests, bytes_received, bytes_sent };
}
