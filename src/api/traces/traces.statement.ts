import { type Predicate, and, envIn } from '../../queries/predicates.js';
import { type FilterColumn, compare, not, splitNegation } from '../../queries/filters/comparison.js';
import type { FilterScalar } from '../../queries/filters/filter-field.js';
import type { FileFormat } from '../../shared/file-format.js';
import { EVENT_SEPARATOR } from '../../records/capture.js';
import type { RowRange } from '../../queries/files/row-pages.js';
import { matchCapturedName } from '../request-logs/captured-fields.js';
import { SPAN_FILTERS, type SpanField, type SpanFilter, type SpanKey } from './traces.input.js';

export interface TracesQuery {
  readonly format: FileFormat;
  readonly fields: readonly SpanField[];
  readonly filters: readonly SpanFilter[];
  /** Bounds of the start of spans, in nanoseconds since the epoch. */
  readonly window: { readonly from: bigint; readonly to: bigint };
  /** Bound of the hashes of a sample's rows; undefined for all rows. */
  readonly hashBelow?: bigint | undefined;
  /** Only traces of this consumer's requests; undefined: all spans. */
  readonly consumerId: number | undefined;
  /** Whether attributes with headers and bodies are shown. */
  readonly hasBodies: boolean;
}

type SpanRange = RowRange<SpanKey>;

interface SpanColumn extends FilterColumn {
  /** The expression of the value in a row, if it differs from the one for filters. */
  readonly shown?: string;
  /** Whether it is JSON text, which is inserted into a line of JSON unchanged. */
  readonly isJson?: true;
}

/**
 * Attributes have 64-bit integers. A filter may have a larger one, which a double would round to one of them.
 */
const INTEGERS_END = 2n ** 127n;

const NO_SPAN = `toFixedString(unhex('0000000000000000'), 8)`;
const nullIfEmpty = (column: string): SpanColumn => ({
  sql: `toString(${column})`,
  isNull: `${column} = ''`,
  shown: `nullIf(toString(${column}), '')`,
});

const COLUMNS: Readonly<Record<SpanField, SpanColumn>> = {
  trace_id: { sql: 'lower(hex(s.trace_id))' },
  span_id: { sql: 'lower(hex(s.span_id))' },
  start_time_ns: { sql: 's.start_time_ns' },
  parent_span_id: {
    sql: 'lower(hex(s.parent_span_id))',
    isNull: `s.parent_span_id = ${NO_SPAN}`,
    shown: `if(s.parent_span_id = ${NO_SPAN}, NULL, lower(hex(s.parent_span_id)))`,
  },
  env: { sql: 's.app_env_id', shown: `nullIf(transform(s.app_env_id, envs.1, envs.2, ''), '')` },
  name: { sql: 'toString(s.name)' },
  kind: { sql: 'toString(s.kind)' },
  status: { sql: 'toString(s.status)' },
  end_time_ns: { sql: '(s.start_time_ns + s.duration_ns)' },
  duration_ns: { sql: 's.duration_ns' },
  attributes: { sql: 's.attributes', isJson: true },
  events: { sql: `replaceAll(s.events, '${EVENT_SEPARATOR}', ',')`, isJson: true },
  scope_name: nullIfEmpty('s.scope_name'),
  scope_version: nullIfEmpty('s.scope_version'),
};

/** Attributes without headers and bodies. */
const SHOWN_ATTRIBUTES = `concat('{', arrayStringConcat(arrayMap(
    member -> concat(toJSONString(member.1), ':', member.2),
    arrayFilter(member -> NOT ${matchCapturedName('member.1')}, JSONExtractKeysAndValuesRaw(s.attributes))
  ), ','), '}')`;

/**
 * The events of a span; and the events without headers and bodies. They are cut out of the text unchanged,
 * because the engine cannot read back every number that it writes.
 */
const EVENTS = `if(s.events = '[]', [], splitByString('${EVENT_SEPARATOR}', substring(s.events, 2, length(s.events) - 2)))`;
const SHOWN_EVENTS = `arrayFilter(
    event -> isValidJSON(event) AND NOT ${matchCapturedName(`JSONExtractString(event, 'name')`)}
      AND NOT arrayExists(key -> ${matchCapturedName('key')}, JSONExtractKeys(event, 'attributes')),
    ${EVENTS}
  )`;

/** Fields as they are shown without headers and bodies. */
const WITHOUT_BODIES: Partial<Readonly<Record<SpanField, string>>> = {
  attributes: SHOWN_ATTRIBUTES,
  events: `concat('[', arrayStringConcat(${SHOWN_EVENTS}, ','), ']')`,
};

/**
 * Traces in which all requests are the consumer's. Clients choose the IDs of their traces, so a trace with
 * requests of other consumers is not shown.
 */
const OF_CONSUMER = `s.trace_id IN (
      SELECT trace_id FROM request_logs_v1
      WHERE app_id = {app_id:UInt32} AND consumer_id = {scope_consumer_id:Int64}
        AND trace_id != toFixedString('', 16)
    )
    AND s.trace_id NOT IN (
      SELECT trace_id FROM request_logs_v1
      WHERE app_id = {app_id:UInt32} AND consumer_id != {scope_consumer_id:Int64} AND trace_id IN (
        SELECT trace_id FROM request_logs_v1
        WHERE app_id = {app_id:UInt32} AND consumer_id = {scope_consumer_id:Int64}
      )
    )`;

const ENVS = `(SELECT (groupArray(id), groupArray(name)) FROM app_envs_v1 FINAL WHERE app_id = {app_id:UInt32}) AS envs`;
const KEY = (which: 'after' | 'last') =>
  `({${which}_start:Int64}, toFixedString(unhex({${which}_trace:String}), 16), toFixedString(unhex({${which}_span:String}), 8))`;
const IN_WINDOW = `s.app_id = {app_id:UInt32}
    AND s.start_time_ns >= {from:Int64} AND s.start_time_ns < {to:Int64}`;
const IN_ORDER = 'ORDER BY s.start_time_ns, s.trace_id, s.span_id';
/** A span that several messages contain has several rows. */
const ONCE = 'LIMIT 1 BY s.start_time_ns, s.trace_id, s.span_id';

/** Whether the column of a filter is cheap to read. */
export function isCheapToRead({ field }: SpanFilter): boolean {
  return field !== 'attributes' && field !== 'events';
}

/** The key of the `count`th row after `after` that matches the cheap filters. */
export function findKey(query: TracesQuery, after: SpanKey | undefined, count: number): Predicate {
  const { sql, params } = choose(query, { after, last: undefined }, isCheapToRead);
  return {
    sql: `
SELECT toString(s.start_time_ns) AS start, lower(hex(s.trace_id)) AS trace, lower(hex(s.span_id)) AS span
FROM spans_v1 AS s
WHERE ${sql}
${IN_ORDER}
LIMIT 1 OFFSET {skipped:UInt32}`,
    params: { ...params, skipped: count - 1 },
  };
}

export function countSpans(query: TracesQuery, range: SpanRange): Predicate {
  const { sql, params } = choose(query, range, () => true);
  return { sql: `SELECT count() AS rows FROM spans_v1 AS s WHERE ${sql}`, params };
}

/** The rows of a range in their order, each once, with the columns of the query. */
export function selectSpans(
  query: TracesQuery,
  range: SpanRange,
  limit: number | undefined,
): Predicate & { columns: readonly string[]; jsonLine: string } {
  const { sql, params } = choose(query, range, () => true);
  const hidden = query.hasBodies ? {} : WITHOUT_BODIES;
  const shown = query.fields.map(
    (field) => `${hidden[field] ?? COLUMNS[field].shown ?? COLUMNS[field].sql} AS ${field}`,
  );
  const members = query.fields.map((field, index) => {
    const value = COLUMNS[field].isJson ? field : `ifNull(toJSONString(${field}), 'null')`;
    return `'${index === 0 ? '' : ','}"${field}":', ${value}`;
  });
  return {
    columns: query.fields,
    jsonLine: `concat('{', ${members.join(', ')}, '}')`,
    sql: `
WITH ${ENVS}
SELECT ${shown.join(',\n  ')}
FROM (
  SELECT * FROM spans_v1 AS s
  WHERE ${sql}
  ${IN_ORDER}
  ${ONCE}${limit === undefined ? '' : '\n  LIMIT {limit:UInt64}'}
) AS s`,
    params: { ...params, ...(limit !== undefined && { limit }) },
  };
}

/** The condition for the rows of a range that match the selected filters. */
function choose(
  { filters, window, hashBelow, consumerId, hasBodies }: TracesQuery,
  { after, last }: SpanRange,
  isSelected: (filter: SpanFilter) => boolean,
): Predicate {
  const conditions = filters.map((filter, index) =>
    isSelected(filter)
      ? toSpanCondition(filter, `filter_${index}`, hasBodies ? EVENTS : SHOWN_EVENTS)
      : undefined,
  );
  const place = '(s.start_time_ns, s.trace_id, s.span_id)';
  const { sql, params } = and(
    after && { sql: `${place} > ${KEY('after')}`, params: toParams('after', after) },
    last && { sql: `${place} <= ${KEY('last')}`, params: toParams('last', last) },
    ...conditions,
    consumerId === undefined ? undefined : { sql: OF_CONSUMER, params: { scope_consumer_id: consumerId } },
    hashBelow === undefined
      ? undefined
      : { sql: 'cityHash64(s.trace_id, s.span_id) < {hash_below:UInt64}', params: { hash_below: hashBelow } },
  );
  const from = after && after.start_time_ns > window.from ? after.start_time_ns : window.from;
  const to = last && last.start_time_ns < window.to ? last.start_time_ns + 1n : window.to;
  return { sql: `${IN_WINDOW}${sql}`, params: { ...params, from, to } };
}

function toParams(which: 'after' | 'last', { start_time_ns, trace_id, span_id }: SpanKey) {
  return { [`${which}_start`]: start_time_ns, [`${which}_trace`]: trace_id, [`${which}_span`]: span_id };
}

function toSpanCondition(filter: SpanFilter, param: string, events: string): Predicate {
  const { field, op, value } = filter;
  const kind = SPAN_FILTERS[field];
  // Compares the bare column, so that its index is used.
  if (field === 'trace_id' && (op === 'eq' || op === 'in')) return traceIn(toList(value), param);
  if (field === 'attributes') return attributeMatches('s.attributes', filter, param);
  if (field === 'events') return eventMatches(filter, param, events);
  if (field !== 'env') return compare(COLUMNS[field], kind, filter, param);
  const { op: positive, isNegated } = splitNegation(op);
  if (positive === 'is_null') return { sql: isNegated ? 'true' : 'false', params: {} };
  const { sql, params } = compare({ sql: 'name' }, kind, { ...filter, op: positive }, param);
  const found = envIn({ sql, params });
  return isNegated ? not(found) : found;
}

function toList(value: SpanFilter['value']): readonly FilterScalar[] {
  if (value === undefined) return [];
  return typeof value === 'object' ? value : [value];
}

function traceIn(ids: readonly FilterScalar[], param: string): Predicate {
  if (ids.length === 0) return { sql: 'false', params: {} };
  return {
    sql: `s.trace_id IN arrayMap(id -> toFixedString(unhex(id), 16), {${param}:Array(String)})`,
    params: { [param]: ids },
  };
}

/**
 * A filter on a value of a JSON object at an expression and names of members. Without the key, or with a
 * value of another type, only `not_exists` matches; negative operators do not.
 */
function attributeMatches(json: string, filter: SpanFilter, param: string): Predicate {
  const { op, value, key = '' } = filter;
  const of = { [`${param}_key`]: key };
  const at = `${json}, {${param}_key:String}`;
  if (op === 'exists' || op === 'not_exists')
    return { sql: `${op === 'exists' ? '' : 'NOT '}JSONHas(${at})`, params: of };
  const [first = ''] = toList(value);
  const { types, sql, params } = compareByType(typeof first, at, filter, param);
  return { sql: `(toString(JSONType(${at})) IN (${types}) AND ${sql})`, params: { ...of, ...params } };
}

function compareByType(
  type: string,
  at: string,
  filter: SpanFilter,
  param: string,
): Predicate & { types: string } {
  const { op, value = '' } = filter;
  if (type === 'string')
    return {
      types: `'String'`,
      ...compare({ sql: `JSONExtractString(${at})` }, SPAN_FILTERS.name, filter, param),
    };
  const symbols = { eq: '=', neq: '!=', gt: '>', gte: '>=', lt: '<', lte: '<=', in: 'IN', not_in: 'NOT IN' };
  const symbol = symbols[op as keyof typeof symbols];
  const isList = typeof value === 'object';
  const compareAs = (extracted: string, name: string, parse: (text: string) => string) =>
    `${extracted} ${symbol} ${isList ? `arrayMap(one -> ${parse('one')}, {${name}:Array(String)})` : parse(`{${name}:String}`)}`;
  const params = { [param]: isList ? value.map(String) : String(value) };
  if (type === 'boolean')
    return {
      types: `'Bool'`,
      sql: compareAs(`JSONExtractBool(${at})`, param, (text) => `(${text} = 'true')`),
      params,
    };
  const types = `'Int64', 'UInt64', 'Double'`;
  const asDouble = compareAs(`JSONExtractFloat(${at})`, param, (text) => `toFloat64(${text})`);
  const integers = toList(value).flatMap((item) => toInteger(item) ?? []);
  if (!isList && integers.length === 0) return { types, sql: asDouble, params };
  const asInteger = compareAs(
    `toInt128OrZero(JSONExtractRaw(${at}))`,
    `${param}_integers`,
    (text) => `toInt128(${text})`,
  );
  return {
    types,
    sql: `if(toString(JSONType(${at})) = 'Double', ${asDouble}, ${asInteger})`,
    params: { ...params, [`${param}_integers`]: isList ? integers : integers.join() },
  };
}

/** The digits of a number that is an integer of up to 128 bits. */
function toInteger(value: FilterScalar): string | undefined {
  if (typeof value !== 'bigint' && !Number.isInteger(value)) return undefined;
  const integer = BigInt(value);
  return integer < INTEGERS_END && integer >= -INTEGERS_END ? String(integer) : undefined;
}

/** A filter on events: it matches if any event does, `not_exists` if none does. */
function eventMatches(filter: SpanFilter, param: string, events: string): Predicate {
  const { op, key, event_name } = filter;
  const isNegated = op === 'not_exists';
  const ofKey =
    key === undefined
      ? undefined
      : attributeMatches(`event, 'attributes'`, { ...filter, op: isNegated ? 'exists' : op }, param);
  const ofName =
    event_name === undefined
      ? undefined
      : {
          sql: `JSONExtractString(event, 'name') = {${param}_event:String}`,
          params: { [`${param}_event`]: event_name },
        };
  const { sql, params } = and(ofName, ofKey);
  const any = `arrayExists(event -> true${sql}, ${events})`;
  return { sql: isNegated ? `NOT ${any}` : any, params };
}
