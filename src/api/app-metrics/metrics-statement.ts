import type { ExpectedError } from '../apps/apps.repository.js';
import type { Predicate } from '../../queries/predicates.js';
import type { Parameters } from '../../store/client/query-parameters.js';
import { type FileFormat, isTyped } from '../../shared/file-format.js';
import { type Measure, findBin } from '../../records/bins.js';
import { describePeriods } from '../../queries/calendar/buckets.js';
import { VERSION_INDEX } from './metric-condition.js';
import { GROUP_FIELDS, type GroupField } from './app-metrics.input.js';
import {
  BIN_SUMS,
  METRIC_COLUMNS,
  type MetricColumn,
  TOLERABLE_BINS,
  buildSums,
  findDefinition,
  findMiddles,
} from './metric-definitions.js';
import type { MetricPeriods } from './metric-periods.js';
import type { Source } from './sources.js';

/** A metrics query without its filter conditions. */
export interface MetricsQuery extends MetricPeriods {
  readonly format: FileFormat;
  readonly metrics: readonly MetricColumn[];
  readonly groupBy: readonly GroupField[];
  readonly apdexThresholdMs: number;
  /** IDs of endpoints with a status each (docs/contract.md#expected-errors). */
  readonly expectedErrors: readonly ExpectedError[];
  /** The time of the request, in milliseconds since the epoch. */
  readonly now: number;
}

export interface MetricsStatement extends Predicate {
  /** The names of its columns, in their order. */
  readonly columns: readonly string[];
  /** Whether it has a read that the engine makes of a projection. */
  readonly projections: boolean;
}

const MEASURES = ['time', 'received', 'sent'] as const satisfies readonly Measure[];

/** For each group field: its key in the tables, and its value in a row. */
const GROUPS: Readonly<Record<GroupField, { key: string; value: string }>> = {
  env: { key: 'app_env_id', value: 'toString(envs.name)' },
  app_version: { key: 'version_index', value: `nullIf(version_names[c.version_index + 1], '')` },
  consumer_id: { key: 'consumer_id', value: 'nullIf(toInt64(c.consumer_id), 0)' },
  method: { key: 'endpoint_id', value: `nullIf(toString(endpoints.method), '')` },
  path: { key: 'endpoint_id', value: `nullIf(endpoints.path, '')` },
  status_code: { key: 'status_code', value: 'nullIf(toInt32(c.status_code), 0)' },
  consumer_group: { key: 'group_id', value: 'if(c.group_id = 0, NULL, toString(consumer_groups.name))' },
  status_class: {
    key: 'status_class',
    value: `if(c.status_class = 0, NULL, concat(toString(c.status_class), 'xx'))`,
  },
};

/** Keys that are no columns of the tables: the column that each needs. */
const NEEDED_COLUMNS: Readonly<Record<string, string>> = {
  group_id: 'consumer_id',
  status_class: 'status_code',
  version_index: 'app_env_id',
};

/**
 * Adds the groups in which consumers are now. A join, because a constant of a million consumers exceeds the
 * memory of a query.
 */
const WITH_GROUPS = (rows: string) => `(
    SELECT r.*, g.group_id AS group_id
    FROM ${rows} AS r
    LEFT ANY JOIN (
      SELECT id, group_id FROM consumers_v1 FINAL WHERE app_id = {app_id:UInt32} AND group_id != 0
    ) AS g ON g.id = r.consumer_id
  )`;

const JOINED_NAMES: Readonly<Record<string, string>> = {
  app_env_id: `
LEFT JOIN (SELECT id, name FROM app_envs_v1 FINAL WHERE app_id = {app_id:UInt32}) AS envs
  ON envs.id = c.app_env_id`,
  endpoint_id: `
LEFT JOIN (SELECT id, method, path FROM endpoints_v1 FINAL WHERE app_id = {app_id:UInt32}) AS endpoints
  ON endpoints.id = c.endpoint_id`,
  group_id: `
LEFT JOIN (SELECT id, name FROM consumer_groups_v1 FINAL WHERE app_id = {app_id:UInt32}) AS consumer_groups
  ON consumer_groups.id = c.group_id`,
};

/** For groups by path or by method alone: the first endpoint with each value stands for all of them. */
const FIRST_ENDPOINTS = (column: GroupField) => `(
  SELECT (groupArray(id), groupArray(first_id))
  FROM (
    SELECT id, min(id) OVER (PARTITION BY ${column}) AS first_id
    FROM endpoints_v1 FINAL
    WHERE app_id = {app_id:UInt32}
  )
) AS first_endpoints`;
const FIRST_ENDPOINT_ID =
  'transform(f.endpoint_id, first_endpoints.1, first_endpoints.2, toUInt32(0)) AS endpoint_id';

/** Columns that each kind of sums reads. Errors are counted by endpoint and status. */
const VALUES = {
  requests: ['endpoint_id', 'status_code', 'n', 'bytes_received', 'bytes_sent'],
  bins: ['k', 'n'],
} as const;

/**
 * Reads no rows, because a file without rows still needs its columns. This table has the columns of every
 * group and filter.
 */
const NO_BUCKETS: readonly Source[] = [{ grain: 'minute', only: [] }];

/**
 * The statement of the response's rows. Requests and the bins of each measure are summed separately, each
 * over the tables of the periods' sources, and joined by period and group. Names of tables and columns come
 * only from the fixed lists of this file.
 *
 * @param conditions on columns of the tables, each behind an AND
 */
export function buildStatement(query: MetricsQuery, conditions: Predicate): MetricsStatement {
  const groupBy = GROUP_FIELDS.filter((field) => query.groupBy.includes(field));
  const { metrics, period, keys, common, summed, sums, ranks, params } = describeSums(
    query,
    conditions,
    groupBy,
  );
  const edges = { start: period.start, end: period.end };
  const joined = MEASURES.map((measure) => {
    const aggregates = { ...sums.bins(measure), ...computePercentiles(measure, ranks(measure)) };
    if (Object.keys(aggregates).length === 0) return '';
    return `\nLEFT JOIN (${summed(measure, aggregates)}\n) AS ${measure}_bins USING (${['period', ...keys].join(', ')})`;
  });
  const values = [
    // Whole seconds in texts; the clients' milliseconds if columns have types.
    ...Object.keys(edges).map(
      (edge) => `${isTyped(query.format) ? `toDateTime64(${edge}, 3, 'UTC')` : edge} AS period_${edge}`,
    ),
    ...groupBy.map((field) => `${GROUPS[field].value} AS ${field}`),
    ...metrics.map((metric) => {
      const { value } = findDefinition(metric);
      if (typeof value !== 'string') {
        const list = `${value.measure}_percentiles`;
        const place = ranks(value.measure).indexOf(value.rank) + 1;
        return `if(empty(${list}), NULL, ${list}[${place}]) AS ${metric}`;
      }
      const isText = metric === 'response_time_histogram' && query.format.startsWith('csv');
      return `${isText ? `toJSONString(${value})` : value} AS ${metric}`;
    }),
  ];
  const sql = `
${common}SELECT
  ${values.join(',\n  ')}
FROM (${summed('requests', { ...edges, ...sums.counts })}
  HAVING sum_requests > 0
) AS c${joined.join('')}${keys.map((key) => JOINED_NAMES[key] ?? '').join('')}
ORDER BY ${['period_start', ...groupBy].join(', ')}`;
  const columns = ['period_start', 'period_end', ...groupBy, ...metrics];
  const hasBins = joined.some((join) => join !== '');
  const projections = hasBins && query.sources.some((source) => isProjected(source, keys, conditions.sql));
  return { columns, sql, params, projections };
}

/** Of each period that has any, when it begins and its number of rows, in the order of the periods. */
export function buildRowCounts(query: MetricsQuery, conditions: Predicate): Predicate {
  const { period, common, summed, sums, params } = describeSums(query, conditions, query.groupBy);
  const { sum_requests } = sums.counts as { sum_requests: string };
  const sql = `
${common}SELECT toUnixTimestamp(start) AS start_s, count() AS rows
FROM (${summed('requests', { start: period.start, sum_requests })}
  HAVING sum_requests > 0
)
GROUP BY start_s
ORDER BY start_s`;
  return { sql, params };
}

/** What the statements of a query have in common. */
function describeSums(query: MetricsQuery, conditions: Predicate, groupBy: readonly GroupField[]) {
  const { format, bounds, apdexThresholdMs, expectedErrors, now } = query;
  const metrics = METRIC_COLUMNS.filter((metric) => query.metrics.includes(metric));
  const sources = query.sources.length > 0 ? query.sources : NO_BUCKETS;
  const grains = sources.map(({ grain }) => grain);
  const period = describePeriods('f.bucket', bounds, grains, 'bounds');
  const ofEndpoint = groupBy.filter((field) => GROUPS[field].key === 'endpoint_id');
  const isByOneName = ofEndpoint.length === 1;
  const keys = [...new Set(groupBy.map((field) => GROUPS[field].key))];
  const definitions = metrics.map(findDefinition);
  const needed = new Set<string>(['sum_requests', ...definitions.flatMap(({ sums }) => sums)]);
  const neededBins = new Set<string>(definitions.flatMap(({ bins = [] }) => bins));
  const counts = Object.entries(buildSums(isTyped(format), expectedErrors.length > 0));
  const satisfying_k = findBin(apdexThresholdMs / 1000);
  const computed: Readonly<Record<string, string | undefined>> = {
    status_class: 'intDiv(f.status_code, 100) AS status_class',
    version_index: `${VERSION_INDEX('f.')} AS version_index`,
    ...(isByOneName && { endpoint_id: FIRST_ENDPOINT_ID }),
  };
  const keyColumns = keys.map((key) => computed[key] ?? `f.${key} AS ${key}`);
  const { versions } = query;
  const common = [
    ...(versions
      ? [
          '{version_starts:Array(UInt64)} AS version_starts',
          '{version_indexes:Array(UInt32)} AS version_indexes',
          '{version_names:Array(String)} AS version_names',
        ]
      : []),
    ...('bounds' in period.params ? ['{bounds:Array(UInt32)} AS bounds'] : []),
    ...ofEndpoint.slice(0, isByOneName ? 1 : 0).map(FIRST_ENDPOINTS),
  ];
  return {
    metrics,
    period,
    keys,
    common: common.length === 0 ? '' : `WITH ${common.join(', ')}\n`,
    summed: (measure: 'requests' | Measure, aggregates: Readonly<Record<string, string>>) => `
  SELECT ${[`${period.key} AS period`, ...keyColumns, ...nameAll(aggregates)].join(', ')}
  FROM ${readSources(measure, isByOneName, keys, sources, conditions.sql)}
  GROUP BY ${['period', ...keys].join(', ')}`,
    sums: {
      counts: Object.fromEntries(counts.filter(([name]) => needed.has(name))),
      bins: (measure: Measure) =>
        Object.fromEntries(
          Object.entries(BIN_SUMS)
            .filter(([name, sum]) => sum.measure === measure && neededBins.has(name))
            .map(([name, { sql }]) => [name, sql]),
        ),
    },
    ranks: (measure: Measure) =>
      definitions.flatMap(({ value }) =>
        typeof value !== 'string' && value.measure === measure ? [value.rank] : [],
      ),
    params: {
      ...conditions.params,
      ...period.params,
      ...Object.fromEntries(sources.flatMap((source, index) => Object.entries(buildParams(source, index)))),
      expected_endpoint_ids: expectedErrors.map(([endpointId]) => endpointId),
      expected_status_codes: expectedErrors.map(([, statusCode]) => statusCode),
      satisfying_k,
      tolerable_k: satisfying_k + TOLERABLE_BINS,
      now: Math.floor(now / 1000),
      ...(versions && {
        version_starts: versions.starts,
        version_indexes: versions.indexes,
        version_names: versions.names,
      }),
    },
  };
}

const nameAll = (expressions: Readonly<Record<string, string>>) =>
  Object.entries(expressions).map(([name, sql]) => `${sql} AS ${name}`);

function computePercentiles(measure: Measure, ranks: readonly number[]): Readonly<Record<string, string>> {
  if (ranks.length === 0) return {};
  const bins = `quantilesExactWeighted(${ranks.join(', ')})(f.k, f.n)`;
  return { [`${measure}_percentiles`]: findMiddles(measure, bins) };
}

/**
 * The rows of the sources as `f`. A single table is read without a subquery, which takes 7 % of a short
 * window. A subquery is needed if another column has the name `endpoint_id`, because the conditions would be
 * ambiguous.
 */
function readSources(
  measure: 'requests' | Measure,
  isByOneName: boolean,
  keys: readonly string[],
  sources: readonly Source[],
  conditions: string,
): string {
  const kind = measure === 'requests' ? 'requests' : 'bins';
  const tables = sources.flatMap((source, index) => {
    const part = { grain: source.grain, constants: '', condition: buildCondition(source, index) };
    if (part.grain !== '15m_by_consumer') return [part];
    // This table lacks rows without a consumer; in the other table these are marked.
    const marked = `without_consumer AND ${part.condition}`;
    return [part, { grain: '15m', constants: 'WITH 0 AS consumer_id ', condition: marked }];
  });
  const read = ({ grain, condition }: (typeof tables)[number], alias = '') => `counts_per_${grain}_v1${alias}
    WHERE app_id = {app_id:UInt32} AND measure = '${measure}'
      AND ${condition}${conditions.replaceAll('\n', '\n    ')}`;
  const isSummed = (part: { grain: string }) => kind === 'bins' && isProjected(part, keys, conditions);
  const [only] = tables;
  const isPlain = !isByOneName && !keys.includes('group_id');
  if (only && tables.length === 1 && isPlain && !isSummed(only)) return read(only, ' AS f');
  const columns = new Set(['bucket', ...keys.map((key) => NEEDED_COLUMNS[key] ?? key), ...VALUES[kind]]);
  const reads = tables.map((part) =>
    isSummed(part)
      ? `
    SELECT bucket, k, sum(n) AS n
    FROM ${read(part)}
    GROUP BY bucket, k`
      : `
    ${part.constants}SELECT ${[...columns].join(', ')}
    FROM ${read(part)}`,
  );
  const rows = `(${reads.join('\n    UNION ALL')}\n  )`;
  return `${keys.includes('group_id') ? WITH_GROUPS(rows) : rows} AS f`;
}

/** Whether a read of bins has the form of the projection `sums_of_app`. */
function isProjected({ grain }: { grain: string }, keys: readonly string[], conditions: string): boolean {
  return keys.length === 0 && conditions === '' && (grain === 'hour' || grain === 'day');
}

function buildCondition(source: Source, index: number): string {
  if ('only' in source) return `bucket IN {only_${index}:Array(UInt32)}`;
  const window = `bucket >= {from_${index}:UInt32} AND bucket < {to_${index}:UInt32}`;
  return source.except.length === 0 ? window : `${window} AND bucket NOT IN {except_${index}:Array(UInt32)}`;
}

function buildParams(source: Source, index: number): Parameters {
  return 'only' in source
    ? { [`only_${index}`]: source.only }
    : { [`from_${index}`]: source.from, [`to_${index}`]: source.to, [`except_${index}`]: source.except };
}
