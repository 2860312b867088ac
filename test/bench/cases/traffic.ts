import { EXCLUDED } from '../dataset/shape.js';
import { type Case, peerTime } from './case.js';
import type { Context } from './context.js';

const DAY_MS = 86_400_000;
/** Thirteen months but for the oldest days, which the retention cuts at other times in every zone. */
const SPANS = [
  { id: 'day', title: '24 h by hour', days: 1, interval: 'hour' },
  { id: '30d', title: '30 days by day', days: 30, interval: 'day' },
  { id: '13m', title: '13 months by day', days: 392, interval: 'day' },
] as const;
const ZONES = [
  { id: 'utc', title: 'UTC', name: 'UTC', dayTable: 'counts_per_day', hourTable: 'counts_per_hour' },
  {
    id: 'ny',
    title: 'New York',
    name: 'America/New_York',
    dayTable: 'counts_per_hour',
    hourTable: 'counts_per_hour',
  },
  {
    id: 'kolkata',
    title: 'Kolkata',
    name: 'Asia/Kolkata',
    dayTable: 'counts_per_15m',
    hourTable: 'counts_per_15m',
  },
] as const;

type Kind = 'all' | 'consumer' | 'excluded';
const TITLES = { all: '', consumer: ', one consumer', excluded: ', 20 excluded' };

/**
 * Get Traffic: every span in every zone, with and without a consumer; with excluded endpoints the longest.
 */
export function trafficCases(context: Context): Case[] {
  return SPANS.flatMap((span) =>
    ZONES.flatMap((zone) => {
      const kinds: Kind[] = span.id === '13m' ? ['all', 'consumer', 'excluded'] : ['all', 'consumer'];
      return kinds.map((kind) => trafficCase(context, span, zone, kind));
    }),
  );
}

function trafficCase(
  { appId, end, consumers }: Context,
  span: (typeof SPANS)[number],
  zone: (typeof ZONES)[number],
  kind: Kind,
): Case {
  // Whole days of every zone, so that each database has the same periods to sum.
  const from = midnight(end - span.days * DAY_MS, zone.name);
  const to = span.interval === 'hour' ? from + DAY_MS : midnight(end, zone.name);
  const consumer = kind === 'consumer' ? `&consumer_id=${consumers.middling}` : '';
  const table =
    kind === 'consumer'
      ? 'counts_per_15m_by_consumer'
      : zone[span.interval === 'hour' ? 'hourTable' : 'dayTable'];
  const where = {
    all: '',
    consumer: `AND consumer_id = ${consumers.middling}`,
    excluded: `AND endpoint_id NOT IN (${EXCLUDED.join()})`,
  }[kind];
  return {
    id: `traffic-${span.id}-${zone.id}${kind === 'all' ? '' : `-${kind}`}`,
    title: `traffic ${span.title}, ${zone.title}${TITLES[kind]}`,
    paths: [
      `/v1/apps/${appId}/traffic?interval=${span.interval}&timezone=${zone.name}&limit=1000&start=${iso(from)}&end=${iso(to)}${consumer}`,
    ],
    ...(kind === 'excluded' ? { excluded: true as const } : {}),
    compared: ['requests', 'bytes_received', 'bytes_sent'],
    peer: {
      columns: [1, 2, 3],
      sql: `
SELECT date_trunc('${span.interval}', bucket AT TIME ZONE 'UTC' AT TIME ZONE '${zone.name}') AS period,
  sum(requests), sum(bytes_received), sum(bytes_sent)
FROM ${table}
WHERE app_id = 1 AND bucket >= $1::timestamp AND bucket < $2::timestamp ${where}
GROUP BY 1 ORDER BY 1 LIMIT 1001`,
      values: () => [peerTime(from), peerTime(to)],
    },
  };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/** The latest beginning of a day in the zone that is not after the time. */
function midnight(ms: number, zone: string): number {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  }).formatToParts(ms);
  const part = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  const sinceMidnight = (part('hour') * 60 + part('minute')) * 60 + part('second');
  return Math.floor(ms / 1000) * 1000 - sinceMidnight * 1000;
}
