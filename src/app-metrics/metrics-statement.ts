import type { ExpectedError } from '../apps/apps.repository.js';
import { type Predicate, sumBytes } from '../clickhouse/predicates.js';
import type { Parameters } from '../clickhouse/query-parameters.js';
import { type FileFormat, isTyped } from '../common/formats/file-format.js';
import { BINS_PER_OCTAVE, findBin } from '../ingestion/bins.js';
import { GROUP_FIELDS, type GroupField, METRICS, type Metric } from './app-metrics.input.js';
import { describePeriods } from '../traffic/buckets.js';
import type { MetricPeriods } from './metric-periods.js';
import type { Source } from './sources.js';

/** A metrics query without its filter conditions. */
export interface MetricsQuery extends MetricPeriods {
  readonly format: FileFormat;
  readonly metrics: readonly Metric[];
  readonly groupBy: readonly GroupField[];
  readonly apdexThresholdMs: number;
  /** IDs of endpoints with a status each (docs/contract.md#expected-errors). */
  readonly expectedErrors: readonly ExpectedError[];
  /** The request's one "now", in milliseconds since the epoch. */
  readonly now: number;
}

export interface MetricsStatement extends Predicate {
  /** The names of its columns, in their order. */
  readonly columns: readonly string[];
}

/** Leaves out expected errors (docs/contract.md#expected-errors). */
const NOT_EXPECTED =
  ' AND (f.endpoint_id, f.status_code) NOT IN arrayZip({expected_endpoint_ids:Array(UInt32)}, {expected_status_codes:Array(UInt16)})';

/**
 * Sums of `counts_*` for the metrics. Each function in a statement takes about a hundredth of the time of a short window.
 *
 * @param isSigned whether the sums must be Int64, which typed formats have
 * @param hasExpected whether the app has expected errors
 */
const buildSums = (isSigned: boolean, hasExpected: boolean) => {
  const cast = (sum: string) => (isSigned ? `toInt64(${sum})` : sum);
  const countErrors = (from: number) =>
    cast(
      `sumIf(f.requests, f.status_code >= ${from} AND f.status_code < ${from + 100}${hasExpected ? NOT_EXPECTED : ''})`,
    );
  return {
    sum_requests: cast('sum(f.requests)'),
    sum_known_requests: cast('sumIf(f.requests, f.status_code != 0)'),
    sum_bytes_received: sumBytes('f.bytes_received'),
    sum_bytes_sent: sumBytes('f.bytes_sent'),
    sum_client_errors: countErrors(400),
    sum_server_errors: countErrors(500),
  };
};
type Sum = keyof ReturnType<typeof buildSums>;

/** Sums of `bins_*` for apdex. */
const APDEX_SUMS = [
  'sum(f.n) AS timed_requests',
  'sumIf(f.n, f.k <= {satisfying_k:Int16}) AS satisfied',
  'sumIf(f.n, f.k > {satisfying_k:Int16} AND f.k <= {tolerable_k:Int16}) AS tolerated',
];
/** Times up to 4 times the threshold are tolerable: two octaves above its bin. */
const TOLERABLE_BINS = 2 * BINS_PER_OCTAVE;

/** Ranks of the percentiles. */
const RANKS: Partial<Readonly<Record<Metric, number>>> = {
  response_time_p50: 0.5,
  response_time_p75: 0.75,
  response_time_p90: 0.9,
  response_time_p95: 0.95,
  response_time_p99: 0.99,
};

/** The middle of each bin of seconds, in whole milliseconds; that of the bin of zeros is so small that it is 0. */
const MILLISECONDS = (ks: string) =>
  `arrayMap(k -> toInt32(least(round(1000 * exp2(k / ${BINS_PER_OCTAVE})), 2147483647)), ${ks})`;

/** For each metric except percentiles: its column, and the sums of counts that it needs besides the requests. */
const COUNTED: Partial<Readonly<Record<Metric, readonly [sql: string, ...sums: Sum[]]>>> = {
  requests: ['sum_requests'],
  requests_per_minute: [
    'sum_requests / greatest(1, (least(toInt64(end), {now:Int64}) - toInt64(start)) / 60)',
  ],
  bytes_received: ['sum_bytes_received', 'sum_bytes_received'],
  bytes_sent: ['sum_bytes_sent', 'sum_bytes_sent'],
  client_errors: [
    'if(sum_known_requests = 0, NULL, sum_client_errors)',
    'sum_known_requests',
    'sum_client_errors',
  ],
  server_errors: [
    'if(sum_known_requests = 0, NULL, sum_server_errors)',
    'sum_known_requests',
    'sum_server_errors',
  ],
  error_rate: [
    '(sum_client_errors + sum_server_errors) / nullIf(sum_known_requests, 0)',
    'sum_known_requests',
    'sum_client_errors',
    'sum_server_errors',
  ],
  apdex: ['(satisfied + tolerated / 2) / nullIf(timed_requests, 0)'],
};

/** For each group field: its key in counts and bins, and its value in a row. */
const GROUPS: Readonly<Record<GroupField, { key: string; value: string }>> = {
  env: { key: 'app_env_id', value: 'toString(envs.name)' },
  consumer_id: { key: 'consumer_id', value: 'nullIf(toInt64(c.consumer_id), 0)' },
  method: { key: 'endpoint_id', value: `nullIf(toString(endpoints.method), '')` },
  path: { key: 'endpoint_id', value: `nullIf(endpoints.path, '')` },
  status_code: { key: 'status_code', value: 'nullIf(toInt32(c.status_code), 0)' },
};

const JOINED_NAMES: Readonly<Record<string, string>> = {
  app_env_id: `
LEFT JOIN (SELECT id, name FROM app_envs_v1 FINAL WHERE app_id = {app_id:UInt32}) AS envs
  ON envs.id = c.app_env_id`,
  endpoint_id: `
LEFT JOIN (SELECT id, method, path FROM endpoints_v1 FINAL WHERE app_id = {app_id:UInt32}) AS endpoints
  ON endpoints.id = c.endpoint_id`,
};

/** For groups by path or by method alone: endpoints with the same value count as the first of them. */
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

/** Columns of the tables for each key. Errors are counted by endpoint and status. */
const VALUES = {
  counts: ['endpoint_id', 'status_code', 'requests', 'bytes_received', 'bytes_sent'],
  bins: ['k', 'n'],
} as const;

/** The metrics that are computed from bins; they stand behind the others in a row. */
export const isFromBins = (metric: Metric) => metric in RANKS || metric === 'apdex';

/** Reads no rows, because a file without rows still needs its columns. The table has those of every group and filter. */
const NO_BUCKETS: readonly Source[] = [{ grain: 'minute', only: [] }];

/**
 * The statement of the response's rows. Counts and bins are summed separately, each over the tables of the periods'
 * sources, and joined by period and group. Names of tables and columns come only from the fixed lists of this file.
 *
 * @param conditions on columns of both kinds of tables, each behind an AND
 * @param from `counts`: without the metrics from bins. `bins`: only `period_start` and these metrics, for a query without groups
 */
export function buildStatement(
  query: MetricsQuery,
  conditions: Predicate,
  from: 'both' | 'counts' | 'bins' = 'both',
): MetricsStatement {
  const { format, bounds, apdexThresholdMs, expectedErrors, now } = query;
  const metrics = METRICS.filter(
    (metric) =>
      query.metrics.includes(metric) && (from === 'both' || isFromBins(metric) === (from === 'bins')),
  );
  const groupBy = GROUP_FIELDS.filter((field) => query.groupBy.includes(field));
  const sources = query.sources.length > 0 ? query.sources : NO_BUCKETS;

  const grains = sources.map(({ grain }) => grain);
  const period = describePeriods('f.bucket', bounds, grains, 'bounds');
  const ofEndpoint = groupBy.filter((field) => GROUPS[field].key === 'endpoint_id');
  const isByOneName = ofEndpoint.length === 1;
  const keys = [...new Set(groupBy.map((field) => GROUPS[field].key))];
  const keyColumns = keys.map((key) =>
    key === 'endpoint_id' && isByOneName ? FIRST_ENDPOINT_ID : `f.${key} AS ${key}`,
  );
  const read = (kind: 'counts' | 'bins') => readSources(kind, isByOneName, keys, sources, conditions.sql);
  const summed = (kind: 'counts' | 'bins', aggregates: readonly string[], having = '') => `
  SELECT ${[`${period.key} AS period`, ...keyColumns, ...aggregates].join(', ')}
  FROM ${read(kind)}
  GROUP BY ${['period', ...keys].join(', ')}${having}`;

  const percentiles = metrics.filter((metric) => metric in RANKS);
  const ranks = percentiles.map((metric) => RANKS[metric]).join(', ');
  const fromBins = [
    ...(percentiles.length > 0
      ? [`${MILLISECONDS(`quantilesExactWeighted(${ranks})(f.k, f.n)`)} AS percentiles`]
      : []),
    ...(metrics.includes('apdex') ? APDEX_SUMS : []),
  ];
  const needed = new Set<string>([
    'sum_requests',
    ...metrics.flatMap((metric) => COUNTED[metric]?.slice(1) ?? []),
  ]);
  const fromCounts = Object.entries(buildSums(isTyped(format), expectedErrors.length > 0)).flatMap(
    ([name, sum]) => (needed.has(name) ? [`${sum} AS ${name}`] : []),
  );
  const edges = from === 'bins' ? ['start'] : ['start', 'end'];
  const values = [
    // Whole seconds in texts, the clients' milliseconds where columns have types.
    ...edges.map((edge) => `${isTyped(format) ? `toDateTime64(${edge}, 3, 'UTC')` : edge} AS period_${edge}`),
    ...groupBy.map((field) => `${GROUPS[field].value} AS ${field}`),
    ...metrics.map((metric) => `${buildColumn(metric, percentiles, from === 'both')} AS ${metric}`),
  ];
  const common = [
    ...('bounds' in period.params ? ['{bounds:Array(UInt32)} AS bounds'] : []),
    ...ofEndpoint.slice(0, isByOneName ? 1 : 0).map(FIRST_ENDPOINTS),
  ];
  const start = `${period.start} AS start`;
  const counted = [start, `${period.end} AS end`, ...fromCounts];
  const having = '\n  HAVING sum_requests > 0';
  const joinBins = () =>
    `\nLEFT JOIN (${summed('bins', fromBins)}\n) AS b USING (${['period', ...keys].join(', ')})`;
  const joined = () =>
    `(${summed('counts', counted, having)}\n) AS c${fromBins.length === 0 ? '' : joinBins()}${keys.map((key) => JOINED_NAMES[key] ?? '').join('')}`;
  // Planning a subquery takes a tenth of the time of a short window.
  const isOfBins = from === 'bins';
  const isFlat = groupBy.length === 0 && (isOfBins || fromBins.length === 0);
  const aggregates = isOfBins ? [start, ...fromBins] : counted;
  const names = [...common, ...(isFlat ? [`${period.key} AS period`, ...aggregates] : [])];
  const rows = isFlat
    ? `${read(isOfBins ? 'bins' : 'counts')}\nGROUP BY period${isOfBins ? '' : having}`
    : joined();
  const sql = `
${names.length === 0 ? '' : `WITH ${names.join(', ')}\n`}SELECT
  ${values.join(',\n  ')}
FROM ${rows}
ORDER BY ${['period_start', ...groupBy].join(', ')}`;

  const satisfying_k = findBin(apdexThresholdMs / 1000);
  const params = {
    ...conditions.params,
    ...period.params,
    ...Object.fromEntries(sources.flatMap((source, index) => Object.entries(buildParams(source, index)))),
    expected_endpoint_ids: expectedErrors.map(([endpointId]) => endpointId),
    expected_status_codes: expectedErrors.map(([, statusCode]) => statusCode),
    satisfying_k,
    tolerable_k: satisfying_k + TOLERABLE_BINS,
    now: Math.floor(now / 1000),
  };
  const columns = [...edges.map((edge) => `period_${edge}`), ...groupBy, ...metrics];
  return { columns, sql, params };
}

/** @param isJoined whether counts without bins have a row too */
function buildColumn(metric: Metric, percentiles: readonly Metric[], isJoined: boolean): string {
  const counted = COUNTED[metric];
  if (counted) return counted[0];
  const value = `percentiles[${percentiles.indexOf(metric) + 1}]`;
  return isJoined ? `if(empty(percentiles), NULL, ${value})` : value;
}

/**
 * The rows of the sources as `f`. Those of one table are read without a subquery, which takes 7 % of a short window, except
 * if another column has the name `endpoint_id`, which the conditions would mean.
 */
function readSources(
  kind: 'counts' | 'bins',
  isByOneName: boolean,
  keys: readonly string[],
  sources: readonly Source[],
  conditions: string,
): string {
  const measured = kind === 'bins' ? `\n      AND measure = 'time'` : '';
  const tables = sources.flatMap((source, index) => {
    const table = { grain: source.grain, constants: '', condition: buildCondition(source, index) };
    if (table.grain !== '15m_by_consumer') return [table];
    // Rows from before migration 0026 are in this table without a consumer too, and are not marked in the other.
    const marked = `without_consumer AND ${table.condition}`;
    return [table, { grain: '15m', constants: 'WITH 0 AS consumer_id ', condition: marked }];
  });
  const read = ({ grain, condition }: (typeof tables)[number], alias = '') => `${kind}_per_${grain}_v1${alias}
    WHERE app_id = {app_id:UInt32}${measured}
      AND ${condition}${conditions.replaceAll('\n', '\n    ')}`;
  const isOfApp = kind === 'bins' && keys.length === 0 && conditions === '';
  // As the projection sums_of_app has them.
  const isSummed = ({ grain }: { grain: string }) => isOfApp && (grain === 'hour' || grain === 'day');
  const [only] = tables;
  if (only && tables.length === 1 && !isByOneName && !isSummed(only)) return read(only, ' AS f');
  const columns = new Set(['bucket', ...keys, ...VALUES[kind]]);
  const reads = tables.map((table) =>
    isSummed(table)
      ? `
    SELECT bucket, k, sum(n) AS n
    FROM ${read(table)}
    GROUP BY bucket, k`
      : `
    ${table.constants}SELECT ${[...columns].join(', ')}
    FROM ${read(table)}`,
  );
  return `(${reads.join('\n    UNION ALL')}\n  ) AS f`;
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
