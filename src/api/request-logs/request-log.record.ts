import { EXAMPLES } from '../../platform/openapi/examples.js';
import { EMPTY_CAPTURE_JSON } from '../../records/capture.js';
import type { RequestLog } from './request-logs.dto.js';

/*
 * The wire format of a request log, which `RequestLog` documents: its head is made of columns, and the other
 * members are stored as the text that is sent.
 */

type Head = Pick<RequestLog, 'timestamp' | 'request_uuid'>;

/** The head of a record as JSON text, up to the comma before the stored members. */
export const RECORD_HEAD_SQL = `'{"timestamp":"', replaceOne(toString(timestamp), ' ', 'T'), 'Z","request_uuid":"', toString(request_uuid), '",'`;
const EXAMPLE: Head = { timestamp: EXAMPLES.timestamp, request_uuid: EXAMPLES.request_uuid };

/**
 * Bytes from the beginning of a record to the end of its UUID; records with equal bytes there are the same
 * request.
 */
export const KEY_LENGTH = JSON.stringify(EXAMPLE).length - 1;

/** Replaces null of numbers by 0. No JSON string contains such a member. */
const replaceNulls = (sql: string, names: readonly (keyof RequestLog)[]) =>
  names.reduce((text, name) => `replaceOne(${text}, '"${name}":null', '"${name}":0')`, sql);

/** A row of `request_logs_v1` as a record's JSON text, which has 0 for an unknown time. */
export const RECORD_SQL = `concat(${RECORD_HEAD_SQL}, ${replaceNulls('record_json', ['response_time_ms'])})`;

/** Details also have 0 for an unknown size, because public clients do not accept null. */
const OPEN_MEMBERS = replaceNulls('substring(record_json, 1, length(record_json) - 1)', [
  'response_time_ms',
  'request_size_bytes',
  'response_size_bytes',
]);

const NULL_TRACE_ID = '"trace_id":null';
const [BEFORE_TRACE_ID, AFTER_TRACE_ID] = EMPTY_CAPTURE_JSON.split(NULL_TRACE_ID);

/**
 * What was captured of a row of `request_logs_v1`, as JSON text.
 *
 * @param stored SQL of the stored text; empty if nothing but the trace ID was captured
 */
export const toCaptureSql = (stored: string) =>
  `if(${stored} = '', concat('${BEFORE_TRACE_ID}"trace_id":', if(trace_id = toFixedString('', 16), 'null', concat('"', lower(hex(trace_id)), '"')), '${AFTER_TRACE_ID}'), ${stored})`;

/** The record's JSON text for Request Details, without the closing brace. */
export const OPEN_RECORD_SQL = `${RECORD_HEAD_SQL}, ${OPEN_MEMBERS}`;
