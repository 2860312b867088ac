import type { Parameters } from '../store/client/query-parameters.js';

/** A WHERE condition and the values of its placeholders. */
export interface Predicate {
  readonly sql: string;
  readonly params: Parameters;
}

/** Joins the conditions, each with a leading AND, to append them to a statement. */
export function and(...predicates: readonly (Predicate | undefined)[]): Predicate {
  const present = predicates.filter((predicate) => predicate !== undefined);
  return {
    sql: present.map(({ sql }) => `\n  AND ${sql}`).join(''),
    params: Object.assign({}, ...present.map(({ params }) => params)) as Parameters,
  };
}

/** Matches one environment. An ID beyond the range of IDs matches nothing. */
export function envIs(app_env_id: number | undefined): Predicate | undefined {
  return app_env_id === undefined
    ? undefined
    : { sql: 'app_env_id = {app_env_id:Int64}', params: { app_env_id } };
}

/** Matches one consumer. An ID beyond the range of IDs matches nothing. */
export function consumerIs(consumer_id: number | undefined): Predicate | undefined {
  return consumer_id === undefined
    ? undefined
    : { sql: 'consumer_id = {consumer_id:Int64}', params: { consumer_id } };
}

/**
 * The items of a `method` filter: upper-case, sorted, each once; empty items do not count
 * (docs/contract.md#method-filter).
 */
export function parseMethods(method: string | undefined): string[] {
  const items = (method ?? '').split(',').map((item) => item.trim().toUpperCase());
  return [...new Set(items)].filter((item) => item !== '').sort();
}

export function methodIn(method: string | undefined): Predicate | undefined {
  const methods = parseMethods(method);
  return methods.length === 0 ? undefined : { sql: 'method IN {methods:Array(String)}', params: { methods } };
}

/**
 * `path` against a whole pattern, case-sensitive: `*` matches any characters, including slashes; every other
 * character matches itself (docs/contract.md#path-filter).
 */
export function pathMatches(path: string | undefined): Predicate | undefined {
  if (path === undefined) return undefined;
  if (!path.includes('*')) return { sql: 'path = {path:String}', params: { path } };
  const like = path.replace(/[\\%_]/g, '\\$&').replace(/\*+/g, '%');
  return { sql: 'path LIKE {path_like:String}', params: { path_like: like } };
}

/**
 * Matches rows with an endpoint ID by the endpoint's path. It matches the few endpoints first, which reads an
 * eighth to a quarter of the data that matching each row's path would read.
 */
export function endpointPathMatches(path: string | undefined): Predicate | undefined {
  const match = pathMatches(path);
  return match && endpointIn(match);
}

/** Matches rows by a condition on the names of endpoints. */
export function endpointIn({ sql, params }: Predicate): Predicate {
  return {
    sql: `endpoint_id IN (SELECT id FROM endpoints_v1 WHERE app_id = {app_id:UInt32} AND ${sql})`,
    params,
  };
}

/** Matches rows by a condition on the names of environments. */
export function envIn({ sql, params }: Predicate): Predicate {
  return {
    sql: `app_env_id IN (SELECT id FROM app_envs_v1 WHERE app_id = {app_id:UInt32} AND ${sql})`,
    params,
  };
}

/** Matches rows by a condition on the names of the groups in which their consumers are now. */
export function groupIn({ sql, params }: Predicate): Predicate {
  return {
    sql: `consumer_id IN (
    SELECT id FROM consumers_v1 FINAL
    WHERE app_id = {app_id:UInt32}
      AND group_id IN (SELECT id FROM consumer_groups_v1 FINAL WHERE app_id = {app_id:UInt32} AND ${sql}))`,
    params,
  };
}

/**
 * The items of a `status_code` filter, sorted, each once: codes as they are, classes by their first digit.
 */
export function parseStatuses(status: string | undefined): { codes: number[]; classes: number[] } {
  const items = [...new Set(status === undefined ? [] : status.split(','))].sort();
  return {
    codes: items.filter((item) => !item.endsWith('xx')).map(Number),
    classes: items.filter((item) => item.endsWith('xx')).map((item) => Number(item[0])),
  };
}

/** Codes and classes may be mixed: a row matches any of them. */
export function statusIn(status: string | undefined): Predicate | undefined {
  if (status === undefined) return undefined;
  const { codes, classes } = parseStatuses(status);
  const anyOf = [
    ...(codes.length > 0 ? ['status_code IN {codes:Array(UInt16)}'] : []),
    ...(classes.length > 0 ? ['intDiv(status_code, 100) IN {classes:Array(UInt16)}'] : []),
  ];
  return { sql: `(${anyOf.join(' OR ')})`, params: { codes, classes } };
}

/** The part of an app's requests that may be read. */
export interface RequestScope {
  readonly excludedEndpointIds: readonly number[];
  /** Only requests of this consumer; undefined: all. */
  readonly consumerId?: number | undefined;
}

/** Matches rows of requests in a scope (docs/contract.md#excluded-endpoints, docs/contract.md#key-scopes). */
export function inScope({ excludedEndpointIds, consumerId }: RequestScope): (Predicate | undefined)[] {
  return [notExcluded(excludedEndpointIds), ofScopeConsumer(consumerId, 'consumer_id')];
}

/** Matches rows of the only consumer of a scope; all rows if the scope has all consumers. */
export function ofScopeConsumer(consumerId: number | undefined, column: string): Predicate | undefined {
  return consumerId === undefined
    ? undefined
    : { sql: `${column} = {scope_consumer_id:Int64}`, params: { scope_consumer_id: consumerId } };
}

/** Endpoints marked as excluded are left out (docs/contract.md#excluded-endpoints). */
export function notExcluded(excluded: readonly number[]): Predicate | undefined {
  return excluded.length === 0
    ? undefined
    : { sql: 'endpoint_id NOT IN {excluded:Array(UInt32)}', params: { excluded } };
}

/**
 * Public clients read signed 64-bit integers. A larger sum is clamped to the maximum; the engine's own sum
 * would overflow. A row may take back what others count (migration 0006), so rows are read with a sign.
 */
export function sumBytes(column: string): string {
  return `toInt64(if(sum(toFloat64(toInt64(${column}))) >= 9223372036854775807, 9223372036854775807, sum(${column})))`;
}
