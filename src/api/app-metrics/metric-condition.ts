import { compare, not, splitNegation } from '../../queries/filters/comparison.js';
import { type Predicate, endpointIn, envIn, groupIn } from '../../queries/predicates.js';
import { METRIC_FILTERS, type MetricFilter } from './app-metrics.input.js';

/**
 * The index in `version_names` of the version of a bucket; 0: none. Its environment and time are one number,
 * by which the engine finds the last start before it.
 */
export const VERSION_INDEX = (table = '') =>
  `transform(roundDown(bitShiftLeft(toUInt64(${table}app_env_id), 32) + toUnixTimestamp(${table}bucket), version_starts), version_starts, version_indexes, toUInt32(0))`;

const STATUS_CLASS = `concat(toString(intDiv(status_code, 100)), 'xx')`;

/** The column with the names of a field, and how rows are found by a condition on it. */
const NAMES = {
  env: { column: 'name', find: envIn },
  method: { column: 'method', find: endpointIn },
  path: { column: 'path', find: endpointIn },
  consumer_group: { column: 'name', find: groupIn },
} as const;

/** A filter as a condition on the integers of counts: names are looked up first. */
export function toMetricCondition(filter: MetricFilter, index: number): Predicate {
  const { field } = filter;
  const [kind, param] = [METRIC_FILTERS[field], `filter_${index}`];
  if (field === 'consumer_id' || field === 'status_code')
    return compare({ sql: field, isNull: `${field} = 0` }, kind, filter, param);
  if (field === 'status_class')
    return compare({ sql: STATUS_CLASS, isNull: 'status_code = 0' }, kind, filter, param);
  // Rows without a route, a version or a group have no name, so negative operators match them.
  const { op, isNegated } = splitNegation(filter.op);
  if (field === 'app_version') {
    const named = compare({ sql: 'name', isNull: `name = ''` }, kind, { ...filter, op }, param);
    const sql = `${VERSION_INDEX()} IN (SELECT version FROM (SELECT arrayJoin(version_names) AS name, toUInt32(indexOf(version_names, name) - 1) AS version) WHERE ${named.sql})`;
    return isNegated ? not({ ...named, sql }) : { ...named, sql };
  }
  if (op === 'is_null') {
    const hasGroup = groupIn({ sql: 'true', params: {} });
    return isNegated ? hasGroup : not(hasGroup);
  }
  const { column, find } = NAMES[field];
  const found = find(compare({ sql: column }, kind, { ...filter, op }, param));
  return isNegated ? not(found) : found;
}

/** The filters on environments alone, as conditions. */
export function listEnvConditions(filters: readonly MetricFilter[]): Predicate[] {
  return filters.filter(({ field }) => field === 'env').map(toMetricCondition);
}
