import type { Bin } from './bins.js';
import type { SpanRecord } from './span-record.js';

/** A consumer as the monitored app names it. */
export interface ConsumerRecord {
  identifier: string;
  name?: string;
  group?: string;
  /** JSON text: an object of changes. A string is set, `null` removes the attribute. */
  attributes?: string;
}

/**
 * One request to be stored, from any source (NDJSON, an access log, a client library).
 * Names and values follow the contract; IDs are not assigned yet.
 */
export interface RequestRecord {
  /** Lower-case, hyphenated. */
  request_uuid: string;
  /** Milliseconds since the Unix epoch, whole. */
  timestamp: number;
  env: string;
  consumer: ConsumerRecord | null;
  /** Upper-case. */
  method: string;
  /** Pattern with parameters in braces; null when no route matched. */
  path: string | null;
  /** Whether the path was inferred from the URL, because the source does not name the route. */
  is_path_inferred: boolean;
  url: string;
  status_code: number;
  request_size_bytes: number | null;
  response_size_bytes: number | null;
  /** Whole milliseconds; null if unknown. */
  response_time_ms: number | null;
  client_ip: string | null;
  client_country_iso_code: string | null;
  /** A static asset or a health check (docs/contract.md#assets-and-health-checks): counted, never logged. */
  excluded_from_logs: boolean;
  /**
   * The captured data, as the JSON text of one object with exactly the members that Request Details adds to a
   * request log record, in the contract's order: request_headers, response_headers, request_body_json,
   * response_body_json, trace_id, exception, logs, spans. Text, so that 64-bit integers keep their digits.
   * Empty when nothing was captured.
   */
  captured_json: string;
  /**
   * The rows of the captured spans, where another thread redacted the record and made them: megabytes of
   * spans take long to read. A record with them is not redacted again.
   */
  redactedSpans?: readonly SpanRecord[];
}

/**
 * Requests that were counted but not logged: sums over one endpoint, consumer, status and environment, at one
 * time.
 */
export interface CountRecord {
  /** Milliseconds since the Unix epoch, whole; the sums belong to its minute. */
  timestamp: number;
  env: string;
  consumer: ConsumerRecord | null;
  method: string;
  path: string | null;
  /** 0 if unknown. */
  status_code: number;
  /** False: the path is counted under its endpoint only if the endpoint exists. */
  registersPath?: boolean;
  requests: number;
  bytes_received: number;
  bytes_sent: number;
  /** Distribution of the requests; those with an unknown time or size are in no bin of that measure. */
  bins: Bin[];
}
