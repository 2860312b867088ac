import { EXCLUDED, HOT_ENDPOINTS, RARE_ENDPOINTS, RARE_PATH } from '../dataset/shape.js';
import { type Case, peerTime } from './case.js';
import type { Context } from './context.js';

const DAY_MS = 86_400_000;
const RARE_IDS = Array.from({ length: RARE_ENDPOINTS }, (_, index) => HOT_ENDPOINTS - index);

const COMPARED = ['request_uuid', 'status_code', 'request_size_bytes', 'response_size_bytes'];
const COMPARED_COLUMNS = [1, 7, 8, 9];

/** Slim rows are read first and only those of the page get their names: what a good engineer would write. */
const peerPage = (where: string, end: number, limit: number) => `
SELECT l.ts, l.request_uuid, v.name, c.identifier, e.method, e.path, l.url, l.status_code, l.request_size_bytes,
  l.response_size_bytes, l.response_time_ms, l.client_ip, l.country
FROM (
  SELECT * FROM request_logs
  WHERE app_id = 1 AND ts >= $1::timestamp AND ts < '${peerTime(end)}'::timestamp ${where}
  ORDER BY ts DESC, request_uuid DESC LIMIT ${limit + 1}
) AS l
JOIN app_envs AS v ON v.id = l.app_env_id
LEFT JOIN endpoints AS e ON e.id = l.endpoint_id
LEFT JOIN consumers AS c ON c.id = l.consumer_id
ORDER BY l.ts DESC, l.request_uuid DESC`;

/** Get Request Logs and Get Request Details. */
export function logCases(context: Context): Case[] {
  const { appId, start, end, consumers, deep } = context;
  const base = `/v1/apps/${appId}/request-logs`;
  const window = `start={start}&end=${new Date(end).toISOString()}`;
  const page = (
    id: string,
    title: string,
    { query = '', where = '', limit = 100, from = start }: PageOptions = {},
  ): Case => ({
    id,
    title,
    start: from,
    paths: [`${base}?${window}&limit=${limit}${query}`],
    compared: COMPARED,
    peer: {
      sql: peerPage(where, end, limit),
      values: (nth) => [peerTime(from + nth)],
      columns: COMPARED_COLUMNS,
    },
  });
  const excluded = EXCLUDED.join();
  return [
    page('page-100-day', 'first page of 100, 24 hours', { from: end - DAY_MS }),
    page('page-100', 'first page of 100, 15 days'),
    ...(['path', 'consumer'] as const).map((field) => ({
      id: `facets-${field}`,
      title: `facets of ${field}, 24 hours`,
      start: end - DAY_MS,
      paths: [`${base}/facets?${window}&field=${field}`],
      compared: ['value', 'requests'],
    })),
    page('page-1000', 'first page of 1,000, 15 days', { limit: 1000 }),
    {
      id: 'page-deep',
      title: 'page of 100 at the tenth day',
      paths: deep.map(({ token }) => `${base}?limit=100&next_token=${token}`),
      compared: COMPARED,
      peer: {
        columns: COMPARED_COLUMNS,
        sql: peerPage(
          "AND (ts, request_uuid) < ($2::timestamp, '80000000-0000-4000-8000-000000000000'::uuid)",
          end,
          100,
        ),
        values: (nth) => [peerTime(start), peerTime(deep[nth % deep.length]?.after ?? 0)],
      },
    },
    ...(['rare', 'middling', 'absent'] as const).map((kind) =>
      page(`consumer-${kind}`, `${kind} consumer`, {
        query: `&consumer_id=${consumers[kind]}`,
        where: `AND consumer_id = ${consumers[kind]}`,
      }),
    ),
    page('status-5xx', '5xx at 0.1 %', {
      query: '&status_code=5xx',
      where: 'AND status_code >= 500 AND status_code < 600',
    }),
    page('path-rare', 'rare path by wildcard', {
      query: `&path=${RARE_PATH}`,
      where: `AND endpoint_id IN (${RARE_IDS.join()})`,
    }),
    page('env', 'one environment (10 %)', { query: '&app_env_id=2', where: 'AND app_env_id = 2' }),
    {
      ...page('page-excluded', 'first page, 20 excluded endpoints', {
        where: `AND endpoint_id NOT IN (${excluded})`,
      }),
      excluded: true,
    },
    detailsCase(base, context),
  ];
}

interface PageOptions {
  query?: string;
  where?: string;
  limit?: number;
  from?: number;
}

function detailsCase(base: string, { detailUuids }: Context): Case {
  return {
    id: 'details',
    title: 'details of one request',
    paths: detailUuids.map((uuid) => `${base}/${uuid}`),
    // Details have 0 where the size of a request is unknown (docs/contract.md).
    compared: ['request_uuid', 'status_code', 'response_size_bytes'],
    peer: {
      columns: [1, 7, 9],
      sql: `
SELECT l.ts, l.request_uuid, v.name, c.identifier, e.method, e.path, l.url, l.status_code, l.request_size_bytes,
  l.response_size_bytes, l.response_time_ms, l.client_ip, l.country, d.capture
FROM request_logs AS l
JOIN app_envs AS v ON v.id = l.app_env_id
LEFT JOIN endpoints AS e ON e.id = l.endpoint_id
LEFT JOIN consumers AS c ON c.id = l.consumer_id
LEFT JOIN request_captures AS d ON d.request_uuid = l.request_uuid
WHERE l.request_uuid = $1::uuid AND l.app_id = 1`,
      values: (nth) => [detailUuids[nth % detailUuids.length] ?? ''],
    },
  };
}
