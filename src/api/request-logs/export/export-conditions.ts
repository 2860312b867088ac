import { type Predicate, and, endpointIn, envIn, inScope } from '../../../queries/predicates.js';
import {
  type FilterColumn,
  compare,
  compareHeaders,
  not,
  splitNegation,
} from '../../../queries/filters/comparison.js';
import { HAS_NO_EXCEPTION } from '../../../records/request-exceptions.js';
import { EXPORT_COLUMNS } from './export-columns.js';
import type { ExportQuery, ExportRange } from './export-query.js';
import { EXPORT_FILTERS, type ExportField, type ExportFilter } from './export.input.js';

/** The bounds on the timestamp are redundant, but the primary key skips rows by them. */
export const IN_RANGE = `app_id = {app_id:UInt32}
    AND timestamp >= fromUnixTimestamp64Milli({start:Int64}, 'UTC')
    AND timestamp < fromUnixTimestamp64Milli({end:Int64}, 'UTC')`;

const KEY = (which: 'after' | 'last') =>
  `(fromUnixTimestamp64Milli({${which}_timestamp:Int64}, 'UTC'), {${which}_uuid:UUID})`;
const AFTER_CURSOR = `(timestamp, request_uuid) > ${KEY('after')}`;
const UP_TO = `(timestamp, request_uuid) <= ${KEY('last')}`;

/** Fields that filters compare as columns; for equality, the index of terms is used first. */
const INDEXED = { consumer_id: 'c', status_code: 's', method: 'm' } as const;

/** Whether the field has an index. */
const isIndexed = (field: ExportField): field is keyof typeof INDEXED => field in INDEXED;

/**
 * Filters on these fields select the records of a page; all other filters select among the records read for
 * it.
 */
const PAGE_FIELDS: ReadonlySet<ExportField> = new Set([
  'timestamp',
  'request_uuid',
  'env',
  'method',
  'path',
  'consumer_id',
  'status_code',
]);

/** Whether the filter can select a page without reading the record. */
export function canSelectPage({ field }: ExportFilter): boolean {
  return PAGE_FIELDS.has(field);
}

/** The rows of a range that match the filters on columns: as a WHERE. */
export function chooseRows(
  appId: number,
  query: Omit<ExportQuery, 'fields' | 'format'>,
  { after, last }: ExportRange,
): Predicate {
  const { filters, window, scope, hashBelow } = query;
  const conditions = filters.map((filter, index) =>
    canSelectPage(filter) ? toLogCondition(filter, index) : undefined,
  );
  const { sql, params } = and(
    after && {
      sql: AFTER_CURSOR,
      params: { after_timestamp: after.timestamp, after_uuid: after.request_uuid },
    },
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

/** A filter as a condition on columns; for names, on their IDs, because there are few. */
export function toLogCondition(
  filter: ExportFilter,
  index: number,
  column: FilterColumn = EXPORT_COLUMNS[filter.field],
): Predicate {
  const { field } = filter;
  const [kind, param] = [EXPORT_FILTERS[field], `filter_${index}`];
  if (field === 'request_headers' || field === 'response_headers')
    return compareHeaders(column.sql, kind, filter, param);
  if (field !== 'env' && field !== 'path') return compare(column, kind, filter, param);
  // Rows without a route have no name: they match if the positive operator does not.
  const { op, isNegated } = splitNegation(filter.op);
  if (op === 'is_null') {
    const isNull = { sql: field === 'path' ? 'endpoint_id = 0' : 'false', params: {} };
    return isNegated ? not(isNull) : isNull;
  }
  const named = compare({ sql: field === 'env' ? 'name' : 'path' }, kind, { ...filter, op }, param);
  const found = field === 'env' ? envIn(named) : endpointIn(named);
  return isNegated ? not(found) : found;
}

/** A filter on the type of the exception, as far as the record itself shows it. */
export function mayHaveException(filter: ExportFilter, index: number): Predicate {
  const stored = { sql: 'exception_type', isNull: 'isNull(exception_type)' };
  const { sql, params } = toLogCondition(filter, index, stored);
  return { sql: `(${sql} OR ${HAS_NO_EXCEPTION})`, params };
}

/**
 * Necessary conditions that the term index can evaluate. Filters with one value each share one condition,
 * because there the index intersects their rows.
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
      const terms = values.map((item) => `${appId}${INDEXED[field]}${item}`);
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
