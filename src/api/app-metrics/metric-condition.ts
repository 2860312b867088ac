import { compare, not, splitNegation } from '../../queries/filters/comparison.js';
import { type Predicate, endpointIn, envIn } from '../../queries/predicates.js';
import { METRIC_FILTERS, type MetricFilter } from './app-metrics.input.js';

/** A filter as a condition on the integers of counts and bins: names are looked up first. */
export function toMetricCondition(filter: MetricFilter, index: number): Predicate {
  const { field } = filter;
  const [kind, param] = [METRIC_FILTERS[field], `filter_${index}`];
  if (field === 'consumer_id' || field === 'status_code')
    return compare({ sql: field, isNull: `${field} = 0` }, kind, filter, param);
  // Rows without a route have no name, so negative operators match them.
  const { op, isNegated } = splitNegation(filter.op);
  const named = compare({ sql: field === 'env' ? 'name' : field }, kind, { ...filter, op }, param);
  const found = field === 'env' ? envIn(named) : endpointIn(named);
  return isNegated ? not(found) : found;
}
