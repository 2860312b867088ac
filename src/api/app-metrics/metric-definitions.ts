import { sumBytes } from '../../queries/predicates.js';
import { BINS_PER_OCTAVE } from '../../records/bins.js';
import { METRICS } from './app-metrics.input.js';

/** Leaves out expected errors (docs/contract.md#expected-errors). */
const NOT_EXPECTED =
  ' AND (f.endpoint_id, f.status_code) NOT IN arrayZip({expected_endpoint_ids:Array(UInt32)}, {expected_status_codes:Array(UInt16)})';

/**
 * Sums of `counts_*` for the metrics. Each function in a statement takes about a hundredth of the time of a
 * short window.
 *
 * @param isSigned whether the sums must be Int64, which typed formats have
 * @param hasExpected whether the app has expected errors
 */
export const buildSums = (isSigned: boolean, hasExpected: boolean) => {
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
type CountsSum = keyof ReturnType<typeof buildSums>;

/** Sums of `bins_*` for apdex. */
export const APDEX_SUMS = {
  timed_requests: 'sum(f.n)',
  satisfied: 'sumIf(f.n, f.k <= {satisfying_k:Int16})',
  tolerated: 'sumIf(f.n, f.k > {satisfying_k:Int16} AND f.k <= {tolerable_k:Int16})',
} as const;
/** Times up to 4 times the threshold are tolerable: two octaves above its bin. */
export const TOLERABLE_BINS = 2 * BINS_PER_OCTAVE;

/** The metrics in their order. The last one is for the MCP tools: no request can name it. */
export const METRIC_COLUMNS = [...METRICS, 'timed_requests'] as const;
export type MetricColumn = (typeof METRIC_COLUMNS)[number];

/** Ranks of the percentiles. */
export const RANKS: Partial<Readonly<Record<MetricColumn, number>>> = {
  response_time_p50: 0.5,
  response_time_p75: 0.75,
  response_time_p90: 0.9,
  response_time_p95: 0.95,
  response_time_p99: 0.99,
};

/** Whether the metric is computed from bins. Such metrics come last in a row. */
export const isFromBins = (metric: MetricColumn) => metric in RANKS || isFromApdexSums(metric);
export const isFromApdexSums = (metric: MetricColumn) => metric === 'apdex' || metric === 'timed_requests';

const MAX_INT32 = 2_147_483_647;

/** The middle of each bin of seconds, in whole milliseconds; for the bin of zeros this is 0. */
export const MILLISECONDS = (ks: string) =>
  `arrayMap(k -> toInt32(least(round(1000 * exp2(k / ${BINS_PER_OCTAVE})), ${MAX_INT32})), ${ks})`;

interface Definition {
  /** The sums of counts that it needs in addition to the requests. */
  readonly sums: readonly CountsSum[];
  /**
   * The column as an expression of the sums' aliases; undefined for a percentile, which depends on the other
   * requested percentiles.
   */
  readonly sql?: string;
}

/** Null if no status is known. */
const defineErrors = (sum: 'sum_client_errors' | 'sum_server_errors'): Definition => ({
  sums: ['sum_known_requests', sum],
  sql: `if(sum_known_requests = 0, NULL, ${sum})`,
});

export const DEFINITIONS: Readonly<Record<MetricColumn, Definition>> = {
  requests: { sums: [], sql: 'sum_requests' },
  requests_per_minute: {
    sums: [],
    sql: 'sum_requests / greatest(1, (least(toInt64(end), {now:Int64}) - toInt64(start)) / 60)',
  },
  bytes_received: { sums: ['sum_bytes_received'], sql: 'sum_bytes_received' },
  bytes_sent: { sums: ['sum_bytes_sent'], sql: 'sum_bytes_sent' },
  client_errors: defineErrors('sum_client_errors'),
  server_errors: defineErrors('sum_server_errors'),
  error_rate: {
    sums: ['sum_known_requests', 'sum_client_errors', 'sum_server_errors'],
    sql: '(sum_client_errors + sum_server_errors) / nullIf(sum_known_requests, 0)',
  },
  response_time_p50: { sums: [] },
  response_time_p75: { sums: [] },
  response_time_p90: { sums: [] },
  response_time_p95: { sums: [] },
  response_time_p99: { sums: [] },
  apdex: { sums: [], sql: '(satisfied + tolerated / 2) / nullIf(timed_requests, 0)' },
  timed_requests: { sums: [], sql: 'timed_requests' },
};
