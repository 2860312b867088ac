import { compare, not, splitNegation } from '../../queries/filters/comparison.js';
import { type Predicate, endpointIn, envIn } from '../../queries/predicates.js';
import { METRIC_FILTERS, type MetricFilter } from './app-metrics.input.js';

/**
 * The index in `version_names` of the version of a bucket; 0: none. Its environment and time are one number,
 * by which the engine finds the last start before it.
 */
export const VERSION_INDEX = (table = '') =>
  `transform(roundDown(bitShiftLeft(toUInt64(${table}app_env_id), 32) + toUnixTimestamp(${table}bucket), version_starts), version_starts, version_indexes, toUInt32(0))`;

/** A filter as a condition on the integers of counts and bins: names are looked up first. */
export function toMetricCondition(filter: MetricFilter, index: number): Predicate {
  const { field } = filter;
  const [kind, param] = [METRIC_FILTERS[field], `filter_${index}`];
  if (field === 'consumer_id' || field === 'status_code')
    return compare({ sql: field, isNull: `${field} = 0` }, kind, filter, param);
  // Rows without a route or a version have no name, so negative operators match them.
  const { op, isNegated } = splitNegation(filter.op);
  if (field === 'app_version') {
    const named = compare({ sql: 'name', isNull: `name = ''` }, kind, { ...filter, op }, param);
    const sql = `${VERSION_INDEX()} IN (SELECT version FROM (SELECT arrayJoin(version_names) AS name, toUInt32(indexOf(version_names, name) - 1) AS version) WHERE ${named.sql})`;
    return isNegated ? not({ ...named, sql }) : { ...named, sql };
  }
  const named = compare({ sql: field === 'env' ? 'name' : field }, kind, { ...filter, op }, param);
  const found = field === 'env' ? envIn(named) : endpointIn(named);
  return isNegated ? not(found) : found;
}

/** The filters on environments alone, as conditions. */
export function listEnvConditions(filters: readonly MetricFilter[]): Predicate[] {
  return filters.filter(({ field }) => field === 'env').map(toMetricCondition);
}
