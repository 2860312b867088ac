import {
  APP,
  CONSUMER,
  ENV,
  RANKED_ENDPOINT,
  STATUS,
  consumerId,
  endpointId,
  envId,
  hash,
  method,
  unit,
} from './requests.sql.js';
import { ENVS } from './shape.js';

/** Processes of the largest app in each environment, at any time. */
const PROCESSES = 4;
const RELEASE_EACH_MINUTES = 3 * 1440;
const STACK = `arrayStringConcat(arrayMap(i -> concat('  File "/srv/shop/', toString(cityHash64(kind_of, i) % 40), '.py", line ', toString(i * 17), ', in handle'), range(12)), '\\n')`;

/**
 * Errors of the requests `from` to `to`: each that failed with 5xx has an exception, and each 422 a
 * validation error, of some ten kinds an endpoint.
 *
 * @param start of the logs, milliseconds since the epoch
 * @param stepMs from one request to the next
 */
export function insertErrors(of: { from: number; to: number; start: number; stepMs: number }): string {
  const { from, to, start, stepMs } = of;
  return `
INSERT INTO reported_errors
WITH ${APP} AS app, ${ENV} AS env_number, ${RANKED_ENDPOINT} AS endpoint, ${method('endpoint')} AS method,
  ${STATUS} AS status_code, status_code >= 500 AS failed,
  if(${hash(15)} % 10 = 0, 0, ${CONSUMER}) AS consumer_number,
  cityHash64(app, endpoint, failed, ${hash(17)} % 10) AS kind_of
SELECT app AS app_id, fromUnixTimestamp64Milli(toInt64(${start} + floor((number + ${unit(14)}) * ${stepMs})), 'UTC') AS timestamp,
  ${envId('app', 'env_number')} AS app_env_id, ${endpointId('app', 'endpoint')} AS endpoint_id,
  if(consumer_number = 0, 0, ${consumerId('app', 'consumer_number')}) AS consumer_id, kind_of AS fingerprint,
  if(failed, 'exception', 'validation') AS kind, if(failed, 'OperationalError', 'value_error') AS type,
  if(failed, 'connection to the database is lost', 'value is not a valid integer') AS message,
  if(failed, [], ['body', 'items', 'quantity']) AS location, if(failed, ${STACK}, '') AS stacktrace,
  '' AS sentry_event_id, if(failed, generateUUIDv4(number), toUUID('00000000-0000-0000-0000-000000000000')) AS request_uuid,
  if(failed, lower(hex(${hash(12)})) || lower(hex(${hash(13)})), '') AS trace_id, 1 AS errors
FROM numbers(${from}, ${to - from})
WHERE status_code = 422 OR failed`;
}

/**
 * What the processes of the largest app report each minute of the logs' days. Every three days all of them
 * start again with a new version.
 */
export function insertInstances(start: number, spanMs: number): string {
  const minutes = Math.floor(spanMs / 60_000);
  return `
INSERT INTO instance_reports
WITH intDiv(number, ${PROCESSES * ENVS.length}) AS minute, number % ${PROCESSES * ENVS.length} AS nth, intDiv(minute, ${RELEASE_EACH_MINUTES}) AS version,
  minute % ${RELEASE_EACH_MINUTES} = 0 AS starts,
  fromUnixTimestamp64Milli(toInt64(${start} + minute * 60000), 'UTC') AS at
SELECT 1 AS app_id, at AS timestamp, ${envId('1', `(nth % ${ENVS.length} + 1)`)} AS app_env_id,
  reinterpretAsUUID(sipHash128(nth, version)) AS instance_uuid, at AS last_sync_at,
  toFloat32(${hash(20)} % 1000 / 10) AS cpu_percent, toInt64(100000000 + ${hash(21)} % 50000000) AS memory_rss,
  if(starts, 'python:0.24.0', '') AS client, if(starts, map('app', concat('1.', toString(version)), 'fastapi', '0.121.0'), map()) AS versions,
  if(starts, concat('1.', toString(version)), '') AS app_version, if(starts, 'FastAPI', '') AS framework
FROM numbers(${minutes * PROCESSES * ENVS.length})`;
}
