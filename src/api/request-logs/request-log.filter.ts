import {
  type Predicate,
  consumerIs,
  endpointPathMatches,
  envIs,
  methodIn,
  parseMethods,
  parseStatuses,
  pathMatches,
  statusIn,
} from '../../queries/predicates.js';

export interface RequestLogFilter {
  app_env_id?: number | undefined;
  consumer_id?: number | undefined;
  method?: string | undefined;
  path?: string | undefined;
  status_code?: string | undefined;
}

/** The filter as conditions on columns, which are read row by row: faster if many rows match. */
export function columnPredicates(filter: RequestLogFilter): (Predicate | undefined)[] {
  return [
    envIs(filter.app_env_id),
    consumerIs(filter.consumer_id),
    methodIn(filter.method),
    endpointPathMatches(filter.path),
    statusIn(filter.status_code),
  ];
}

/**
 * The filter as conditions on `filter_terms` (migration 0007), whose index lists the rows of each term:
 * faster if few rows match.
 *
 * All terms are in one condition, because then the engine intersects the rows of the terms. Several
 * conditions are intersected by granule: 240 ms instead of 43 ms, for one row in 16,000.
 */
export function termIndexPredicates(
  { appId, consumerId }: { appId: number; consumerId?: number | undefined },
  filter: RequestLogFilter,
): (Predicate | undefined)[] {
  const { codes, classes } = parseStatuses(filter.status_code);
  const appTerms = (kind: string, values: readonly (string | number)[]) =>
    values.map((value) => `${appId}${kind}${value}`);
  const methods = appTerms('m', parseMethods(filter.method));
  const statuses = [...appTerms('s', codes), ...appTerms('x', classes)];
  const all = [
    ...appTerms('v', toArray(filter.app_env_id)),
    ...appTerms('c', [...toArray(filter.consumer_id), ...toArray(consumerId)]),
    ...[methods, statuses].filter(({ length }) => length === 1).flat(),
  ];
  return [
    all.length > 0
      ? { sql: 'hasAllTokens(filter_terms, {all_terms:Array(String)})', params: { all_terms: all } }
      : undefined,
    anyTermPredicate('method_terms', methods),
    anyTermPredicate('status_terms', statuses),
    endpointTermPredicate(filter.path),
  ];
}

function toArray(id: number | undefined): number[] {
  return id === undefined ? [] : [id];
}

function anyTermPredicate(name: string, terms: readonly string[]): Predicate | undefined {
  return terms.length > 1
    ? { sql: `hasAnyTokens(filter_terms, {${name}:Array(String)})`, params: { [name]: terms } }
    : undefined;
}

function endpointTermPredicate(path: string | undefined): Predicate | undefined {
  const match = pathMatches(path);
  return (
    match && {
      sql: `hasAnyTokens(filter_terms, (
    SELECT groupUniqArray(concat(app_id, 'e', id)) FROM endpoints_v1 WHERE app_id = {app_id:UInt32} AND ${match.sql}))`,
      params: match.params,
    }
  );
}
