import { EVENT_SEPARATOR } from './capture.js';
import { MAX_MESSAGE, MAX_STACKTRACE, MAX_TYPE } from './limits.js';

/**
 * Spans and log records of a trace may begin this long before the start of their request, because clocks
 * differ, and this long after it.
 */
export const TRACE_BEFORE_MS = 60_000;
export const TRACE_AFTER_MS = 24 * 3_600_000;

/**
 * Matches the attributes of a SERVER span that is an HTTP request. No JSON string contains such a name
 * unescaped.
 */
export const HAS_METHOD = '"http[.](?:request[.])?method":';
const IS_REQUEST = `(s.kind = 'SERVER' AND match(s.attributes, '${HAS_METHOD}'))`;

/** Spans between an exception and its request; with more there may be a circle. */
const MAX_STEPS = 100;

/** Whether the exception of a request may be in its trace. */
export const HAS_NO_EXCEPTION = `(status_code >= 500 AND isNull(exception_type) AND trace_id != toFixedString('', 16))`;

/** The half of the UUID of a span's request that is made of the span, as `hashSpan` makes it. */
const SPAN_HALF = `(lower(hex(SHA256(concat(lower(hex(a.trace_id)), lower(hex(a.span_id)))))) AS digest,
      concat(substring(digest, 1, 8), '-', substring(digest, 9, 4), '-8', substring(digest, 13, 3))).2`;
const member = (name: string) => `JSONExtractString(attributes, 'exception.${name}')`;
/** The attributes of the last exception among the events of a span. */
const IN_EVENTS = `JSONExtractRaw(arrayLast(event -> JSONExtractString(event, 'name') = 'exception',
        splitByString('${EVENT_SEPARATOR}', substring(r.json, 2, length(r.json) - 2))), 'attributes')`;
const EXCEPTION = `(
        substringUTF8(if(${member('type')} = '', 'Error', ${member('type')}), 1, ${MAX_TYPE}),
        substringUTF8(${member('message')}, 1, ${MAX_MESSAGE}), substringUTF8(${member('stacktrace')}, 1, ${MAX_STACKTRACE})
      )`;
/** Later nanoseconds exceed 64 bits, and a window may end then. */
const END = Date.UTC(2200, 0, 1);
const inTime = (column: string) =>
  `${column} >= ({start:Int64} - ${TRACE_BEFORE_MS}) * 1000000 AND ${column} < (least({end:Int64}, ${END}) + ${TRACE_AFTER_MS}) * 1000000`;

/**
 * The exceptions of failed requests that recorded none themselves (docs/contract.md#exceptions): columns
 * `timestamp`, `request_uuid`, and the exception's `found_type`, `found_message` and `found_stacktrace`.
 *
 * @param where condition on `request_logs_v1`; its window is {start} to {end}
 */
export const selectExceptions = (where: string) => `
    WITH RECURSIVE failed AS (
      SELECT timestamp, request_uuid, trace_id FROM request_logs_v1
      WHERE ${where}
        AND ${HAS_NO_EXCEPTION}
    ),
    spans AS (
      SELECT s.trace_id AS trace_id, s.span_id AS span_id, s.parent_span_id AS parent_span_id, ${IS_REQUEST} AS is_request
      FROM spans_v1 AS s
      WHERE s.app_id = {app_id:UInt32} AND ${inTime('s.start_time_ns')}
        AND s.trace_id IN (SELECT trace_id FROM failed)
      LIMIT 1 BY s.trace_id, s.span_id
    ),
    recorded AS (
      SELECT l.trace_id AS trace_id, if(l.server_span_id = toFixedString('', 8), l.span_id, l.server_span_id) AS span_id,
        l.timestamp_ns AS at, l.attributes AS json, false AS is_span
      FROM application_logs_v1 AS l
      WHERE l.app_id = {app_id:UInt32} AND ${inTime('l.timestamp_ns')}
        AND l.trace_id IN (SELECT trace_id FROM failed)
        AND multiSearchAny(l.attributes, ['"exception.type":"', '"exception.message":"'])
      UNION ALL
      SELECT s.trace_id AS trace_id, s.span_id AS span_id, s.start_time_ns AS at, s.events AS json, true AS is_span
      FROM spans_v1 AS s
      WHERE s.app_id = {app_id:UInt32} AND ${inTime('s.start_time_ns')}
        AND s.trace_id IN (SELECT trace_id FROM failed)
        AND s.status = 'ERROR' AND NOT ${IS_REQUEST} AND position(s.events, '"name":"exception"') > 0
    ),
    above AS (
      SELECT trace_id, span_id, toUInt16(0) AS steps, groupArray(at) AS times, span_id AS of FROM recorded GROUP BY trace_id, span_id
      UNION ALL
      SELECT a.trace_id, s.parent_span_id, toUInt16(a.steps + 1), a.times, a.of
      FROM above AS a INNER JOIN spans AS s ON s.trace_id = a.trace_id AND s.span_id = a.span_id
      WHERE NOT s.is_request AND a.steps < ${MAX_STEPS}
    ),
    in_time AS (
      SELECT f.timestamp AS timestamp, f.request_uuid AS request_uuid, a.trace_id AS trace_id, a.of AS of, a.steps AS steps,
        toUnixTimestamp64Milli(f.timestamp) AS began_at,
        arrayMax(arrayFilter(
          time -> time >= (began_at - ${TRACE_BEFORE_MS}) * 1000000 AND time < (began_at + ${TRACE_AFTER_MS}) * 1000000, a.times
        )) AS last
      FROM above AS a INNER JOIN failed AS f ON f.trace_id = a.trace_id AND substring(toString(f.request_uuid), 1, 18) = ${SPAN_HALF}
    ),
    nearest AS (
      SELECT timestamp, request_uuid, trace_id, argMax((of, last), (-steps, last, of)) AS found, found.1 AS span_id, found.2 AS at
      FROM in_time WHERE last > 0 GROUP BY timestamp, request_uuid, trace_id
    )
    SELECT n.timestamp AS timestamp, n.request_uuid AS request_uuid,
      if(r.is_span, ${IN_EVENTS}, r.json) AS attributes, ${EXCEPTION} AS exception,
      toNullable(exception.1) AS found_type, toNullable(exception.2) AS found_message, toNullable(exception.3) AS found_stacktrace
    FROM recorded AS r INNER JOIN nearest AS n ON r.trace_id = n.trace_id AND r.span_id = n.span_id AND r.at = n.at
    WHERE ${member('type')} != '' OR ${member('message')} != ''
    ORDER BY exception DESC
    LIMIT 1 BY n.timestamp, n.request_uuid`;
