import { describePeriods } from '../../queries/calendar/buckets.js';
import type { Interval } from '../../queries/calendar/periods.js';
import { compare } from '../../queries/filters/comparison.js';
import { type Predicate, and, inScope } from '../../queries/predicates.js';
import { type FileFormat, isTyped } from '../../shared/file-format.js';
import { NIL_UUID } from '../../shared/nil-uuid.js';
import { toMetricCondition } from '../app-metrics/metric-condition.js';
import type { AppScope } from '../apps/apps.service.js';
import { ERROR_FILTERS, type ErrorFilter } from './errors.input.js';

export interface ErrorsQuery {
  readonly format: FileFormat;
  /** Bounds of the window's periods in seconds since the epoch; empty if no part of it is retained. */
  readonly bounds: readonly number[];
  /** Rows by period; undefined: the window is one. */
  readonly interval: Interval | undefined;
  readonly byConsumer: boolean;
  readonly filters: readonly ErrorFilter[];
  /** The most errors; undefined: all. */
  readonly limit: number | undefined;
  /** The first quarter-hour of counts, in seconds since the epoch. */
  readonly countsFrom: number;
  /** The oldest time of texts, in milliseconds since the epoch. */
  readonly textsFrom: number;
}

const NO_UUID = `toUUID('${NIL_UUID}')`;
const NO_TRACE = `toFixedString('', 16)`;

const IN_WINDOW = 'c.bucket >= {window_from:UInt32} AND c.bucket < {window_to:UInt32}';

/** The errors of the window in each environment: how often they came, and when first and last. */
const countErrors = (conditions: string, hasLimit: boolean) => `
  SELECT c.fingerprint AS id, c.app_env_id AS env_id,
    argMax((toString(c.kind), toString(c.type), c.endpoint_id), c.last_seen) AS named,
    sumIf(c.errors, ${IN_WINDOW}) AS occurrences,
    uniqExactIf(c.consumer_id, c.consumer_id != 0 AND ${IN_WINDOW}) AS affected_consumers,
    min(c.first_seen) AS first, max(c.last_seen) AS last
  FROM error_counts_per_15m_v1 AS c
  WHERE app_id = {app_id:UInt32} AND c.bucket >= {counts_from:UInt32}${conditions}
  GROUP BY id, env_id
  HAVING occurrences > 0
  ORDER BY occurrences DESC, last DESC, id, env_id${hasLimit ? '\n  LIMIT {limit:UInt64}' : ''}`;

/** The newest text, request, trace and event of each of these errors. */
const findNewest = (conditions: string) => `
  SELECT e.fingerprint AS id, e.app_env_id AS env_id,
    argMax(e.message, e.timestamp) AS text,
    argMaxIf(e.request_uuid, e.timestamp, e.request_uuid != ${NO_UUID}) AS uuid,
    argMaxIf(e.sentry_event_id, e.timestamp, e.sentry_event_id != '') AS event_id,
    argMaxIf(e.trace_id, e.timestamp, e.trace_id != ${NO_TRACE}) AS trace
  FROM errors_v1 AS e
  WHERE app_id = {app_id:UInt32} AND e.fingerprint IN (SELECT id FROM counted)
    AND e.timestamp >= fromUnixTimestamp64Milli({texts_from:Int64}, 'UTC')
    AND e.timestamp < fromUnixTimestamp64Milli({texts_to:Int64}, 'UTC')${conditions}
  GROUP BY id, env_id`;

/** Columns of each row, and their values. */
const ROW = {
  fingerprint: `lower(leftPad(hex(counted.id), 16, '0'))`,
  kind: 'counted.named.1',
  type: 'counted.named.2',
  message: `nullIf(newest.text, '')`,
  method: `nullIf(toString(endpoints.method), '')`,
  path: `nullIf(endpoints.path, '')`,
  env: 'toString(envs.name)',
} as const;
const NEWEST = {
  first_seen: 'counted.first',
  last_seen: 'counted.last',
  request_uuid: `if(newest.uuid = ${NO_UUID}, NULL, toString(newest.uuid))`,
  sentry_event_id: `nullIf(newest.event_id, '')`,
  trace_id: `if(newest.trace = ${NO_TRACE}, NULL, lower(hex(newest.trace)))`,
} as const;

/** The statement of the response's rows. Names of columns come only from the fixed lists of this file. */
export function buildStatement(
  scope: AppScope,
  query: ErrorsQuery,
): Predicate & { columns: readonly string[] } {
  const { bounds, interval, byConsumer, filters, limit } = query;
  const { sql: conditions, params } = and(...filters.map(toErrorCondition), ...inScope(scope));
  const [from = 0, to = from] = [bounds[0], bounds.at(-1)];
  const period = interval === undefined ? undefined : describePeriods('c.bucket', bounds, ['15m']);
  const isGrouped = period !== undefined || byConsumer;
  const typed = (time: string) => (isTyped(query.format) ? `toDateTime64(${time}, 3, 'UTC')` : time);
  const counts = isGrouped ? 'groups' : 'counted';
  const values = {
    ...(period && { period_start: typed('groups.start'), period_end: typed('groups.end') }),
    ...ROW,
    ...(byConsumer && { consumer_id: 'nullIf(toInt64(groups.consumer), 0)' }),
    errors: `toInt64(${counts}.occurrences)`,
    consumers: `toInt64(${counts}.affected_consumers)`,
    ...NEWEST,
  };
  const keys = [...(period ? ['period'] : []), ...(byConsumer ? ['consumer'] : [])];
  const groups = `
INNER JOIN (
  SELECT ${[
    'c.fingerprint AS id, c.app_env_id AS env_id',
    ...(period ? [`${period.key} AS period, ${period.start} AS start, ${period.end} AS end`] : []),
    ...(byConsumer ? ['c.consumer_id AS consumer'] : []),
    'sum(c.errors) AS occurrences, uniqExactIf(c.consumer_id, c.consumer_id != 0) AS affected_consumers',
  ].join(',\n    ')}
  FROM error_counts_per_15m_v1 AS c
  WHERE app_id = {app_id:UInt32} AND (c.fingerprint, c.app_env_id) IN (SELECT id, env_id FROM counted)
    AND ${IN_WINDOW}${conditions}
  GROUP BY ${['id', 'env_id', ...keys].join(', ')}
) AS groups ON groups.id = counted.id AND groups.env_id = counted.env_id`;
  const order = [
    ...(period ? ['period_start'] : []),
    'errors DESC',
    'last_seen DESC',
    'counted.id',
    'counted.env_id',
    ...(byConsumer ? ['groups.consumer'] : []),
  ];
  return {
    columns: Object.keys(values),
    sql: `
WITH counted AS (${countErrors(conditions, limit !== undefined)}
),
newest AS (${findNewest(conditions)}
)
SELECT
  ${Object.entries(values)
    .map(([name, sql]) => `${sql} AS ${name}`)
    .join(',\n  ')}
FROM counted${isGrouped ? groups : ''}
LEFT JOIN newest ON newest.id = counted.id AND newest.env_id = counted.env_id
LEFT JOIN (SELECT id, name FROM app_envs_v1 FINAL WHERE app_id = {app_id:UInt32}) AS envs ON envs.id = counted.env_id
LEFT JOIN (SELECT id, method, path FROM endpoints_v1 FINAL WHERE app_id = {app_id:UInt32}) AS endpoints
  ON endpoints.id = counted.named.3
ORDER BY ${order.join(', ')}`,
    params: {
      ...params,
      ...period?.params,
      window_from: from,
      window_to: to,
      counts_from: query.countsFrom,
      texts_from: Math.max(query.textsFrom, from * 1000),
      texts_to: to * 1000,
      ...(limit !== undefined && { limit }),
    },
  };
}

/** A filter as a condition on columns that counts and texts both have. */
function toErrorCondition(filter: ErrorFilter, index: number): Predicate {
  const { field } = filter;
  switch (field) {
    case 'fingerprint':
      return compareText(`lower(leftPad(hex(fingerprint), 16, '0'))`, filter, index);
    case 'kind':
      return compareText('toString(kind)', filter, index);
    case 'type':
      return compareText('type', filter, index);
    case 'env':
    case 'consumer_id':
    case 'method':
    case 'path':
      return toMetricCondition({ ...filter, field }, index);
  }
}

const compareText = (sql: string, filter: ErrorFilter, index: number) =>
  compare({ sql }, ERROR_FILTERS[filter.field], filter, `filter_${index}`);
