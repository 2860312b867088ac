import { type Case, peerTime } from './case.js';
import type { Context } from './context.js';

const HOUR_MS = 3_600_000;

const peerConsumers = (where: string) => `
SELECT id, identifier, name, group_id, created_at, last_request_at FROM consumers
WHERE app_id = 1 ${where} ORDER BY id DESC LIMIT 101`;

/** What is asked of teams, apps, endpoints and consumers. */
export function nameCases({ appId, end }: Context): Case[] {
  const since = end - HOUR_MS;
  const consumers = `/v1/apps/${appId}/consumers?limit=100`;
  return [
    {
      id: 'consumers',
      title: 'consumers, first page of 100',
      paths: [consumers],
      compared: ['id', 'identifier'],
      peer: { sql: peerConsumers(''), values: () => [], columns: [0, 1] },
    },
    {
      id: 'consumers-since',
      title: 'consumers seen in the last hour',
      paths: [`${consumers}&requests_since=${new Date(since).toISOString()}`],
      compared: ['id', 'identifier'],
      peer: {
        columns: [0, 1],
        sql: peerConsumers('AND last_request_at >= $1::timestamp'),
        values: () => [peerTime(since)],
      },
    },
    {
      id: 'consumers-activity',
      title: 'consumers, first page of 100 with activity',
      paths: [`${consumers}&include=activity`],
      compared: ['id', 'identifier'],
    },
    {
      id: 'endpoints',
      title: 'endpoints (200)',
      paths: [`/v1/apps/${appId}/endpoints`],
      compared: ['id', 'method', 'path'],
      peer: {
        columns: [0, 1, 2],
        sql: 'SELECT id, method, path FROM endpoints WHERE app_id = 1 ORDER BY path, method',
        values: () => [],
      },
    },
    {
      id: 'inventory',
      title: 'endpoints with requests and consumers of 30 days',
      paths: [`/v1/apps/${appId}/endpoints?include=inventory`],
      compared: ['id', 'method', 'path'],
    },
    { id: 'apps', title: 'apps', paths: ['/v1/apps'], compared: ['id'] },
  ];
}
