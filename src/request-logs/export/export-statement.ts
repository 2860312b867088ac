import { type Predicate, and, endpointIn, envIn, notExcluded } from '../../clickhouse/predicates.js';
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
import type { RowKey } from './export-body.fields.js';
import { EXPORT_FILTERS, type ExportField, type ExportFilter } from './export.input.js';

/** What is to be exported. */
export interface ExportQuery {
  readonly format: FileFormat;
  /** `whole`: rows are records with all that was captured, in the shape of Request Details; as NDJSON alone. */
  readonly fields: readonly ExportField[] | 'whole';
  readonly filters: readonly ExportFilter[];
  readonly window: Window;
  readonly excludedEndpointIds: readonly number[];
  /** Rows are chosen whose UUID has a hash below this; without it all are. */
  readonly hashBelow?: bigint | undefined;
}

/** A part of an export: what lies behind `after`, up to and including `last`. */
export interface ExportRange {
  readonly after: RowKey | undefined;
  readonly last: RowKey | undefined;
}

/** The members of a stored record and their types, as JSON has them. */
const RECORD = {
  env: 'String',
  path: 'Nullable(String)',
  url: 'String',
  request_size_bytes: 'Nullable(Int64)',
  response_size_bytes: 'Nullable(Int64)',
  response_time_ms: 'Int64',
  client_ip: 'Nullable(String)',
  client_country_iso_code: 'Nullable(String)',
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

type Member = { from: 'record'; name: keyof typeof RECORD } | { from: 'capture'; name: keyof typeof CAPTURE };

/** A value of a row. */
interface ExportColumn extends FilterColumn {
  /** What it is read from, where that is no column. */
  readonly member?: Member;
  /** Its value where columns have types; `sql` where left out. */
  readonly typed?: string;
  /** Its value in a row, where that is not the one to filter by. */
  readonly shown?: string;
}

const fromRecord = (name: keyof typeof RECORD): ExportColumn => ({
  ...nullable(`record_members.${name}`, RECORD[name]),
  member: { from: 'record', name },
});
const fromCapture = (name: keyof typeof CAPTURE, part = ''): ExportColumn => ({
  ...nullable(`capture_members.${name}${part}`, part === '' ? CAPTURE[name] : 'Nullable(String)'),
  member: { from: 'capture', name },
});
const nullable = (sql: string, type: string): FilterColumn => ({
  sql,
  ...(type.startsWith('Nullable') && { isNull: `isNull(${sql})` }),
});

/** Public clients read integers of 32 bits with a sign; a time beyond them stays there. */
const TIME = 'record_members.response_time_ms';

const COLUMNS: Readonly<Record<ExportField, ExportColumn>> = {
  timestamp: { sql: 'toUnixTimestamp64Milli(timestamp)', shown: 'timestamp' },
  request_uuid: { sql: 'request_uuid', shown: 'toString(request_uuid)' },
  trace_id: fromCapture('trace_id'),
  env: fromRecord('env'),
  method: { sql: 'method', shown: 'toString(method)' },
  path: fromRecord('path'),
  url: fromRecord('url'),
  consumer_id: { sql: 'consumer_id', isNull: 'consumer_id = 0', shown: 'nullIf(toInt64(consumer_id), 0)' },
  request_headers: fromCapture('request_headers'),
  request_size_bytes: fromRecord('request_size_bytes'),
  request_body_json: fromCapture('request_body_json'),
  status_code: { sql: 'status_code', shown: 'toInt32(status_code)' },
  response_time_ms: { ...fromRecord('response_time_ms'), typed: `toInt32(least(${TIME}, 2147483647))` },
  response_headers: fromCapture('response_headers'),
  response_size_bytes: fromRecord('response_size_bytes'),
  response_body_json: fromCapture('response_body_json'),
  client_ip: fromRecord('client_ip'),
  client_country_iso_code: fromRecord('client_country_iso_code'),
  exception_type: fromCapture('exception', '.type'),
  exception_message: fromCapture('exception', '.message'),
  exception_stacktrace: fromCapture('exception', '.stacktrace'),
  sentry_event_id: fromCapture('exception', '.tracker_event_id'),
};

/** Columns of the logs that rows are made of. */
const STORED =
  'timestamp, request_uuid, endpoint_id, app_env_id, consumer_id, method, status_code, record_json';

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

/** Whether rows are chosen by it without their record and their capture. */
export function isCheap({ field }: ExportFilter): boolean {
  return field === 'env' || field === 'path' || COLUMNS[field].member === undefined;
}

/** A filter as a condition on columns; for names on their IDs, of which there are few. */
function toCondition(filter: ExportFilter, index: number): Predicate {
  const { field } = filter;
  const [kind, param, column] = [EXPORT_FILTERS[field], `filter_${index}`, COLUMNS[field]];
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
function findTerms(appId: number, filters: readonly ExportFilter[]): (Predicate | undefined)[] {
  const all: string[] = [];
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
function chooseRows(appId: number, query: ExportQuery, { after, last }: ExportRange): Predicate {
  const { filters, window, excludedEndpointIds, hashBelow } = query;
  const conditions = filters.map((filter, index) =>
    isCheap(filter) ? toCondition(filter, index) : undefined,
  );
  const { sql, params } = and(
    after && { sql: BEHIND, params: { after_timestamp: after.timestamp, after_uuid: after.request_uuid } },
    last && { sql: UP_TO, params: { last_timestamp: last.timestamp, last_uuid: last.request_uuid } },
    ...findTerms(appId, filters),
    ...conditions,
    hashBelow === undefined
      ? undefined
      : { sql: 'cityHash64(request_uuid) < {hash_below:UInt64}', params: { hash_below: hashBelow } },
    notExcluded(excludedEndpointIds),
  );
  const start = Math.max(window.start, after?.timestamp ?? -Infinity);
  const end = Math.min(window.end, (last?.timestamp ?? Infinity) + 1);
  return { sql: `${IN_RANGE}${sql}`, params: { ...params, start, end } };
}

/** The key of the row that is `count`th behind `after`, of those that match the filters on columns. */
export function findKey(
  appId: number,
  query: ExportQuery,
  after: RowKey | undefined,
  count: number,
): Predicate {
  const { sql, params } = chooseRows(appId, query, { after, last: undefined });
  return {
    sql: `
SELECT toUnixTimestamp64Milli(timestamp) AS at, toString(request_uuid) AS uuid
FROM request_logs_v1
WHERE ${sql}
ORDER BY timestamp, request_uuid
LIMIT 1 OFFSET {skipped:UInt32}`,
    params: { ...params, skipped: count - 1 },
  };
}

/** How many rows an export has. */
export function countRows(appId: number, query: ExportQuery, range: ExportRange): Predicate {
  const { from, members, params } = readRows(appId, query, range, []);
  return { sql: `SELECT count() AS rows FROM (\n  SELECT 1${members}\n  ${from}\n)`, params };
}

/** The rows of a range in their order, one key once, with the columns that were asked for. */
export function selectRows(
  appId: number,
  query: ExportQuery,
  range: ExportRange,
  limit: number | undefined,
): Predicate & { columns: readonly string[]; isText: boolean } {
  const { format, fields } = query;
  if (fields === 'whole') return selectWhole(appId, query, range, limit);
  const { from, members, params } = readRows(appId, query, range, fields);
  const shown = fields.map((field) => {
    const { sql, shown: value = sql, typed = value } = COLUMNS[field];
    const isList = field.endsWith('_headers');
    if (isTyped(format)) return `${typed} AS ${field}`;
    return `${isList && format === 'csv' ? `toJSONString(${value})` : value} AS ${field}`;
  });
  return {
    columns: fields,
    isText: false,
    sql: `
SELECT ${shown.join(',\n  ')}
FROM (
  SELECT timestamp, request_uuid, consumer_id, method, status_code${members}
  ${from}
  ${IN_ORDER(limit)}
)`,
    params: { ...params, ...(limit !== undefined && { limit }) },
  };
}

/** One key once: a copy of a row may be stored before the engine merges it away. */
const IN_ORDER = (limit: number | undefined) => `ORDER BY timestamp, request_uuid
  LIMIT 1 BY timestamp, request_uuid${limit === undefined ? '' : '\n  LIMIT {limit:UInt64}'}`;

const WHOLE = `concat('{"timestamp":"', replaceOne(toString(timestamp), ' ', 'T'), 'Z","request_uuid":"', toString(request_uuid), '",',
    substring(record_json, 1, length(record_json) - 1), ',', substring(if(captured_json = '', {empty_capture:String}, captured_json), 2))`;

function selectWhole(appId: number, query: ExportQuery, range: ExportRange, limit: number | undefined) {
  const { from, members, params } = readRows(appId, query, range, ['trace_id']);
  return {
    columns: ['line'],
    isText: true,
    sql: `
SELECT line FROM (
  SELECT timestamp, request_uuid, ${WHOLE} AS line${members}
  ${from}
  ${IN_ORDER(limit)}
)`,
    params: { ...params, ...(limit !== undefined && { limit }), empty_capture: EMPTY_CAPTURE_JSON },
  };
}

/** The rows of a range that fulfil all filters, and the members of their records and captures that are needed. */
function readRows(
  appId: number,
  query: ExportQuery,
  range: ExportRange,
  fields: readonly ExportField[],
): { from: string; members: string; params: Parameters } {
  const chosen = chooseRows(appId, query, range);
  const costly = query.filters.filter((filter) => !isCheap(filter));
  const needed = [...fields, ...costly.map(({ field }) => field)].flatMap(
    (field) => COLUMNS[field].member ?? [],
  );
  const typesOf = (from: Member['from'], types: Readonly<Record<string, string>>) =>
    [...new Set(needed.filter((member) => member.from === from).map(({ name }) => name))].map(
      (name) => `${name} ${types[name]}`,
    );
  const [ofRecord, ofCapture] = [typesOf('record', RECORD), typesOf('capture', CAPTURE)];
  const members = [
    ...(ofRecord.length > 0
      ? [`JSONExtract(concat('{', record_json), 'Tuple(${ofRecord.join(', ')})') AS record_members`]
      : []),
    ...(ofCapture.length > 0
      ? [`JSONExtract(captured_json, 'Tuple(${ofCapture.join(', ')})') AS capture_members`]
      : []),
  ].map((member) => `,\n    ${member}`);
  const logs = `(
    SELECT ${STORED} FROM request_logs_v1
    WHERE ${chosen.sql}
  ) AS logs`;
  const captures = `
  LEFT ANY JOIN (
    SELECT timestamp, request_uuid, captured_json FROM request_details_v1
    WHERE ${IN_RANGE}
      AND request_uuid IN (SELECT request_uuid FROM request_logs_v1 WHERE ${chosen.sql})
  ) AS details USING (timestamp, request_uuid)`;
  const conditions = query.filters.map((filter, index) =>
    isCheap(filter) ? undefined : toCondition(filter, index),
  );
  const filtered = and(...conditions);
  return {
    from: `FROM ${logs}${ofCapture.length > 0 ? captures : ''}${filtered.sql === '' ? '' : `\n  WHERE true${filtered.sql}`}`,
    members: members.join(''),
    params: { ...chosen.params, ...filtered.params },
  };
}
