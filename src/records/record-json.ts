import type { RequestRecord } from './request-record.js';

/**
 * The members of a request log after its time and its ID, in the order of the contract, as they are stored.
 */
export interface RecordMembers extends Pick<
  RequestRecord,
  | 'env'
  | 'method'
  | 'path'
  | 'url'
  | 'status_code'
  | 'request_size_bytes'
  | 'response_size_bytes'
  | 'response_time_ms'
  | 'client_ip'
  | 'client_country_iso_code'
> {
  consumer: string | null;
}

/**
 * The stored text of a request log, `record_json`: the members after the head, and the closing brace; null
 * for an unknown time.
 */
export function toRecordJson(record: RequestRecord): string {
  const members: RecordMembers = {
    env: record.env,
    consumer: record.consumer?.identifier ?? null,
    method: record.method,
    path: record.path,
    url: record.url,
    status_code: record.status_code,
    request_size_bytes: record.request_size_bytes,
    response_size_bytes: record.response_size_bytes,
    response_time_ms: record.response_time_ms,
    client_ip: record.client_ip,
    client_country_iso_code: record.client_country_iso_code,
  };
  return JSON.stringify(members).slice(1);
}
