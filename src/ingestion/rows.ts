import type { RequestIds } from './directory.js';
import { dateTime64 } from './ids.js';
import type { CountRecord, RequestRecord } from './request-record.js';

/** One row of `logged_requests`; absent values as that table writes them. */
export function loggedRow(appId: number, record: RequestRecord, ids: RequestIds) {
  return {
    app_id: appId,
    timestamp: dateTime64(record.timestamp),
    request_uuid: record.request_uuid,
    ...ids,
    env: record.env,
    consumer: record.consumer?.identifier ?? '',
    method: record.method,
    path: record.path ?? '',
    url: record.url,
    status_code: record.status_code,
    request_size_bytes: record.request_size_bytes ?? -1,
    response_size_bytes: record.response_size_bytes ?? -1,
    response_time_ms: record.response_time_ms,
    client_ip: record.client_ip ?? '',
    client_country_iso_code: record.client_country_iso_code ?? '',
    capture: record.capture,
  };
}

/** One row of `request_counts`. */
export function countRow(appId: number, count: CountRecord, ids: RequestIds) {
  const { timestamp, requests, bytes_received, bytes_sent } = count;
  return { app_id: appId, timestamp: dateTime64(timestamp), ...ids, requests, bytes_received, bytes_sent };
}
