import type { Case } from './case.js';
import type { Context } from './context.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const METRICS = ['requests', 'error_rate', 'response_time_p50', 'response_time_p95', 'response_time_p99'];

/** Query Metrics: counts, errors and percentiles over spans and groups that a dashboard shows. */
export function metricCases({ appId, end }: Context): Case[] {
  const call = (id: string, title: string, spanMs: number, question: object, from = end): Case => ({
    id: `metrics-${id}`,
    title: `metrics ${title}`,
    paths: [`/v1/apps/${appId}/metrics`],
    body: {
      since: new Date(from - spanMs).toISOString(),
      until: new Date(from).toISOString(),
      metrics: METRICS,
      ...question,
    },
  });
  return [
    call('24h', '24 h by hour', DAY_MS, { interval: 'hour' }),
    call('30d-path', '30 days by day, by path', 30 * DAY_MS, { interval: 'day', group_by: ['path'] }),
    call('13m', '13 months by day, UTC', 392 * DAY_MS, { interval: 'day' }),
    call('13m-kolkata', '13 months by day, Kolkata', 392 * DAY_MS, {
      interval: 'day',
      timezone: 'Asia/Kolkata',
    }),
    call('hour-minutes', 'an hour by minute', HOUR_MS, { interval: 'minute' }),
    call('24h-consumer', '24 h by consumer', DAY_MS, { group_by: ['consumer_id'] }),
    call('30d-window', '30 days to the minute', 30 * DAY_MS, {}),
  ];
}
