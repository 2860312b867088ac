import type { Case } from './case.js';
import type { Context } from './context.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Errors, changes, releases, instances and the scrape. */
export function reportCases({ appId, start, end }: Context): Case[] {
  const app = `/v1/apps/${appId}`;
  const hour = Math.floor(end / HOUR_MS) * HOUR_MS;
  const last = (ms: number) => ({
    since: new Date(hour - ms).toISOString(),
    until: new Date(hour).toISOString(),
  });
  return [
    {
      id: 'errors-24h',
      title: 'errors, 24 hours',
      paths: [`${app}/errors`],
      body: last(DAY_MS),
      compared: ['type', 'errors'],
    },
    {
      id: 'errors-15d-day',
      title: 'errors by day, 15 days',
      paths: [`${app}/errors`],
      body: { ...last(15 * DAY_MS), group_by: ['day'], limit: 1000 },
      compared: ['type', 'errors'],
    },
    {
      id: 'changes-24h',
      title: 'changes of response times, 24 hours',
      paths: [`${app}/changes`],
      body: { measure: 'response_time', ...last(DAY_MS) },
      compared: [],
    },
    {
      id: 'releases',
      title: 'releases, 15 days',
      paths: [`${app}/releases?start=${new Date(start).toISOString()}`],
      compared: ['version', 'env'],
    },
    {
      id: 'instances',
      title: 'instances, 24 hours, 24 periods',
      paths: [`${app}/instances?start=${last(DAY_MS).since}&end=${last(DAY_MS).until}`],
      compared: ['instance_uuid'],
    },
    {
      id: 'metrics-24h-version',
      title: 'metrics 24 h by version',
      paths: [`${app}/metrics`],
      body: { ...last(DAY_MS), metrics: ['requests', 'error_rate'], group_by: ['app_version'] },
      compared: ['requests'],
    },
    { id: 'prometheus', title: 'scrape of an app', paths: [`${app}/prometheus`], compared: [] },
  ];
}
