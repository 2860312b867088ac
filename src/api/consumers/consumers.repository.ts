import { Injectable } from '@nestjs/common';
import { AppScopedStore } from '../apps/app-scoped-store.js';
import type { AppScope, Match } from '../apps/apps.service.js';
import { type Predicate, and, notExcluded, ofScopeConsumer } from '../../queries/predicates.js';
import type { Consumer } from './consumers.dto.js';

export interface ConsumerQuery {
  /** Only consumers with a request at or after this time, milliseconds since the epoch. */
  requestsSince?: number | undefined;
  /** Only consumers below this ID, the last one of the previous page. */
  before?: number | undefined;
  limit: number;
}

interface ConsumerRow extends Omit<Consumer, 'group'> {
  group_id: number;
  group_name: string;
}

/** The counted requests of a consumer. */
export interface ConsumerRequests {
  consumer_id: number;
  /** Start of the first quarter-hour with requests. */
  first_request_at: string;
  /** Requests since a time. */
  requests: number;
}

/** A consumer without its times; `group_name` is empty without a group. */
export interface NamedConsumer {
  id: number;
  identifier: string;
  name: string;
  group_name: string;
}

const PAGE = (filter: string) => `
WITH page AS (
  SELECT id, identifier, name, group_id, created_at
  FROM consumers_v1 FINAL
  WHERE app_id = {app_id:UInt32}${filter}
  ORDER BY id DESC
  LIMIT {limit:UInt32}
)
SELECT p.id AS id, p.identifier AS identifier, p.name AS name, p.group_id AS group_id, g.name AS group_name,
  p.created_at AS created_at, if(a.at = toDateTime64(0, 3), p.created_at, a.at) AS last_request_at
FROM page AS p
LEFT JOIN (
  SELECT consumer_id, max(last_request_at) AS at
  FROM consumer_activity_v1
  WHERE app_id = {app_id:UInt32} AND consumer_id IN (SELECT id FROM page)
  GROUP BY consumer_id
) AS a ON a.consumer_id = p.id
LEFT JOIN (SELECT id, name FROM consumer_groups_v1 FINAL WHERE app_id = {app_id:UInt32}) AS g ON g.id = p.group_id
ORDER BY p.id DESC`;

const REQUESTS = (filter: string) => `
SELECT consumer_id, min(bucket) AS first_request_at, sumIf(requests, bucket >= {since:UInt32}) AS requests
FROM counts_per_15m_by_consumer_v1
WHERE app_id = {app_id:UInt32} AND consumer_id IN {ids:Array(UInt32)} AND bucket >= {retained_from:UInt32}${filter}
GROUP BY consumer_id`;

const CONSUMERS_WITH_GROUPS = (filter = '') => `
FROM consumers_v1 AS c FINAL
LEFT JOIN (SELECT id, name FROM consumer_groups_v1 FINAL WHERE app_id = {app_id:UInt32}) AS g ON g.id = c.group_id
WHERE c.app_id = {app_id:UInt32}${filter}`;
const MATCH = `multiIf(
  c.identifier = {text:String}, 'exact',
  lowerUTF8(c.name) = lowerUTF8({text:String}) OR toString(c.id) = {text:String}, 'exact',
  positionCaseInsensitiveUTF8(c.identifier, {text:String}) > 0
    OR positionCaseInsensitiveUTF8(c.name, {text:String}) > 0
    OR positionCaseInsensitiveUTF8(g.name, {text:String}) > 0, 'contains',
  'similar'
)`;
/** Only the beginnings of longer texts are compared, because the time is the product of both lengths. */
const SIMILARITY = (column: string) =>
  `jaroWinklerSimilarity(lower(substring(${column}, 1, 100)), lower(substring({text:String}, 1, 100)))`;
const SEARCH = (filter: string) => `
SELECT c.id AS id, c.identifier AS identifier, c.name AS name, g.name AS group_name, ${MATCH} AS match
${CONSUMERS_WITH_GROUPS(filter)}
ORDER BY c.identifier = {text:String} DESC, match = 'exact' DESC, match = 'contains' DESC,
  if(match = 'similar', greatest(${SIMILARITY('c.identifier')}, ${SIMILARITY('c.name')}), 1) DESC, c.id DESC
LIMIT {limit:UInt32}`;
const FIND = (filter: string) => `
SELECT c.id AS id, c.identifier AS identifier, c.name AS name, g.name AS group_name
${CONSUMERS_WITH_GROUPS(filter)} AND c.id IN {ids:Array(UInt32)}`;

const ACTIVE_SINCE = `id IN (
    SELECT consumer_id FROM consumer_activity_v1
    WHERE app_id = {app_id:UInt32}
    GROUP BY consumer_id
    HAVING max(last_request_at) >= fromUnixTimestamp64Milli({requests_since:Int64}, 'UTC')
  )`;

@Injectable()
export class ConsumersRepository {
  constructor(private readonly store: AppScopedStore) {}

  /** Consumers by ID, descending. */
  async page(scope: AppScope, { requestsSince, before, limit }: ConsumerQuery): Promise<Consumer[]> {
    const { sql, params } = and(
      below(before),
      activeSince(requestsSince),
      ofScopeConsumer(scope.consumerId, 'id'),
    );
    const rows = await this.store.rows<ConsumerRow>(scope, 'consumers.page', PAGE(sql), { ...params, limit });
    return rows.map(({ id, identifier, name, group_id, group_name, created_at, last_request_at }) => {
      const group = group_id === 0 ? null : { id: group_id, name: group_name };
      return { id, identifier, name, group, created_at, last_request_at };
    });
  }

  /**
   * The counted requests of consumers; those without one are left out.
   *
   * @param since start of a quarter-hour in seconds since the epoch, like `retained_from`
   */
  countRequests(
    scope: AppScope,
    ids: readonly number[],
    { since, retained_from }: { since: number; retained_from: number },
  ): Promise<ConsumerRequests[]> {
    const { sql, params } = and(
      notExcluded(scope.excludedEndpointIds),
      ofScopeConsumer(scope.consumerId, 'consumer_id'),
    );
    const values = { ...params, ids, since, retained_from };
    return this.store.rows(scope, 'consumers.requests', REQUESTS(sql), values);
  }

  /**
   * The consumers whose identifier, name, ID or group are most similar to a text; an empty text matches all.
   */
  search(scope: AppScope, text: string, limit: number): Promise<(NamedConsumer & { match: Match })[]> {
    const { sql, params } = and(ofScopeConsumer(scope.consumerId, 'c.id'));
    return this.store.rows(scope, 'consumers.search', SEARCH(sql), { ...params, text, limit });
  }

  /** The consumers with these IDs, in any order; IDs that do not exist are left out. */
  find(scope: AppScope, ids: readonly number[]): Promise<NamedConsumer[]> {
    const { sql, params } = and(ofScopeConsumer(scope.consumerId, 'c.id'));
    return this.store.rows(scope, 'consumers.find', FIND(sql), { ...params, ids });
  }
}

function below(before: number | undefined): Predicate | undefined {
  return before === undefined ? undefined : { sql: 'id < {before:Int64}', params: { before } };
}

function activeSince(requests_since: number | undefined): Predicate | undefined {
  return requests_since === undefined ? undefined : { sql: ACTIVE_SINCE, params: { requests_since } };
}
