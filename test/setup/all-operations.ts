/** Identity of the request that `operationsOf` asks for: to be written by the test. */
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

/** So many requests a minute make an app so dense that a long window of its logs is looked at in steps. */
export const DENSE = 60;

/**
 * Paths of requests that run every statement of the API, each part of it that depends on a parameter included, where the
 * app is `DENSE`.
 */
export function operationsOf(appId: number): string[] {
  const app = `/v1/apps/${appId}`;
  const traffic = ['UTC', 'Europe/Berlin', 'Asia/Kathmandu'].flatMap((timezone) => [
    `${app}/traffic?interval=day&timezone=${timezone}&app_env_id=1`,
    `${app}/traffic?interval=hour&timezone=${timezone}&app_env_id=1`,
    `${app}/traffic?interval=hour&timezone=${timezone}&app_env_id=1&consumer_id=1`,
  ]);
  const paths = [
    '/v1/team',
    '/v1/apps',
    `${app}/endpoints`,
    `${app}/endpoints?app_env_id=1&method=GET&path=/users/*`,
    `${app}/consumers`,
    `${app}/consumers?limit=1&requests_since=2020-01-01`,
    `${app}/request-logs`,
    ...LOG_FILTERS.map((filter) => `${app}/request-logs?${filter}`),
    `${app}/request-logs?${LOG_FILTERS.join('&')}`,
    `${app}/request-logs/${SAMPLE_UUID}`,
    ...traffic,
  ];
  return paths.map((path) => path.replaceAll('{', '%7B').replaceAll('}', '%7D'));
}
