import { Injectable } from '@nestjs/common';
import { AppScopedStore } from '../apps/app-scoped-store.js';
import type { AppScope, Match } from '../apps/apps.service.js';
import {
  type Predicate,
  and,
  envIs,
  inScope,
  methodIn,
  ofScopeConsumer,
  pathMatches,
} from '../../queries/predicates.js';
import type { Endpoint } from './endpoints.dto.js';
import type { InventoryRow } from './inventory.js';

export interface EndpointFilter {
  app_env_id?: number | undefined;
  method?: string | undefined;
  path?: string | undefined;
}

/** Most apps have fewer endpoints, so their endpoints are one read. */
export const ENDPOINTS_PER_READ = 10_000;

const LIST = (filter: string) => `
SELECT id, method, path
FROM endpoints_v1 FINAL
WHERE app_id = {app_id:UInt32}${filter}
ORDER BY path, method, id
LIMIT ${ENDPOINTS_PER_READ}`;

/** Documents of more environments take too much memory. */
const MAX_DOCUMENTS = 10;
const OF_ENV = 'n.app_env_id IN (0, {app_env_id:Int64})';

const MATCH = `multiIf(
  path = {text:String} OR concat(method, ' ', path) = {text:String}, 'exact',
  positionCaseInsensitiveUTF8(concat(method, ' ', path), {text:String}) > 0, 'contains',
  'similar'
)`;
/** Only the beginnings of longer texts are compared, because the time is the product of both lengths. */
const SEARCH = (filter: string) => `
SELECT id, method, path, ${MATCH} AS match
FROM endpoints_v1 FINAL
WHERE app_id = {app_id:UInt32}${filter}
ORDER BY match = 'exact' DESC, match = 'contains' DESC,
  if(match = 'similar', jaroWinklerSimilarity(lower(substring(path, 1, 100)), lower(substring({text:String}, 1, 100))), 1) DESC,
  path, method, id
LIMIT {limit:UInt32}`;

const AFTER_ENDPOINT = '(path, method, id) > ({after_path:String}, {after_method:String}, {after_id:UInt32})';

const SEEN_IN = `id IN (
    SELECT endpoint_id FROM endpoint_activity_v1
    WHERE app_id = {app_id:UInt32} AND app_env_id = {app_env_id:Int64}
  )`;

/** The endpoints of a consumer's requests, in an environment if one is given. */
const REQUESTED = (filter: string) => `id IN (
    SELECT endpoint_id FROM counts_per_15m_by_consumer_v1
    WHERE app_id = {app_id:UInt32} AND measure = 'requests'${filter}
  )`;

/** The newest documents of an app: of each environment the imported one, and the one that was sent. */
const DOCUMENTS = (filter: string) => `
SELECT d.routes AS routes
FROM api_documents_v1 AS d
WHERE app_id = {app_id:UInt32} AND (d.slot, d.received_at) IN (
  SELECT n.slot, n.received_at FROM api_documents_v1 AS n FINAL
  WHERE app_id = {app_id:UInt32}${filter}
  ORDER BY n.received_at DESC
  LIMIT 1 BY n.is_imported, n.app_env_id
  LIMIT ${MAX_DOCUMENTS}
)
ORDER BY d.is_imported DESC, d.received_at DESC`;

const TIME_OF = (column: string) => `if(${column} = toDateTime64(0, 3), NULL, ${column})`;
/** @param filter the environment, the consumer and the endpoints that are not excluded */
const INVENTORY = (listed: string, env: string, filter: string, tables: { last: string; counts: string }) => `
SELECT e.id AS id, e.method AS method, e.path AS path,
  d.is_deprecated AS deprecated, ${TIME_OF('d.sunset')} AS sunset, ${TIME_OF('l.at')} AS last_request_at,
  r.requests AS requests_30d, c.consumers AS consumers_30d
FROM (${listed}
) AS e
LEFT JOIN (
  SELECT endpoint_id, ${tables.last} app_id = {app_id:UInt32}${filter}
  GROUP BY endpoint_id
) AS l ON l.endpoint_id = e.id
LEFT JOIN (
  SELECT endpoint_id, toInt64(sum(t.n)) AS requests FROM ${tables.counts} AS t
  WHERE app_id = {app_id:UInt32} AND measure = 'requests' AND t.bucket >= {since:UInt32}${filter}
  GROUP BY endpoint_id
) AS r ON r.endpoint_id = e.id
LEFT JOIN (
  SELECT endpoint_id, uniqExact(t.consumer_id) AS consumers FROM counts_per_15m_by_consumer_v1 AS t
  WHERE app_id = {app_id:UInt32} AND measure = 'requests' AND t.bucket >= {since:UInt32}${filter}
  GROUP BY endpoint_id
) AS c ON c.endpoint_id = e.id
LEFT JOIN (
  SELECT endpoint_id, toBool(max(s.deprecated_at > toDateTime(0) AND s.deprecated_at <= now())) AS is_deprecated,
    toDateTime64(argMax(s.sunset_at, s.seen_at), 3, 'UTC') AS sunset
  FROM endpoint_deprecations_v1 AS s FINAL
  WHERE app_id = {app_id:UInt32} AND s.seen_at >= now() - INTERVAL 30 DAY${env}
  GROUP BY endpoint_id
) AS d ON d.endpoint_id = e.id
ORDER BY path, method, id`;
/** Where the last request of an endpoint is, and its counts: of all consumers, or by consumer. */
const OF_ALL = {
  last: 'max(n.last_request_at) AS at FROM endpoint_activity_v1 AS n WHERE',
  counts: 'counts_per_hour_v1',
};
const OF_CONSUMER = {
  last: "toDateTime64(max(n.bucket), 3, 'UTC') AS at FROM counts_per_15m_by_consumer_v1 AS n WHERE measure = 'requests' AND",
  counts: 'counts_per_15m_by_consumer_v1',
};

@Injectable()
export class EndpointsRepository {
  constructor(private readonly store: AppScopedStore) {}

  /**
   * Endpoints by path, then method; with an environment, the endpoints that were seen in it
   * (docs/contract.md#endpoints-of-env).
   */
  async *list(scope: AppScope, { app_env_id, method, path }: EndpointFilter): AsyncGenerator<Endpoint[]> {
    const seenIn = app_env_id === undefined ? undefined : { sql: SEEN_IN, params: { app_env_id } };
    const requested = requestedBy(scope, app_env_id);
    let after: Endpoint | undefined;
    do {
      const { sql, params } = and(seenIn, requested, methodIn(method), pathMatches(path), behind(after));
      const rows = await this.store.rows<Endpoint>(scope, 'endpoints.list', LIST(sql), params);
      yield rows;
      after = rows[ENDPOINTS_PER_READ - 1];
    } while (after);
  }

  /**
   * The endpoints that `list` gives for an environment, with their requests and what responses said of their
   * end.
   *
   * @param since an hour, from which requests and consumers count
   */
  async inventory(scope: AppScope, app_env_id: number | undefined, since: number): Promise<InventoryRow[]> {
    const all: InventoryRow[] = [];
    const seenIn = app_env_id === undefined ? undefined : { sql: SEEN_IN, params: { app_env_id } };
    const counted = and(envIs(app_env_id), ...inScope(scope));
    const tables = scope.consumerId === undefined ? OF_ALL : OF_CONSUMER;
    for (let after: Endpoint | undefined; ;) {
      const listed = and(seenIn, requestedBy(scope, app_env_id), behind(after));
      const rows = await this.store.rows<InventoryRow>(
        scope,
        'endpoints.inventory',
        INVENTORY(LIST(listed.sql), and(envIs(app_env_id)).sql, counted.sql, tables),
        { ...listed.params, ...counted.params, since: since / 1000 },
      );
      all.push(...rows);
      after = rows[ENDPOINTS_PER_READ - 1];
      if (!after) return all;
    }
  }

  /** What the documents of an app describe, as JSON texts; imported documents first, then the newest. */
  async findDocuments(scope: AppScope, app_env_id: number | undefined): Promise<string[]> {
    const ofEnvironment = app_env_id === undefined ? undefined : { sql: OF_ENV, params: { app_env_id } };
    const { sql, params } = and(ofEnvironment);
    const rows = await this.store.rows<{ routes: string }>(
      scope,
      'endpoints.documents',
      DOCUMENTS(sql),
      params,
    );
    return rows.map(({ routes }) => routes);
  }

  /** The endpoints whose path, or method and path, are most similar to a text; an empty text matches all. */
  search(scope: AppScope, text: string, limit: number): Promise<(Endpoint & { match: Match })[]> {
    const { sql, params } = and(requestedBy(scope));
    return this.store.rows(scope, 'endpoints.search', SEARCH(sql), { ...params, text, limit });
  }
}

/**
 * Matches the endpoints that the only consumer of a scope requested; all endpoints if the scope has all
 * consumers.
 */
function requestedBy({ consumerId }: AppScope, app_env_id?: number): Predicate | undefined {
  if (consumerId === undefined) return undefined;
  const { sql, params } = and(ofScopeConsumer(consumerId, 'consumer_id'), envIs(app_env_id));
  return { sql: REQUESTED(sql), params };
}

function behind(after: Endpoint | undefined): Predicate | undefined {
  return (
    after && {
      sql: AFTER_ENDPOINT,
      params: { after_path: after.path, after_method: after.method, after_id: after.id },
    }
  );
}
