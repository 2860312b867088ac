import {
  type Predicate,
  type RequestScope,
  and,
  endpointIn,
  envIn,
  inScope,
} from '../../clickhouse/predicates.js';
import type { Parameters } from '../../clickhouse/query-parameters.js';
import {
  type FilterColumn,
  compare,
  compareHeaders,
  not,
  splitNegation,
} from '../../common/filters/comparison.js';
import { type FileFormat, isTyped } from '../../common/formats/file-format.js';
import type { Window } from '../../common/time/window.js';
import { EMPTY_CAPTURE_JSON } from '../../ingestion/capture.js';
import { RECORD_HEAD_SQL } from '../request-log.record.js';
import type { RequestLogKey } from '../request-log-key.js';
import { EXPORT_FILTERS, type ExportField, type ExportFilter } from './export.input.js';

/** What is to be exported. */
export interface ExportQuery {
  readonly format: FileFormat;
  /** `whole`: rows are records with all that was captured, in the shape of Request Details; as NDJSON alone. */
  readonly fields: readonly ExportField[] | 'whole';
  readonly filters: readonly ExportFilter[];
  readonly window: Window;
  readonly scope: RequestScope;
  /** Rows are chosen whose UUID has a hash below this; without it all are. */
  readonly hashBelow?: bigint | undefined;
}

/** A part of an export: what lies behind `after`, up to and including `last`. */
export interface ExportRange {
  readonly after: RequestLogKey | undefined;
  readonly last: RequestLogKey | undefined;
  /** Whether rows of it may be older than the columns of the trace and the exception. */
  readonly hasOlderRows: boolean;
}

/** The members of a stored record that have no column, and their types. */
const RECORD = {
  env: 'String',
  path: 'Nullable(String)',
  url: 'String',
  client_ip: 'Nullable(String)',
} as const;

const EXCEPTION =
  'Tuple(type Nullable(String), message Nullable(String), stacktrace Nullable(String), tracker_event_id Nullable(String))';

/** The same of what was captured. Without a capture, texts are null and headers are empty. */
const CAPTURE = {
  trace_id: 'Nullable(String)',
  request_headers: 'Array(Tuple(String, String))',
  response_headers: 'Array(Tuple(String, String))',
  request_body_json: 'Nullable(String)',
  response_body_json: 'Nullable(String)',
  exception: EXCEPTION,
} as const;

/**
 * What was captured, up to its logs. The engine reads no document with a number that it cannot hold, as attributes of spans may have.
 * Logs and spans stand last, and no text in JSON has such a name in it, unescaped.
 */
const BEFORE_LOGS = `concat(substring(captured_json, 1, position(captured_json, ',"logs":[') - 1), '}')`;

type Member = { from: 'record'; name: keyof typeof RECORD } | { from: 'capture'; name: keyof typeof CAPTURE };

/** A value of a row. */
interface ExportColumn extends FilterColumn {
  /** What it is read from, where that is no column. */
  readonly member?: Member;
  /** Its value where columns have types; `sql` where left out. */
  readonly typed?: string;
  /** Its value in a row, where that is not the one to filter by. */
  readonly shown?: string;
  /** Its JSON text, where that is not made of its value. */
  readonly json?: string;
}

const fromRecord = (name: keyof typeof RECORD, next: string): ExportColumn => ({
  ...nullable(`record_members.${name}`, RECORD[name]),
  member: { from: 'record', name },
  json: sliceRecord(name, next),
});
const fromCapture = (name: keyof typeof CAPTURE, part = ''): ExportColumn => ({
  ...nullable(`capture_members.${name}${part}`, part === '' ? CAPTURE[name] : 'Nullable(String)'),
  member: { from: 'capture', name },
});
/**
 * The JSON text of a member of a record: what stands before the next one. No text in JSON has such a name in it, unescaped.
 * One member's end is the next one's start, which the engine looks for once.
 */
function sliceRecord(name: string, next: string): string {
  const start =
    name === 'env' ? `length('"env":') + 1` : `position(record_json, ',"${name}":') + ${name.length + 4}`;
  return `substring(record_json, ${start}, position(record_json, ',"${next}":') - (${start}))`;
}
const nullable = (sql: string, type: string): FilterColumn => ({
  sql,
  ...(type.startsWith('Nullable') && { isNull: `isNull(${sql})` }),
});
const size = (name: 'request_size_bytes' | 'response_size_bytes'): ExportColumn => ({
  sql: name,
  isNull: `${name} < 0`,
  json: `if(${name} < 0, 'null', toString(${name}))`,
  shown: `if(${name} < 0, NULL, ${name})`,
});

/** Public clients read integers of 32 bits with a sign; a time beyond them stays there. */
const SHORT_TIME = 'toInt32(least(response_time_ms, 2147483647))';
const TRACE = `nullIf(lower(hex(assumeNotNull(trace_id))), '${'0'.repeat(32)}')`;

type ExportColumns = Readonly<Record<ExportField, ExportColumn>>;

const COLUMNS: ExportColumns = {
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
  exception_type: nullable('exception_type', 'Nullable(String)'),
  exception_message: fromCapture('exception', '.message'),
  exception_stacktrace: fromCapture('exception', '.stacktrace'),
  sentry_event_id: fromCapture('exception', '.tracker_event_id'),
};

/** The same where rows may be older than the columns of the trace and the exception: they have them in what was captured. */
const OLDER_COLUMNS: ExportColumns = {
  ...COLUMNS,
  trace_id: orCaptured(TRACE, fromCapture('trace_id')),
  exception_type: orCaptured('exception_type', fromCapture('exception', '.type')),
};

function orCaptured(sql: string, captured: ExportColumn): ExportColumn {
  return { ...captured, ...nullable(`if(is_older, ${captured.sql}, ${sql})`, 'Nullable(String)') };
}

/** Columns of the logs that rows are made of. */
const STORED =
  'timestamp, request_uuid, endpoint_id, app_env_id, consumer_id, method, status_code, request_size_bytes, ' +
  'response_size_bytes, response_time_ms, client_country_iso_code, trace_id, isNull(trace_id) AS is_older, ' +
  'exception_type, record_json';

/** The bounds on the timestamp alone say nothing new, but they are what the primary key skips by. */
const IN_RANGE = `app_id = {app_id:UInt32}
    AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
    AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')`;
const KEY = (which: 'after' | 'last') =>
  `(fromUnixTimestamp64Milli({${which}_timestamp:Int64}, 'UTC'), {${which}_uuid:UUID})`;
const BEHIND = `(timestamp, request_uuid) > ${KEY('after')}`;
const UP_TO = `(timestamp, request_uuid) <= ${KEY('last')}`;

/** Filters on these are compared as columns, and where they ask for equality their index of terms is asked first. */
const INDEXED = { consumer_id: 'c', status_code: 's', method: 'm' } as const;

/** What a filter of many rows may not read record by record. */
const isIndexed = (field: ExportField): field is keyof typeof INDEXED => field in INDEXED;

/** Filters on these choose the records of a page; all others choose among the records that were read for it. */
const CHEAP: ReadonlySet<ExportField> = new Set([
  'timestamp',
  'request_uuid',
  'env',
  'method',
  'path',
  'consumer_id',
  'status_code',
]);

/** Whether pages are made by it. */
export function isCheap({ field }: ExportFilter): boolean {
  return CHEAP.has(field);
}

/** A filter as a condition on columns; for names on their IDs, of which there are few. */
function toCondition(filter: ExportFilter, index: number, columns = COLUMNS): Predicate {
  const { field } = filter;
  const [kind, param, column] = [EXPORT_FILTERS[field], `filter_${index}`, columns[field]];
  if (field === 'request_headers' || field === 'response_headers')
    return compareHeaders(column.sql, kind, filter, param);
  if (field !== 'env' && field !== 'path') return compare(column, kind, filter, param);
  // Rows without a route have no name: they match wherever the positive operator does not.
  const { op, isNegated } = splitNegation(filter.op);
  if (op === 'is_null') {
    const isNull = { sql: field === 'path' ? 'endpoint_id = 0' : 'false', params: {} };
    return isNegated ? not(isNull) : isNull;
  }
  const named = compare({ sql: field === 'env' ? 'name' : 'path' }, kind, { ...filter, op }, param);
  const found = field === 'env' ? envIn(named) : endpointIn(named);
  return isNegated ? not(found) : found;
}

/**
 * What the index of terms knows of the filters: conditions that hold wherever theirs do. Those of one value stand in one
 * condition, because there the index intersects its rows.
 */
function findTerms(
  appId: number,
  { filters, scope: { consumerId } }: Pick<ExportQuery, 'filters' | 'scope'>,
): (Predicate | undefined)[] {
  const all = consumerId === undefined ? [] : [`${appId}${INDEXED.consumer_id}${consumerId}`];
  const others = filters.map(({ field, op, value }, index): Predicate | undefined => {
    if (op !== 'eq' && op !== 'in') return undefined;
    const values = [value ?? []].flat();
    const param = `terms_${index}`;
    if (isIndexed(field)) {
      const terms = values.map((one) => `${appId}${INDEXED[field]}${one}`);
      if (op === 'eq') all.push(...terms);
      else if (terms.length > 0)
        return { sql: `hasAnyTokens(filter_terms, {${param}:Array(String)})`, params: { [param]: terms } };
      return undefined;
    }
    if ((field !== 'env' && field !== 'path') || values.length === 0) return undefined;
    const ids =
      field === 'env'
        ? `groupUniqArray(concat(app_id, 'v', id)) FROM app_envs_v1 WHERE app_id = {app_id:UInt32} AND name`
        : `groupUniqArray(concat(app_id, 'e', id)) FROM endpoints_v1 WHERE app_id = {app_id:UInt32} AND path`;
    return {
      sql: `hasAnyTokens(filter_terms, (SELECT ${ids} IN {${param}:Array(String)}))`,
      params: { [param]: values },
    };
  });
  return [
    all.length > 0
      ? { sql: 'hasAllTokens(filter_terms, {all_terms:Array(String)})', params: { all_terms: all } }
      : undefined,
    ...others,
  ];
}

/** The rows of a range that match the filters on columns: as a WHERE. */
function chooseRows(
  appId: number,
  query: Omit<ExportQuery, 'fields' | 'format'>,
  { after, last }: Omit<ExportRange, 'hasOlderRows'>,
): Predicate {
  const { filters, window, scope, hashBelow } = query;
  const conditions = filters.map((filter, index) =>
    isCheap(filter) ? toCondition(filter, index) : undefined,
  );
  const { sql, params } = and(
    after && { sql: BEHIND, params: { after_timestamp: after.timestamp, after_uuid: after.request_uuid } },
    last && { sql: UP_TO, params: { last_timestamp: last.timestamp, last_uuid: last.request_uuid } },
    ...findTerms(appId, query),
    ...conditions,
    hashBelow === undefined
      ? undefined
      : { sql: 'cityHash64(request_uuid) < {hash_below:UInt64}', params: { hash_below: hashBelow } },
    ...inScope(scope),
  );
  const start = Math.max(window.start, after?.timestamp ?? -Infinity);
  const end = Math.min(window.end, (last?.timestamp ?? Infinity) + 1);
  return { sql: `${IN_RANGE}${sql}`, params: { ...params, start, end } };
}

/**
 * The key of the row that is `count`th behind `after`, of those that cheap filters choose, or of the last one; how many there
 * are up to it; and whether any of them is older than the columns of the trace and the exception.
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
SELECT max((timestamp, request_uuid)) AS key, toUnixTimestamp64Milli(key.1) AS at, toString(key.2) AS uuid, count() AS rows,
  max(is_older) AS has_older_rows
FROM (
  SELECT timestamp, request_uuid, isNull(trace_id) AS is_older
  FROM request_logs_v1
  WHERE ${sql}
  ORDER BY timestamp, request_uuid
  LIMIT {count:UInt32}
)`,
    params: { ...params, count },
  };
}

/** How many rows a part of an export has. */
export function countRows(appId: number, query: ExportQuery, range: ExportRange): Predicate {
  const { from, params } = readRows(appId, { ...query, fields: [] }, range);
  return { sql: `SELECT count() AS rows FROM (\n  SELECT 1 ${from}\n)`, params };
}

/** The rows of a range in their order, one key once, with the columns that were asked for. */
export function selectRows(
  appId: number,
  query: ExportQuery,
  range: ExportRange,
  limit: number | undefined,
): Predicate & { columns: readonly string[]; jsonLine?: string } {
  const { format, fields } = query;
  const isText = format === 'ndjson' || fields === 'whole';
  const { from, columns, params } = readRows(appId, query, range);
  const values =
    fields === 'whole'
      ? `${WHOLE} AS line`
      : isText
        ? `${toLine(fields, columns)} AS line`
        : toValues(fields, columns, format);
  return {
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
      ...(fields === 'whole' && { empty_capture: EMPTY_CAPTURE_JSON }),
    },
  };
}

const WHOLE = `concat(${RECORD_HEAD_SQL},
    substring(record_json, 1, length(record_json) - 1), ',', substring(if(captured_json = '', {empty_capture:String}, captured_json), 2))`;

/** A row as the text of a JSON object. What is JSON text in the store is copied: to decode and encode it costs as much again. */
function toLine(fields: readonly ExportField[], columns: ExportColumns): string {
  const members = fields.map((field, index) => {
    const { sql, isNull, shown = sql } = columns[field];
    const {
      json = isNull === undefined ? `toJSONString(${shown})` : `ifNull(toJSONString(${shown}), 'null')`,
    } = columns[field];
    return `'${index === 0 ? '{' : ','}"${field}":', ${json}`;
  });
  return `concat(${members.join(', ')}, '}')`;
}

function toValues(fields: readonly ExportField[], columns: ExportColumns, format: FileFormat): string {
  const values = fields.map((field) => {
    const { sql, shown = sql, typed = shown } = columns[field];
    if (isTyped(format)) return `${typed} AS ${field}`;
    return `${field.endsWith('_headers') ? `toJSONString(${shown})` : shown} AS ${field}`;
  });
  return values.join(',\n  ');
}

/** The rows of a range that match all filters, with the columns that their values are made of. */
function readRows(
  appId: number,
  { fields, format, ...query }: ExportQuery,
  range: ExportRange,
): { from: string; columns: ExportColumns; params: Parameters } {
  const columns = range.hasOlderRows ? OLDER_COLUMNS : COLUMNS;
  const conditions = query.filters.map((filter, index) => ({
    filter,
    condition: isCheap(filter) ? undefined : toCondition(filter, index, columns),
    member: isCheap(filter) ? undefined : columns[filter.field].member,
  }));
  const chosen = chooseRows(appId, query, range);
  const byColumns = and(...conditions.filter(({ member }) => !member).map(({ condition }) => condition));
  const byMembers = and(...conditions.filter(({ member }) => member).map(({ condition }) => condition));
  const isCopied = (field: ExportField) => format === 'ndjson' && columns[field].json !== undefined;
  const members = [
    ...(fields === 'whole' ? [] : fields.filter((field) => !isCopied(field))).flatMap(
      (field) => columns[field].member ?? [],
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
  const needsCaptures = fields === 'whole' || captured !== '';
  return {
    from: `${logs}${needsCaptures ? captures : ''}${byMembers.sql === '' ? '' : `\n  WHERE true${byMembers.sql}`}`,
    columns,
    params: { ...chosen.params, ...byColumns.params, ...byMembers.params },
  };
}
