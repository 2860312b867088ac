import { randomUUID } from 'node:crypto';
import type { RequestRecord } from '../../src/records/request-record.js';

/** A request of a minute ago; say only what the test is about. */
export function buildRequest(overrides: Partial<RequestRecord> = {}): RequestRecord {
  return {
    request_uuid: randomUUID(),
    timestamp: Date.now() - 60_000,
    env: 'prod',
    consumer: null,
    method: 'GET',
    path: '/users/{id}',
    is_path_inferred: false,
    url: 'https://api.example.com/users/7',
    status_code: 200,
    request_size_bytes: 0,
    response_size_bytes: 100,
    response_time_ms: 12,
    client_ip: '203.0.113.7',
    client_country_iso_code: 'DE',
    excluded_from_logs: false,
    captured_json: '',
    ...overrides,
  };
}

/** What a request may do without. */
export const ABSENT = {
  consumer: null,
  path: null,
  request_size_bytes: null,
  response_size_bytes: null,
  client_ip: null,
  client_country_iso_code: null,
} satisfies Partial<RequestRecord>;
