import { consumerId, endpointId, envId, method, path } from './requests.sql.js';
import { APPS, COLD_ENDPOINTS, CONSUMERS, ENVS, HOT_APP, HOT_ENDPOINTS } from './shape.js';

/** What is numbered within each app: `app` and `nth`, from 1. */
const perApp = (count: number) => `
FROM (SELECT intDiv(number, ${count}) + 1 AS app, number % ${count} + 1 AS nth FROM numbers(${APPS * count}))`;

/** Environments, endpoints and consumers of the apps, with the IDs that the requests carry. */
export function insertNames(createdAt: number): string[] {
  return [
    `INSERT INTO app_envs_v1 (app_id, id, name, created_at)
SELECT app, ${envId('app', 'nth')}, arrayElement([${ENVS.map(({ name }) => `'${name}'`).join()}], nth), fromUnixTimestamp64Milli(${createdAt})
${perApp(ENVS.length)}`,
    `INSERT INTO endpoints_v1 (app_id, id, method, path, created_at)
SELECT app, ${endpointId('app', 'nth')}, ${method('nth')}, ${path('nth')}, fromUnixTimestamp64Milli(${createdAt})
${perApp(HOT_ENDPOINTS)} WHERE app = ${HOT_APP} OR nth <= ${COLD_ENDPOINTS}`,
    `INSERT INTO consumer_groups_v1 (app_id, id, name, created_at)
SELECT app, app * 10 + nth, concat('Group ', toString(nth)), fromUnixTimestamp64Milli(${createdAt}) ${perApp(5)}`,
    `INSERT INTO consumers_v1 (app_id, id, identifier, name, group_id, created_at)
SELECT app, ${consumerId('app', 'nth')}, concat('customer-', toString(nth)), concat('Customer ', toString(nth)),
  if(nth % 3 = 0, 0, app * 10 + nth % 5 + 1), fromUnixTimestamp64Milli(${createdAt}) ${perApp(CONSUMERS)}`,
  ];
}
