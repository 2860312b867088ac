import type { FilterColumn } from '../../../queries/filters/comparison.js';
import type { ExportField } from './export.input.js';

/** The members of a stored record that have no column, and their types. */
export const RECORD = {
  env: 'String',
  consumer: 'Nullable(String)',
  path: 'Nullable(String)',
  url: 'String',
  client_ip: 'Nullable(String)',
} as const;

const EXCEPTION =
  'Tuple(message Nullable(String), stacktrace Nullable(String), tracker_event_id Nullable(String))';

/** The members of a capture and their types. Without a capture, texts are null and headers are empty. */
export const CAPTURE = {
  request_headers: 'Array(Tuple(String, String))',
  response_headers: 'Array(Tuple(String, String))',
  request_body_json: 'Nullable(String)',
  response_body_json: 'Nullable(String)',
  exception: EXCEPTION,
} as const;

/**
 * The capture up to its logs. ClickHouse rejects JSON with numbers out of range, and span attributes can
 * contain them. So we read only the text before `"logs"`; logs and spans come last, and no JSON string
 * contains such a name unescaped.
 */
export const BEFORE_LOGS = `concat(substring(captured_json, 1, position(captured_json, ',"logs":[') - 1), '}')`;

export type Member =
  { from: 'record'; name: keyof typeof RECORD } | { from: 'capture'; name: keyof typeof CAPTURE };

/** A value of a row. */
interface ExportColumn extends FilterColumn {
  /** The member that the value is read from, if there is no column. */
  readonly member?: Member;
  /** Its value if columns have types; by default `sql`. */
  readonly typed?: string;
  /** Its value in a row, if it differs from the value for filters. */
  readonly shown?: string;
  /** Its JSON text, if it is not made from the value. */
  readonly json?: string;
}

/** Fields whose value may be in the trace of the request. */
export const EXCEPTION_FIELDS: ReadonlySet<ExportField> = new Set([
  'exception_type',
  'exception_message',
  'exception_stacktrace',
]);

/** Public clients read signed 32-bit integers, so a longer time is clamped. */
const SHORT_TIME = 'toInt32(least(response_time_ms, 2147483647))';
const TRACE = `nullIf(lower(hex(trace_id)), '${'0'.repeat(32)}')`;

export const EXPORT_COLUMNS: Readonly<Record<ExportField, ExportColumn>> = {
  timestamp: {
    sql: 'toUnixTimestamp64Milli(timestamp)',
    shown: 'timestamp',
    json: `concat('"', replaceOne(toString(timestamp), ' ', 'T'), 'Z"')`,
  },
  request_uuid: {
    sql: 'request_uuid',
    shown: 'toString(request_uuid)',
    json: `concat('"', toString(request_uuid), '"')`,
  },
  trace_id: nullable(TRACE, 'Nullable(String)'),
  env: fromRecord('env', 'consumer'),
  method: { sql: 'method', shown: 'toString(method)', json: 'toJSONString(method)' },
  path: fromRecord('path', 'url'),
  url: fromRecord('url', 'status_code'),
  consumer_id: {
    sql: 'consumer_id',
    isNull: 'consumer_id = 0',
    shown: 'nullIf(toInt64(consumer_id), 0)',
    json: `if(consumer_id = 0, 'null', toString(consumer_id))`,
  },
  consumer: fromRecord('consumer', 'method'),
  request_headers: fromCapture('request_headers'),
  request_size_bytes: size('request_size_bytes'),
  request_body_json: fromCapture('request_body_json'),
  status_code: { sql: 'status_code', shown: 'toInt32(status_code)' },
  response_time_ms: { sql: 'response_time_ms', typed: SHORT_TIME },
  response_headers: fromCapture('response_headers'),
  response_size_bytes: size('response_size_bytes'),
  response_body_json: fromCapture('response_body_json'),
  client_ip: fromRecord('client_ip', 'client_country_iso_code'),
  client_country_iso_code: {
    sql: 'client_country_iso_code',
    isNull: `client_country_iso_code = ''`,
    shown: `nullIf(toString(client_country_iso_code), '')`,
    json: `if(client_country_iso_code = '', 'null', toJSONString(client_country_iso_code))`,
  },
  exception_type: nullable('ifNull(exception_type, found_type)', 'Nullable(String)'),
  exception_message: fromException('message'),
  exception_stacktrace: fromException('stacktrace'),
  sentry_event_id: fromCapture('exception', '.tracker_event_id'),
};

function fromRecord(name: keyof typeof RECORD, next: string): ExportColumn {
  return {
    ...nullable(`record_members.${name}`, RECORD[name]),
    member: { from: 'record', name },
    json: sliceRecord(name, next),
  };
}

function fromCapture(name: keyof typeof CAPTURE, part = ''): ExportColumn {
  return {
    ...nullable(`capture_members.${name}${part}`, part === '' ? CAPTURE[name] : 'Nullable(String)'),
    member: { from: 'capture', name },
  };
}

/** A captured exception comes before one that was found in the trace. */
function fromException(name: 'message' | 'stacktrace'): ExportColumn {
  const { member } = fromCapture('exception');
  return {
    ...nullable(`ifNull(capture_members.exception.${name}, found_${name})`, 'Nullable(String)'),
    ...(member && { member }),
  };
}

/**
 * The JSON text of a member of a record: the text before the next member. No JSON string contains such a name
 * unescaped. The end of one member is the start of the next, which the engine looks for once.
 */
function sliceRecord(name: string, next: string): string {
  const start =
    name === 'env' ? `length('"env":') + 1` : `position(record_json, ',"${name}":') + ${name.length + 4}`;
  return `substring(record_json, ${start}, position(record_json, ',"${next}":') - (${start}))`;
}

function nullable(sql: string, type: string): FilterColumn {
  return {
    sql,
    ...(type.startsWith('Nullable') && { isNull: `isNull(${sql})` }),
  };
}

function size(name: 'request_size_bytes' | 'response_size_bytes'): ExportColumn {
  return {
    sql: name,
    isNull: `${name} < 0`,
    json: `if(${name} < 0, 'null', toString(${name}))`,
    shown: `if(${name} < 0, NULL, ${name})`,
  };
}
