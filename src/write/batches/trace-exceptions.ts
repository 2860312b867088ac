import { logsRetainedFrom } from '../../config/retention.js';
import { HAS_NO_EXCEPTION, TRACE_AFTER_MS, selectExceptions } from '../../records/request-exceptions.js';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { type ErrorRow, toErrorRow } from '../error-row.js';

/** Requests of this long before are looked at each time, and all whose trace may still grow at times. */
const RECENT_MS = 900_000;
const ALL_EVERY_MS = 3_600_000;
/** Rows of one batch: a stack trace has up to 64 KiB. */
const MAX_ROWS = 200;

const IN_TIME = `timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC') AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')`;
const DUE = `
SELECT DISTINCT app_id FROM request_logs_v1
WHERE ${IN_TIME} AND ${HAS_NO_EXCEPTION}
ORDER BY app_id`;
const NOT_COUNTED = `app_id = {app_id:UInt32} AND ${IN_TIME}
        AND request_uuid NOT IN (SELECT request_uuid FROM errors_v1 WHERE app_id = {app_id:UInt32} AND ${IN_TIME})`;
/** The path is in the JSON of the record alone. */
const FOUND = `
SELECT toUnixTimestamp64Milli(r.timestamp) AS at, toString(r.request_uuid) AS request_uuid, r.app_env_id AS app_env_id,
  r.endpoint_id AS endpoint_id, r.consumer_id AS consumer_id, toString(r.method) AS method,
  JSONExtract(concat('{', r.record_json), 'path', 'Nullable(String)') AS path, lower(hex(r.trace_id)) AS trace_id,
  f.found_type AS type, f.found_message AS message, f.found_stacktrace AS stacktrace
FROM request_logs_v1 AS r
INNER JOIN (${selectExceptions(NOT_COUNTED)}
) AS f ON f.timestamp = r.timestamp AND f.request_uuid = r.request_uuid
WHERE r.app_id = {app_id:UInt32} AND r.timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
  AND r.timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC') AND r.status_code >= 500 AND isNull(r.exception_type)
ORDER BY r.timestamp, r.request_uuid
LIMIT 1 BY r.request_uuid
LIMIT {limit:UInt32}`;

interface FoundRow {
  at: number;
  request_uuid: string;
  app_env_id: number;
  endpoint_id: number;
  consumer_id: number;
  method: string;
  path: string | null;
  trace_id: string;
  type: string;
  message: string;
  stacktrace: string;
}

/** Requests by their time, in milliseconds since the epoch. */
interface Window {
  readonly start: number;
  readonly end: number;
}

/**
 * Exceptions of failed requests that are in their traces: in spans below, or in log records, which come in
 * any order and in other bodies (docs/contract.md#exceptions). So they are counted as errors once the trace
 * had time to arrive; the request in `errors_v1` shows that it is counted.
 */
export class TraceExceptions {
  private allAt = -Infinity;

  /** @param delayMs how long a trace may take to arrive */
  constructor(
    private readonly store: ClickHouse,
    private readonly delayMs: number,
  ) {}

  /** The apps that may have such exceptions, and the window of their requests. */
  async findDue(now = Date.now()): Promise<{ appIds: number[]; window: Window }> {
    const isAll = now >= this.allAt + ALL_EVERY_MS;
    const end = now - this.delayMs;
    const start = end - (isAll ? TRACE_AFTER_MS : RECENT_MS);
    const window = { start: Math.max(start, logsRetainedFrom(now)), end };
    const due = await this.store.rows<{ app_id: number }>('errors.due', DUE, { ...window });
    if (isAll) this.allAt = now;
    return { appIds: due.map(({ app_id }) => app_id), window };
  }

  /** Exceptions of an app that are not counted, as rows of `reported_errors`; not always all of them. */
  async find(app_id: number, window: Window): Promise<ErrorRow[]> {
    const params = { app_id, ...window, limit: MAX_ROWS };
    const found = await this.store.rows<FoundRow>('errors.in_traces', FOUND, params);
    return found.map(({ at, app_env_id, endpoint_id, consumer_id, ...error }) =>
      toErrorRow(
        app_id,
        { ...error, timestamp: at, kind: 'exception', location: [], sentry_event_id: '', errors: 1 },
        { app_env_id, endpoint_id, consumer_id },
      ),
    );
  }
}
