import { FACET_FIELDS } from '../../src/api/request-logs/facets/facets.input.js';
import { EXPORT_FIELDS } from '../../src/api/request-logs/export/export.input.js';

/** Identity of the request that `listOperations` asks for: to be written by the test. */
export const SAMPLE_UUID = '0a0b0c0d-0e0f-4a0b-8c0d-0e0f0a0b0c0d';

const LOG_FILTERS = [
  'app_env_id=1',
  'consumer_id=1',
  'method=GET,POST',
  'path=/users/*',
  'path=/users/{id}',
  'status_code=2xx,404',
  'start=2020-01-01',
];

/** An app with this number of requests a minute is dense: a long window of its logs is looked at in steps. */
export const DENSE = 60;

/**
 * Paths of requests that run every statement of the API, each part of it that depends on a parameter
 * included, where the app is `DENSE`.
 */
export function listOperations(appId: number): string[] {
  const app = `/v1/apps/${appId}`;
  const traffic = ['UTC', 'Europe/Berlin', 'Asia/Kathmandu'].flatMap((timezone) => [
    `${app}/traffic?interval=day&timezone=${timezone}&app_env_id=1`,
    `${app}/traffic?interval=hour&timezone=${timezone}&app_env_id=1`,
    `${app}/traffic?interval=hour&timezone=${timezone}&app_env_id=1&consumer_id=1`,
  ]);
  const paths = [
    '/v1/team',
    '/v1/apps',
    `${app}/refused-senders`,
    `${app}/endpoints`,
    `${app}/endpoints?app_env_id=1&method=GET&path=/users/*`,
    `${app}/endpoints?include=inventory`,
    `${app}/endpoints?include=inventory&app_env_id=1`,
    `${app}/consumers`,
    `${app}/consumers?limit=1&requests_since=2020-01-01&include=activity`,
    `${app}/instances`,
    `${app}/instances?app_env_id=1&limit=1`,
    `${app}/releases`,
    `${app}/releases?app_env_id=1&limit=1`,
    `${app}/alerts`,
    '/v1/alerts',
    `${app}/prometheus`,
    '/v1/prometheus?routes=1',
    `${app}/request-logs`,
    ...LOG_FILTERS.map((filter) => `${app}/request-logs?${filter}`),
    `${app}/request-logs?${LOG_FILTERS.join('&')}`,
    ...FACET_FIELDS.map((field) => `${app}/request-logs/facets?field=${field}&${LOG_FILTERS.join('&')}`),
    `${app}/request-logs/${SAMPLE_UUID}`,
    `${app}/request-logs/${SAMPLE_UUID}?include_log_attributes=true`,
    ...traffic,
  ];
  return paths.map((path) => path.replaceAll('{', '%7B').replaceAll('}', '%7D'));
}

/** All metrics, by every dimension. */
const ALL_METRICS = {
  metrics: ['requests', 'bytes_received', 'bytes_sent', 'error_rate', 'response_time_p95', 'apdex'],
  group_by: ['env', 'method', 'path', 'status_code'],
};
const BY_VERSION = {
  ...ALL_METRICS,
  group_by: ['app_version'],
  filters: [{ field: 'app_version', op: 'not_like', value: '1.%' }],
};
const METRIC_FILTERS = [
  { field: 'env', op: 'like', value: '%' },
  { field: 'method', op: 'in', value: ['GET', 'POST'] },
  { field: 'path', op: 'not_contains', value: 'nothing' },
  { field: 'status_code', op: 'lt', value: 600 },
];
const ERROR_FILTERS = [
  { field: 'fingerprint', op: 'neq', value: '0'.repeat(16) },
  { field: 'kind', op: 'in', value: ['server', 'exception'] },
  { field: 'type', op: 'like', value: '%' },
  { field: 'env', op: 'like', value: '%' },
  { field: 'path', op: 'not_contains', value: 'nothing' },
  { field: 'consumer_id', op: 'is_not_null' },
];
const SPAN_FIELDS = [
  'parent_span_id',
  'env',
  'name',
  'kind',
  'status',
  'attributes',
  'events',
  'scope_name',
  'scope_version',
];
const SPAN_FILTERS = [
  { field: 'env', op: 'like', value: '%' },
  { field: 'attributes', key: 'a', op: 'eq', value: 1 },
  { field: 'events', event_name: 'exception', op: 'exists' },
];
const EXPORTED = [
  { field: 'method', op: 'eq', value: 'GET' },
  { field: 'response_time_ms', op: 'gte', value: 0 },
  { field: 'url', op: 'like', value: '%' },
];
const HOUR_MS = 3_600_000;

/** The same for operations that are a POST: paths and bodies. */
export function listQueries(appId: number): { path: string; body: object }[] {
  const now = Date.now();
  const [since, until] = [now - 26 * HOUR_MS, now].map((at) => new Date(at).toISOString());
  const byConsumer = { ...ALL_METRICS, group_by: [...ALL_METRICS.group_by, 'consumer_id'] };
  const bodies = [
    { since, ...ALL_METRICS },
    { since, ...ALL_METRICS, filters: METRIC_FILTERS, interval: 'minute' },
    { since, ...ALL_METRICS, interval: 'hour', timezone: 'Asia/Kathmandu' },
    { since, ...ALL_METRICS, interval: 'day', timezone: 'Europe/Berlin' },
    { since: '2020-01-01', ...ALL_METRICS, interval: 'month' },
    { since, ...ALL_METRICS, group_by: ['path'], interval: 'hour' },
    { since, ...ALL_METRICS, group_by: ['method'], interval: 'hour' },
    { since, ...byConsumer },
    { since, ...BY_VERSION },
    { since: '2020-01-01', ...BY_VERSION, interval: 'day', group_by: ['app_version', 'path', 'consumer_id'] },
    { since: '2020-01-01', ...byConsumer, interval: 'day' },
    ...(['arrow', 'parquet', 'csv'] as const).map((format) => ({ since, ...ALL_METRICS, format })),
    {
      since,
      metrics: ['request_size_avg', 'response_size_p99', 'response_time_histogram'],
      group_by: ['consumer_group', 'status_class'],
      filters: [
        { field: 'consumer_group', op: 'is_not_null' },
        { field: 'status_class', op: 'in', value: ['2xx', '4xx'] },
      ],
    },
  ];
  return [
    ...bodies.map((body) => ({ path: `/v1/apps/${appId}/metrics`, body: { until, ...body } })),
    { path: `/v1/apps/${appId}/changes`, body: { measure: 'response_time', since, until } },
    ...[{}, { group_by: ['day', 'consumer_id'], filters: ERROR_FILTERS, limit: 5 }, { format: 'arrow' }].map(
      (body) => ({
        path: `/v1/apps/${appId}/errors`,
        body: { since, until, ...body },
      }),
    ),
  ];
}

/** The same for exports and spans. A key reads at most two of these files at once. */
export function listFiles(appId: number): { path: string; body: object }[] {
  const since = new Date(Date.now() - 26 * HOUR_MS).toISOString();
  const bodies = [
    { since },
    { since, fields: EXPORT_FIELDS, filters: EXPORTED, sample: 0.5 },
    ...(['arrow', 'parquet', 'csv', 'har'] as const).map((format) => ({
      since,
      format,
      fields: EXPORT_FIELDS,
    })),
  ];
  const traces = [
    { since, fields: SPAN_FIELDS },
    { since, filters: SPAN_FILTERS, sample: 10 },
    { filters: [{ field: 'trace_id', op: 'eq', value: '0'.repeat(32) }] },
  ];
  return [
    ...bodies.map((body) => ({ path: `/v1/apps/${appId}/request-logs`, body })),
    ...traces.map((body) => ({ path: `/v1/apps/${appId}/traces`, body })),
  ];
}
