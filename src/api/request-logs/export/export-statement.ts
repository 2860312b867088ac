import { type Predicate, and } from '../../../queries/predicates.js';
import type { Parameters } from '../../../store/client/query-parameters.js';
import { type FileFormat, isTyped } from '../../../shared/file-format.js';
import type { RequestLogKey } from '../request-log-key.js';
import { findCapturedFields } from '../captured-fields.js';
import { RECORD_HEAD_SQL, toCaptureSql } from '../request-log.record.js';
import { selectExceptions } from '../../../records/request-exceptions.js';
import {
  BEFORE_LOGS,
  CAPTURE,
  EXCEPTION_FIELDS,
  EXPORT_COLUMNS,
  type Member,
  RECORD,
} from './export-columns.js';
import {
  IN_RANGE,
  canSelectPage,
  chooseRows,
  mayHaveException,
  toLogCondition,
} from './export-conditions.js';
import type { ExportQuery, ExportRange } from './export-query.js';
import type { ExportField } from './export.input.js';
import { toHarEntry } from './har-entry.js';

/** Columns of the logs that make up rows. */
const STORED =
  'timestamp, request_uuid, endpoint_id, app_env_id, consumer_id, method, status_code, request_size_bytes, ' +
  'response_size_bytes, response_time_ms, client_country_iso_code, trace_id, ' +
  'exception_type, record_json';

/**
 * The key of the `count`th row after `after` among the rows that cheap filters select, or of the last such
 * row; and the number of rows up to it.
 */
export function findEnd(
  appId: number,
  query: ExportQuery,
  after: RequestLogKey | undefined,
  count: number,
): Predicate {
  const { sql, params } = chooseRows(appId, query, { after, last: undefined });
  return {
    sql: `
SELECT max((timestamp, request_uuid)) AS key, toUnixTimestamp64Milli(key.1) AS at, toString(key.2) AS uuid, count() AS rows
FROM (
  SELECT timestamp, request_uuid
  FROM request_logs_v1
  WHERE ${sql}
  ORDER BY timestamp, request_uuid
  LIMIT {count:UInt32}
)`,
    params: { ...params, count },
  };
}

/** The number of rows in a part of an export. */
export function countLogs(appId: number, query: ExportQuery, range: ExportRange): Predicate {
  const { from, params } = readRows(appId, { ...query, fields: [] }, range);
  return { sql: `SELECT count() AS rows FROM (\n  SELECT 1 ${from}\n)`, params };
}

/** The rows of a range in their order, each key once, with the requested columns. */
export function selectLogs(
  appId: number,
  asked: ExportQuery,
  range: ExportRange,
  limit: number | undefined,
): Predicate & { format: FileFormat; columns: readonly string[]; jsonLine?: string } {
  const isHar = asked.format === 'har' && asked.fields !== 'whole';
  const format = asked.format === 'har' ? 'ndjson' : asked.format;
  const fields = isHar ? findCapturedFields(asked.fields) : asked.fields;
  const query = { ...asked, format, fields };
  const isText = format === 'ndjson' || fields === 'whole';
  const { from, params } = readRows(appId, query, range);
  const values =
    fields === 'whole'
      ? `${WHOLE_RECORD} AS line`
      : isText
        ? `${isHar ? toHarEntry(fields) : toLine(fields)} AS line`
        : toValues(fields, format);
  return {
    format,
    columns: isText ? ['line'] : fields,
    ...(isText && { jsonLine: 'line' }),
    sql: `
SELECT ${values}
FROM (
  SELECT * ${from}
  ORDER BY timestamp, request_uuid
  LIMIT 1 BY timestamp, request_uuid${limit === undefined ? '' : '\n  LIMIT {limit:UInt64}'}
)`,
    params: {
      ...params,
      ...(limit !== undefined && { limit }),
    },
  };
}

const CAPTURED = toCaptureSql('captured_json');
/** No JSON string contains the name of a member unescaped. */
const WITH_EXCEPTION = `if(isNull(found_type), ${CAPTURED}, replaceOne(${CAPTURED}, ',"exception":null,"logs":[', concat(
      ',"exception":{"type":', toJSONString(assumeNotNull(found_type)), ',"message":', toJSONString(assumeNotNull(found_message)),
      ',"stacktrace":', toJSONString(assumeNotNull(found_stacktrace)), ',"tracker_event_id":null,"sentry_event_id":null},"logs":[')))`;
const WHOLE_RECORD = `concat(${RECORD_HEAD_SQL},
    substring(record_json, 1, length(record_json) - 1), ',', substring(${WITH_EXCEPTION}, 2))`;

/**
 * A row as the text of a JSON object. JSON text of the store is copied: decoding and encoding it would double
 * the time.
 */
function toLine(fields: readonly ExportField[]): string {
  const members = fields.map((field, index) => {
    const { sql, isNull, shown = sql } = EXPORT_COLUMNS[field];
    const {
      json = isNull === undefined ? `toJSONString(${shown})` : `ifNull(toJSONString(${shown}), 'null')`,
    } = EXPORT_COLUMNS[field];
    return `'${index === 0 ? '{' : ','}"${field}":', ${json}`;
  });
  return `concat(${members.join(', ')}, '}')`;
}

function toValues(fields: readonly ExportField[], format: FileFormat): string {
  const values = fields.map((field) => {
    const { sql, shown = sql, typed = shown } = EXPORT_COLUMNS[field];
    if (isTyped(format)) return `${typed} AS ${field}`;
    return `${field.endsWith('_headers') ? `toJSONString(${shown})` : shown} AS ${field}`;
  });
  return values.join(',\n  ');
}

/** The rows of a range that match all filters, with the columns for their values. */
function readRows(
  appId: number,
  { fields, format, ...query }: ExportQuery,
  range: ExportRange,
): { from: string; params: Parameters } {
  const conditions = query.filters.map((filter, index) => ({
    filter,
    condition: canSelectPage(filter) ? undefined : toLogCondition(filter, index),
    member: canSelectPage(filter) ? undefined : EXPORT_COLUMNS[filter.field].member,
  }));
  const chosen = chooseRows(appId, query, range);
  const isLate = ({ filter: { field }, member }: (typeof conditions)[number]) =>
    member !== undefined || EXCEPTION_FIELDS.has(field);
  const byColumns = and(
    ...conditions.filter((condition) => !isLate(condition)).map(({ condition }) => condition),
    ...query.filters.map((filter, index) =>
      filter.field === 'exception_type' ? mayHaveException(filter, index) : undefined,
    ),
  );
  const byMembers = and(...conditions.filter(isLate).map(({ condition }) => condition));
  const isCopied = (field: ExportField) => format === 'ndjson' && EXPORT_COLUMNS[field].json !== undefined;
  const members = [
    ...(fields === 'whole' ? [] : fields.filter((field) => !isCopied(field))).flatMap(
      (field) => EXPORT_COLUMNS[field].member ?? [],
    ),
    ...conditions.flatMap(({ member }) => member ?? []),
  ];
  const extract = (from: Member['from'], types: Readonly<Record<string, string>>, json: string) => {
    const names = new Set(members.filter((member) => member.from === from).map(({ name }) => name));
    const typed = [...names].map((name) => `${name} ${types[name]}`);
    return names.size === 0
      ? ''
      : `,\n    JSONExtract(${json}, 'Tuple(${typed.join(', ')})') AS ${from}_members`;
  };
  const where = `${chosen.sql}${byColumns.sql}`;
  const captured = extract('capture', CAPTURE, BEFORE_LOGS);
  const captures = `
  LEFT ANY JOIN (
    SELECT timestamp, request_uuid, captured_json${captured}
    FROM request_details_v1
    WHERE ${IN_RANGE}
      AND request_uuid IN (SELECT request_uuid FROM request_logs_v1 WHERE ${where})
  ) AS details USING (timestamp, request_uuid)`;
  const logs = `FROM (
    SELECT ${STORED}${extract('record', RECORD, "concat('{', record_json)")}
    FROM request_logs_v1
    WHERE ${where}
  ) AS logs`;
  const exceptions = `
  LEFT ANY JOIN (${selectExceptions(where)}
  ) AS found USING (timestamp, request_uuid)`;
  const needsCaptures = fields === 'whole' || captured !== '';
  const needsExceptions =
    fields === 'whole' ||
    [...fields, ...query.filters.map(({ field }) => field)].some((field) => EXCEPTION_FIELDS.has(field));
  return {
    from: `${logs}${needsCaptures ? captures : ''}${needsExceptions ? exceptions : ''}${byMembers.sql === '' ? '' : `\n  WHERE true${byMembers.sql}`}`,
    params: { ...chosen.params, ...byColumns.params, ...byMembers.params },
  };
}
