import { Injectable } from '@nestjs/common';
import { AppScopedStore } from '../apps/app-scoped-store.js';
import type { AppScope, Match } from '../apps/apps.service.js';
import { type Predicate, and, inScope, ofScopeConsumer } from '../../queries/predicates.js';
import type { Window } from '../../shared/time/window.js';
import type { MetricFilter } from '../app-metrics/app-metrics.input.js';
import { toMetricCondition } from '../app-metrics/metric-condition.js';
import type { Consumer, ConsumerState } from './consumers.dto.js';

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
  /** By the requests since then. */
  state: ConsumerState;
}

/** A consumer that is new in a window, or quiet in it after requests in the baseline. */
export interface MovedConsumer {
  consumer_id: number;
  state: 'new' | 'quiet';
  /** Number of consumers with this state. */
  consumers: number;
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

const REQUESTS = (filter: string, more = '') => `
SELECT c.consumer_id AS consumer_id, min(c.bucket) AS first_request_at,
  sumIf(c.n, c.bucket >= {since:UInt32}) AS requests${more},
  multiIf(requests = 0, 'quiet', first_request_at >= {since:UInt32}, 'new', 'returning') AS state
FROM counts_per_15m_by_consumer_v1 AS c
WHERE app_id = {app_id:UInt32} AND measure = 'requests' AND bucket >= {retained_from:UInt32}${filter}
GROUP BY consumer_id`;

const REQUESTS_BEFORE = `,
  sumIf(c.n, c.bucket >= {before:UInt32} AND c.bucket < {since:UInt32}) AS requests_before`;

/** Those with the most requests first. */
const MOVED = (filter: string) => `
SELECT consumer_id, state, count() OVER (PARTITION BY state) AS consumers
FROM (${REQUESTS(filter, REQUESTS_BEFORE)})
WHERE state = 'new' OR (state = 'quiet' AND requests_before > 0)
ORDER BY state, requests + requests_before DESC, consumer_id
LIMIT {limit:UInt32} BY state`;

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
    const ofConsumers = { sql: 'consumer_id IN {ids:Array(UInt32)}', params: { ids } };
    const { sql, params } = and(ofConsumers, ...inScope(scope));
    const values = { ...params, since, retained_from };
    return this.store.rows(scope, 'consumers.requests', REQUESTS(sql), values, { projections: false });
  }

  /**
   * The consumers that made their first request in a window, and those that made requests in the baseline
   * before it alone.
   *
   * @param retainedFrom in milliseconds since the epoch, like the windows
   * @param limit consumers with each state
   */
  findMoved(
    scope: AppScope,
    { window, baseline }: { window: Window; baseline: Window },
    filters: readonly MetricFilter[],
    { retainedFrom, limit }: { retainedFrom: number; limit: number },
  ): Promise<MovedConsumer[]> {
    const { sql, params } = and(
      { sql: 'consumer_id != 0 AND bucket < {until:UInt32}', params: { until: window.end / 1000 } },
      ...filters.map(toMetricCondition),
      ...inScope(scope),
    );
    return this.store.rows(scope, 'consumers.moved', MOVED(sql), {
      ...params,
      since: window.start / 1000,
      before: baseline.start / 1000,
      retained_from: Math.ceil(retainedFrom / 1000),
      limit,
    });
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
