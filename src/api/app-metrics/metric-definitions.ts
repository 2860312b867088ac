import { sumBytes } from '../../queries/predicates.js';
import { BINS_PER_OCTAVE, type Measure, ZERO_BIN } from '../../records/bins.js';
import { METRICS } from './metric-names.js';

/** Leaves out expected errors (docs/contract.md#expected-errors). */
const NOT_EXPECTED =
  ' AND (f.endpoint_id, f.status_code) NOT IN arrayZip({expected_endpoint_ids:Array(UInt32)}, {expected_status_codes:Array(UInt16)})';

/**
 * Sums of the measure `requests` for the metrics. Each function in a statement takes about a hundredth of the
 * time of a short window.
 *
 * @param isSigned whether the sums must be Int64, which typed formats have
 * @param hasExpected whether the app has expected errors
 */
export const buildSums = (isSigned: boolean, hasExpected: boolean) => {
  const cast = (sum: string) => (isSigned ? `toInt64(${sum})` : sum);
  const countErrors = (from: number) =>
    cast(
      `sumIf(f.n, f.status_code >= ${from} AND f.status_code < ${from + 100}${hasExpected ? NOT_EXPECTED : ''})`,
    );
  return {
    sum_requests: cast('sum(f.n)'),
    sum_known_requests: cast('sumIf(f.n, f.status_code != 0)'),
    sum_bytes_received: sumBytes('f.bytes_received'),
    sum_bytes_sent: sumBytes('f.bytes_sent'),
    sum_client_errors: countErrors(400),
    sum_server_errors: countErrors(500),
  };
};
type CountsSum = keyof ReturnType<typeof buildSums>;

/** The measures of percentiles, by the beginnings of their names. */
const MEASURES = { response_time: 'time', request_size: 'received', response_size: 'sent' } as const;

/** Times up to 4 times the threshold are tolerable: two octaves above its bin. */
export const TOLERABLE_BINS = 2 * BINS_PER_OCTAVE;

/** Sums of bins, each of one measure. */
export const BIN_SUMS = {
  timed_requests: { measure: 'time', sql: 'sum(f.n)' },
  satisfied: { measure: 'time', sql: 'sumIf(f.n, f.k <= {satisfying_k:Int16})' },
  tolerated: {
    measure: 'time',
    sql: 'sumIf(f.n, f.k > {satisfying_k:Int16} AND f.k <= {tolerable_k:Int16})',
  },
  time_bins: { measure: 'time', sql: 'sumMap([f.k], [f.n])' },
  sized_requests: { measure: 'received', sql: 'sum(f.n)' },
  sized_responses: { measure: 'sent', sql: 'sum(f.n)' },
} as const satisfies Record<string, { measure: Measure; sql: string }>;
type BinSum = keyof typeof BIN_SUMS;

/** The metrics in their order. The last one is for the MCP tools: no request can name it. */
export const METRIC_COLUMNS = [...METRICS, 'timed_requests'] as const;
export type MetricColumn = (typeof METRIC_COLUMNS)[number];
type Percentile = Extract<MetricColumn, `${string}_p${number}`>;

const MAX_INT32 = 2_147_483_647;
/** A double below 2^63. */
const MAX_BYTES = '9.2e18';
const VALUE = `exp2(k / ${BINS_PER_OCTAVE})`;

/**
 * The middle of each bin: of seconds in whole milliseconds, of bytes in whole bytes; for the bin of zeros
 * this is 0.
 */
export const findMiddles = (measure: Measure, ks: string) =>
  measure === 'time'
    ? `arrayMap(k -> toInt32(least(round(1000 * ${VALUE}), ${MAX_INT32})), ${ks})`
    : `arrayMap(k -> toInt64(least(round(${VALUE}), ${MAX_BYTES})), ${ks})`;

/** The upper bound of each bin in milliseconds, and its number of requests. */
const HISTOGRAM = `arrayMap((k, n) -> (if(k = ${ZERO_BIN}, 0., round(1000 * exp2((k + 0.5) / ${BINS_PER_OCTAVE}), 3)), toInt64(n)),
    time_bins.1, time_bins.2)`;

interface Definition {
  /** The sums of counts that it needs in addition to the requests. */
  readonly sums: readonly CountsSum[];
  /** The sums of bins that it needs. */
  readonly bins?: readonly BinSum[];
  /** The column as an expression of the sums' aliases; a rank depends on the other requested ranks. */
  readonly value: string | { readonly measure: Measure; readonly rank: number };
}

/** Null if no status is known. */
const defineErrors = (sum: 'sum_client_errors' | 'sum_server_errors'): Definition => ({
  sums: ['sum_known_requests', sum],
  value: `if(sum_known_requests = 0, NULL, ${sum})`,
});

const DEFINITIONS: Readonly<Record<Exclude<MetricColumn, Percentile>, Definition>> = {
  requests: { sums: [], value: 'sum_requests' },
  requests_per_minute: {
    sums: [],
    value: 'sum_requests / greatest(1, (least(toInt64(end), {now:Int64}) - toInt64(start)) / 60)',
  },
  bytes_received: { sums: ['sum_bytes_received'], value: 'sum_bytes_received' },
  bytes_sent: { sums: ['sum_bytes_sent'], value: 'sum_bytes_sent' },
  client_errors: defineErrors('sum_client_errors'),
  server_errors: defineErrors('sum_server_errors'),
  error_rate: {
    sums: ['sum_known_requests', 'sum_client_errors', 'sum_server_errors'],
    value: '(sum_client_errors + sum_server_errors) / nullIf(sum_known_requests, 0)',
  },
  apdex: {
    sums: [],
    bins: ['timed_requests', 'satisfied', 'tolerated'],
    value: '(satisfied + tolerated / 2) / nullIf(timed_requests, 0)',
  },
  request_size_avg: {
    sums: ['sum_bytes_received'],
    bins: ['sized_requests'],
    value: 'sum_bytes_received / nullIf(sized_requests, 0)',
  },
  response_size_avg: {
    sums: ['sum_bytes_sent'],
    bins: ['sized_responses'],
    value: 'sum_bytes_sent / nullIf(sized_responses, 0)',
  },
  response_time_histogram: { sums: [], bins: ['time_bins'], value: HISTOGRAM },
  timed_requests: { sums: [], bins: ['timed_requests'], value: 'timed_requests' },
};

export function findDefinition(metric: MetricColumn): Definition {
  const [, of, percent] = /^(\w+)_p(\d+)$/.exec(metric) ?? [];
  if (of === undefined) return DEFINITIONS[metric as Exclude<MetricColumn, Percentile>];
  return { sums: [], value: { measure: MEASURES[of as keyof typeof MEASURES], rank: Number(percent) / 100 } };
}
