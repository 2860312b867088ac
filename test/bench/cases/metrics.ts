import { type Case, peerTime } from './case.js';
import type { Context } from './context.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const METRICS = ['requests', 'error_rate', 'response_time_p50', 'response_time_p95', 'response_time_p99'];
const RANKS = [0.5, 0.95, 0.99];

interface MetricQuestion {
  id: string;
  title: string;
  /** Bounds of the window, milliseconds since the epoch, on whole periods of every table that is read. */
  from: number;
  to: number;
  interval?: 'day' | 'hour' | 'minute';
  timezone?: string;
  groupBy?: 'path' | 'consumer_id';
  /** The ending of the names of the peers' tables of counts and bins. */
  grain: string;
}

/** Query Metrics: counts, errors and percentiles over spans and groups that a dashboard shows. */
export function metricCases({ appId, end }: Context): Case[] {
  const minute = floor(end, MINUTE_MS);
  const hour = floor(end, HOUR_MS);
  const day = floor(end, DAY_MS);
  const kolkata = day - 5.5 * HOUR_MS;
  const questions: MetricQuestion[] = [
    { id: '24h', title: '24 h by hour', from: hour - DAY_MS, to: hour, interval: 'hour', grain: 'hour' },
    {
      id: '30d-path',
      title: '30 days by day, by path',
      from: day - 30 * DAY_MS,
      to: day,
      interval: 'day',
      groupBy: 'path',
      grain: 'day',
    },
    {
      id: '13m',
      title: '13 months by day, UTC',
      from: day - 392 * DAY_MS,
      to: day,
      interval: 'day',
      grain: 'day',
    },
    {
      id: '13m-kolkata',
      title: '13 months by day, Kolkata',
      from: kolkata - 391 * DAY_MS,
      to: kolkata,
      interval: 'day',
      timezone: 'Asia/Kolkata',
      grain: '15m',
    },
    {
      id: 'hour-minutes',
      title: 'an hour by minute',
      from: minute - HOUR_MS,
      to: minute,
      interval: 'minute',
      grain: 'minute',
    },
    {
      id: '24h-consumer',
      title: '24 h by consumer',
      from: hour - DAY_MS,
      to: hour,
      groupBy: 'consumer_id',
      grain: '15m_by_consumer',
    },
  ];
  return [
    ...questions.map((question) => toCase(appId, question)),
    {
      id: 'metrics-24h-sizes',
      title: 'metrics 24 h by group and class: sizes, histogram',
      paths: [`/v1/apps/${appId}/metrics`],
      body: {
        since: new Date(hour - DAY_MS).toISOString(),
        until: new Date(hour).toISOString(),
        metrics: ['request_size_p95', 'response_size_avg', 'response_time_histogram'],
        group_by: ['consumer_group', 'status_class'],
      },
      compared: ['response_size_avg'],
    },
  ];
}

function toCase(appId: number, question: MetricQuestion): Case {
  const { id, title, from, to, interval, timezone, groupBy } = question;
  return {
    id: `metrics-${id}`,
    title: `metrics ${title}`,
    paths: [`/v1/apps/${appId}/metrics`],
    body: {
      since: new Date(from).toISOString(),
      until: new Date(to).toISOString(),
      metrics: METRICS,
      ...(interval && { interval }),
      ...(timezone && { timezone }),
      ...(groupBy && { group_by: [groupBy] }),
    },
    compared: ['requests'],
    peer: { sql: peerSql(appId, question), values: () => [peerTime(from), peerTime(to)], columns: [2] },
  };
}

/** Nearest ranks by a running sum over the bins, because neither peer has a weighted percentile. */
function peerSql(appId: number, { interval, timezone = 'UTC', groupBy, grain }: MetricQuestion): string {
  const period = interval
    ? `date_trunc('${interval}', bucket AT TIME ZONE 'UTC' AT TIME ZONE '${timezone}')`
    : '$1::timestamp';
  const group = groupBy === 'path' ? 'path' : groupBy === 'consumer_id' ? 'consumer_id' : '0';
  const read = (kind: string, columns: string) => `
  SELECT ${period} AS period, ${group} AS grouped, ${columns}
  FROM ${kind}_per_${grain} ${groupBy === 'path' ? 'LEFT JOIN endpoints ON endpoints.id = endpoint_id' : ''}
  WHERE ${kind}_per_${grain}.app_id = ${appId} AND bucket >= $1::timestamp AND bucket < $2::timestamp`;
  const ranks = RANKS.map((rank) => `min(k) FILTER (WHERE upto >= ${rank} * total)`).join(', ');
  return `
WITH counted AS (${read(
    'counts',
    'sum(requests) AS requests, sum(requests) FILTER (WHERE status_code >= 400) AS failed',
  )} GROUP BY 1, 2),
binned AS (${read('bins', 'k, sum(n) AS n')} GROUP BY 1, 2, 3),
ranked AS (
  SELECT period, grouped, k, sum(n) OVER (PARTITION BY period, grouped ORDER BY k) AS upto,
    sum(n) OVER (PARTITION BY period, grouped) AS total
  FROM binned
),
percentiles AS (SELECT period, grouped, ${ranks} FROM ranked GROUP BY 1, 2)
SELECT * FROM counted LEFT JOIN percentiles USING (period, grouped) ORDER BY period, grouped`;
}

function floor(ms: number, step: number): number {
  return Math.floor(ms / step) * step;
}
