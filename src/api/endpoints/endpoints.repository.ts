import { Injectable } from '@nestjs/common';
import { AppScopedStore } from '../apps/app-scoped-store.js';
import type { AppScope, Match } from '../apps/apps.service.js';
import {
  type Predicate,
  and,
  envIs,
  methodIn,
  ofScopeConsumer,
  pathMatches,
} from '../../queries/predicates.js';
import type { Endpoint } from './endpoints.dto.js';

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
    WHERE app_id = {app_id:UInt32}${filter}
  )`;

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
