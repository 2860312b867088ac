import { APP, CONSUMER, ENV, RANKED_ENDPOINT, consumerId, endpointId, envId, unit } from './requests.sql.js';
import { APPS, COLD_ENDPOINTS, CONSUMER_HISTORY, ENVS, HOT_APP, HOT_ENDPOINTS, HOT_TENTHS } from './shape.js';

const QUARTER_MS = 900_000;
const COLD_APPS = APPS - 1;
const HOT_CELLS = HOT_ENDPOINTS * ENVS.length;
const COLD_CELLS = COLD_ENDPOINTS * ENVS.length;
const CELLS = HOT_CELLS + COLD_APPS * COLD_CELLS;

/** A stretch of the traffic's past, milliseconds since the epoch, on whole quarter-hours. */
export interface Past {
  from: number;
  to: number;
  /** Requests in a quarter-hour, of all apps. */
  requestsPerQuarter: number;
}

/**
 * Traffic before the logs' days, without consumers, through the door for counts. Each quarter-hour has every endpoint
 * in every environment as often as that share of the requests comes to; what comes to none is left out.
 */
export function insertCounts({ from, to, requestsPerQuarter }: Past): string {
  const quarters = Math.floor((to - from) / QUARTER_MS);
  const endpoints = `if(app = ${HOT_APP}, ${HOT_ENDPOINTS}, ${COLD_ENDPOINTS})`;
  const appShare = `if(app = ${HOT_APP}, ${HOT_TENTHS / 10}, ${(1 - HOT_TENTHS / 10) / COLD_APPS})`;
  const expected = `${requestsPerQuarter} * ${appShare} * log((endpoint + 1) / endpoint) / log(${endpoints} + 1)
    * arrayElement([${ENVS.map(({ share }) => share).join()}], env_number)`;
  return `
INSERT INTO request_counts (app_id, timestamp, app_env_id, endpoint_id, consumer_id, requests, bytes_received, bytes_sent)
SELECT app, at, ${envId('app', 'env_number')}, ${endpointId('app', 'endpoint')}, 0, requests, requests * 400, requests * 9000
FROM (
  WITH number % ${CELLS} AS cell,
    if(cell < ${HOT_CELLS}, ${HOT_APP}, 2 + intDiv(cell - ${HOT_CELLS}, ${COLD_CELLS})) AS app,
    if(cell < ${HOT_CELLS}, cell, (cell - ${HOT_CELLS}) % ${COLD_CELLS}) AS app_cell,
    intDiv(app_cell, ${ENVS.length}) + 1 AS endpoint,
    app_cell % ${ENVS.length} + 1 AS env_number
  SELECT app, endpoint, env_number,
    fromUnixTimestamp64Milli(toInt64(${from} + intDiv(number, ${CELLS}) * ${QUARTER_MS}), 'UTC') AS at,
    toUInt64(floor(${expected} * (0.5 + ${unit(31)}) + ${unit(32)})) AS requests
  FROM numbers(${quarters * CELLS})
)
WHERE requests > 0`;
}

/** The same time by consumer, thinned: so many rows for each row of the logs, straight into the table. */
export function insertCountsByConsumer({ from, to }: Past, rows: number): string {
  const count = rows * CONSUMER_HISTORY;
  const quarters = Math.floor((to - from) / QUARTER_MS);
  return `
INSERT INTO counts_per_15m_by_consumer_v1 (app_id, consumer_id, bucket, app_env_id, endpoint_id, requests, bytes_received, bytes_sent)
WITH ${APP} AS app
SELECT app, ${consumerId('app', CONSUMER)},
  toDateTime(toUInt32(${from / 1000} + intDiv(number * ${quarters}, ${count}) * ${QUARTER_MS / 1000}), 'UTC'),
  ${envId('app', ENV)}, ${endpointId('app', RANKED_ENDPOINT)}, 1, 400, 9000
FROM numbers(${count})`;
}
