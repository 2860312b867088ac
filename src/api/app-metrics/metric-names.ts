/** Those that agents have as well, whose list of tools must be short. */
export const COMMON_METRICS = [
  'requests',
  'requests_per_minute',
  'bytes_received',
  'bytes_sent',
  'client_errors',
  'server_errors',
  'error_rate',
  'response_time_p50',
  'response_time_p75',
  'response_time_p90',
  'response_time_p95',
  'response_time_p99',
  'apdex',
] as const;

/** In the order of a row. */
export const METRICS = [
  ...COMMON_METRICS,
  'request_size_avg',
  'request_size_p50',
  'request_size_p75',
  'request_size_p90',
  'request_size_p95',
  'request_size_p99',
  'response_size_avg',
  'response_size_p50',
  'response_size_p75',
  'response_size_p90',
  'response_size_p95',
  'response_size_p99',
  'response_time_histogram',
] as const;

export type Metric = (typeof METRICS)[number];
