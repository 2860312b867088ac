import { Injectable } from '@nestjs/common';
import type { CapturedException } from '../../records/capture.js';
import { AppScopedStore } from '../apps/app-scoped-store.js';
import type { AppScope } from '../apps/apps.service.js';
import { IN_RANGE } from './export/export-conditions.js';
import { TRACE_AFTER_MS, TRACE_BEFORE_MS, selectExceptions } from '../../records/request-exceptions.js';

/** A span of a trace; `attributes` is JSON text, times are decimal digits. */
export interface TraceSpan {
  span_id: string;
  parent_span_id: string;
  name: string;
  kind: string;
  status: string;
  start_time_ns: string;
  end_time_ns: string;
  duration_ns: string;
  attributes: string;
}

/** What says which request a log record belongs to. */
export interface LogPlace {
  span_id: string;
  server_span_id: string;
}

export interface TraceLog extends LogPlace {
  timestamp_ns: string;
  level: string;
  message: string;
  logger: string;
  file: string;
  line: number;
  /** JSON text; undefined if it was not asked for. */
  attributes?: string;
}

/** Enough for details; the trace of a batch job can have many more. */
const MAX_SPANS = 10_000;
export const MAX_LOGS = 10_000;
/** Spans whose log records are counted if there are more than are read. */
const MAX_PLACES = 100_000;

/** The bounds on the time let the primary key skip other days; the index finds the trace in the rest. */
const SPANS = `
SELECT lower(hex(span_id)) AS span_id, lower(hex(parent_span_id)) AS parent_span_id, name, toString(kind) AS kind,
  toString(status) AS status, toString(s.start_time_ns) AS start_time_ns,
  toString(s.start_time_ns + s.duration_ns) AS end_time_ns, toString(s.duration_ns) AS duration_ns, attributes
FROM spans_v1 AS s
WHERE app_id = {app_id:UInt32}
  AND s.start_time_ns >= {from:Int64} * 1000000 AND s.start_time_ns < {to:Int64} * 1000000
  AND trace_id = toFixedString(unhex({trace_id:String}), 16)
ORDER BY s.start_time_ns, s.span_id
LIMIT 1 BY s.span_id
LIMIT {limit:UInt32}`;
/** A record that was sent in several bodies has several rows. */
const LOGS = (withAttributes: boolean) => `
SELECT lower(hex(span_id)) AS span_id, lower(hex(server_span_id)) AS server_span_id,
  toString(l.timestamp_ns) AS timestamp_ns, level, message, logger, file, line${withAttributes ? ', attributes' : ''}
FROM application_logs_v1 AS l
WHERE app_id = {app_id:UInt32} AND trace_id = toFixedString(unhex({trace_id:String}), 16)
  AND l.timestamp_ns >= {from:Int64} * 1000000 AND l.timestamp_ns < {to:Int64} * 1000000
ORDER BY l.timestamp_ns
LIMIT 1 BY l.record_hash
LIMIT {limit:UInt32}`;

const LOG_COUNTS = `
SELECT lower(hex(l.span_id)) AS span_id, lower(hex(l.server_span_id)) AS server_span_id,
  uniqExact(l.record_hash) AS logs
FROM application_logs_v1 AS l
WHERE app_id = {app_id:UInt32} AND trace_id = toFixedString(unhex({trace_id:String}), 16)
  AND l.timestamp_ns >= {from:Int64} * 1000000 AND l.timestamp_ns < {to:Int64} * 1000000
GROUP BY ALL
LIMIT {limit:UInt32}`;

const EXCEPTION = `
SELECT found_type AS type, found_message AS message, found_stacktrace AS stacktrace
FROM (${selectExceptions(`${IN_RANGE} AND request_uuid = {request_uuid:UUID}`)}
)`;

/** Other requests whose spans or log records may be in the same time range. */
const OTHERS = `
SELECT 1 AS found FROM request_logs_v1
WHERE app_id = {app_id:UInt32} AND consumer_id != {scope_consumer_id:Int64}
  AND timestamp >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND timestamp < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
  AND trace_id = toFixedString(unhex({trace_id:String}), 16)
LIMIT 1`;

/** Reads the spans and log records of a request's trace. */
@Injectable()
export class RequestTraceRepository {
  constructor(private readonly store: AppScopedStore) {}

  /** @param timestamp of the request, in milliseconds since the epoch */
  findSpans(scope: AppScope, trace_id: string, timestamp: number): Promise<TraceSpan[]> {
    const params = { trace_id, ...findWindow(timestamp), limit: MAX_SPANS };
    return this.store.rows<TraceSpan>(scope, 'request_logs.spans', SPANS, params);
  }

  /** The exception in its trace of a failed request that recorded none itself. */
  async findException(
    scope: AppScope,
    request_uuid: string,
    timestamp: number,
  ): Promise<CapturedException | undefined> {
    const params = { request_uuid, start: timestamp, end: timestamp + 1 };
    const [found] = await this.store.rows<Omit<CapturedException, 'tracker_event_id'>>(
      scope,
      'request_logs.exception',
      EXCEPTION,
      params,
    );
    return found && { ...found, tracker_event_id: null };
  }

  /**
   * Whether a trace has requests outside of the scope's only consumer; false for a scope of all consumers.
   */
  async isShared(scope: AppScope, trace_id: string, timestamp: number): Promise<boolean> {
    if (scope.consumerId === undefined) return false;
    const window = { from: timestamp - TRACE_AFTER_MS, to: timestamp + TRACE_AFTER_MS };
    const params = { trace_id, scope_consumer_id: scope.consumerId, ...window };
    return (await this.store.rows(scope, 'request_logs.trace_others', OTHERS, params)).length > 0;
  }

  findLogs(
    scope: AppScope,
    trace_id: string,
    timestamp: number,
    withAttributes: boolean,
  ): Promise<TraceLog[]> {
    const params = { trace_id, ...findWindow(timestamp), limit: MAX_LOGS };
    return this.store.rows<TraceLog>(scope, 'request_logs.trace_logs', LOGS(withAttributes), params);
  }

  /** How many log records the trace has, by their place. */
  countLogs(scope: AppScope, trace_id: string, timestamp: number): Promise<(LogPlace & { logs: number })[]> {
    const params = { trace_id, ...findWindow(timestamp), limit: MAX_PLACES };
    return this.store.rows(scope, 'request_logs.trace_log_counts', LOG_COUNTS, params);
  }
}

function findWindow(timestamp: number): { from: number; to: number } {
  return { from: timestamp - TRACE_BEFORE_MS, to: timestamp + TRACE_AFTER_MS };
}
