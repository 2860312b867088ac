import {
  APP,
  CONSUMER,
  ENV,
  RANKED_ENDPOINT,
  bytesSent,
  consumerId,
  endpointId,
  envId,
  latencyMs,
  unit,
} from './requests.sql.js';
import { APPS, COLD_ENDPOINTS, CONSUMER_HISTORY, ENVS, HOT_APP, HOT_ENDPOINTS, HOT_TENTHS } from './shape.js';

const QUARTER_MS = 900_000;
const MONTH_QUARTERS = 30 * 96;
const COLD_APPS = APPS - 1;
const HOT_CELLS = HOT_ENDPOINTS * ENVS.length;
const COLD_CELLS = COLD_ENDPOINTS * ENVS.length;
/** Share of the requests that fail. */
const FAILED_SHARE = 0.05;
/**
 * Distinct bins of the requests of an endpoint, an environment and a quarter-hour: of their times, and of
 * each size.
 */
const [TIME_BINS, SIZE_BINS] = [10, 3];
const CELLS = HOT_CELLS + COLD_APPS * COLD_CELLS;

/** A stretch of the traffic's past, milliseconds since the epoch, on whole quarter-hours. */
export interface Past {
  from: number;
  to: number;
  /** Requests in a quarter-hour, of all apps. */
  requestsPerQuarter: number;
}

/**
 * Traffic before the logs' days, without consumers, with statuses, times and sizes, through the landing table
 * for counts. Each quarter-hour has every endpoint in every environment as often as that share of the
 * requests comes to; what comes to none is left out. A statement for each month.
 */
export function insertCounts(past: Past): string[] {
  const quarters = Math.floor((past.to - past.from) / QUARTER_MS);
  return Array.from({ length: Math.ceil(quarters / MONTH_QUARTERS) }, (_, month) => {
    const first = month * MONTH_QUARTERS;
    return insertQuarters(past, first, Math.min(MONTH_QUARTERS, quarters - first));
  });
}

function insertQuarters({ from, requestsPerQuarter }: Past, first: number, count: number): string {
  const endpoints = `if(app = ${HOT_APP}, ${HOT_ENDPOINTS}, ${COLD_ENDPOINTS})`;
  const appShare = `if(app = ${HOT_APP}, ${HOT_TENTHS / 10}, ${(1 - HOT_TENTHS / 10) / COLD_APPS})`;
  const expected = `${requestsPerQuarter} * ${appShare} * log((endpoint + 1) / endpoint) / log(${endpoints} + 1)
    * arrayElement([${ENVS.map(({ share }) => share).join()}], env_number)`;
  return `
INSERT INTO request_counts (app_id, timestamp, app_env_id, endpoint_id, consumer_id, status_code, requests,
  bytes_received, bytes_sent, bins)
SELECT app, at, ${envId('app', 'env_number')}, ${endpointId('app', 'endpoint')}, 0, status.1, status.2 AS counted,
  counted * 400, counted * 900,
  arrayConcat(
    ${buildBins('time', `${latencyMs('endpoint', 'status.1 * 1000 + place')} / 1000`, TIME_BINS)},
    ${buildBins('received', `200 + cityHash64(number, 80, status.1 * 1000 + place) % 4000`, SIZE_BINS)},
    ${buildBins('sent', bytesSent('endpoint', 'status.1 * 1000 + place'), SIZE_BINS)})
FROM (
  WITH number % ${CELLS} AS cell,
    if(cell < ${HOT_CELLS}, ${HOT_APP}, 2 + intDiv(cell - ${HOT_CELLS}, ${COLD_CELLS})) AS app,
    if(cell < ${HOT_CELLS}, cell, (cell - ${HOT_CELLS}) % ${COLD_CELLS}) AS app_cell,
    intDiv(app_cell, ${ENVS.length}) + 1 AS endpoint,
    app_cell % ${ENVS.length} + 1 AS env_number
  SELECT number, app, endpoint, env_number,
    fromUnixTimestamp64Milli(toInt64(${from} + intDiv(number, ${CELLS}) * ${QUARTER_MS}), 'UTC') AS at,
    toUInt64(floor(${expected} * (0.5 + ${unit(31)}) + ${unit(32)})) AS requests,
    toUInt64(floor(requests * ${FAILED_SHARE} + ${unit(33)} * (requests > 0))) AS failed
  FROM numbers(${first * CELLS}, ${count * CELLS})
)
ARRAY JOIN [(200, toUInt64(requests - failed)), (404, failed)] AS status
WHERE status.2 > 0`;
}

/** The bins of `counted` requests. At most `maxBins` of them are distinct. */
function buildBins(measure: string, value: string, maxBins: number): string {
  return `arrayMap(
      place -> ('${measure}', toInt16(round(32 * log2(greatest(${value}, 0.001)))),
        intDiv(counted + least(counted, ${maxBins}) - 1 - place, least(counted, ${maxBins}))),
      range(least(counted, ${maxBins})))`;
}

/**
 * The same time by consumer, thinned: `CONSUMER_HISTORY` requests for each row of the logs, straight into the
 * table.
 */
export function insertCountsByConsumer({ from, to }: Past, rows: number): string {
  const count = rows * CONSUMER_HISTORY;
  const quarters = Math.floor((to - from) / QUARTER_MS);
  const bucket = `toDateTime(toUInt32(${from / 1000} + intDiv(number * ${quarters}, ${count}) * ${QUARTER_MS / 1000}), 'UTC')`;
  const findBin = (value: string) => `toInt16(round(32 * log2(greatest(${value}, 0.001))))`;
  return `
INSERT INTO counts_per_15m_by_consumer_v1 (app_id, measure, consumer_id, bucket, app_env_id, endpoint_id, status_code, k, n,
  bytes_received, bytes_sent)
WITH ${APP} AS app, ${RANKED_ENDPOINT} AS endpoint
SELECT app, sum.1, ${consumerId('app', CONSUMER)}, ${bucket}, ${envId('app', ENV)}, ${endpointId('app', 'endpoint')},
  if(${unit(34)} < ${FAILED_SHARE}, 404, 200), sum.2, 1, sum.3, sum.4
FROM numbers(${count})
ARRAY JOIN [('requests', toInt16(0), 400, 900),
  ('time', ${findBin(`${latencyMs('endpoint')} / 1000`)}, 0, 0),
  ('sent', ${findBin(bytesSent('endpoint'))}, 0, 0)] AS sum`;
}
