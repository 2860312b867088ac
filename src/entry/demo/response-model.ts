import type { RequestRecord } from '../../records/request-record.js';
import type { DemoEndpoint } from './endpoints.js';
import { type Choices, type Random } from '../../shared/random.js';
import { BROKEN, FAILING, SLOW } from './trouble.js';

/** The outcome of a request. */
export interface ModelledResponse extends Pick<
  RequestRecord,
  'status_code' | 'request_size_bytes' | 'response_size_bytes'
> {
  response_time_ms: number;
}

/** Entities that fail while the payment provider is down. */
const FAILING_ENTITIES = new Set(['order', 'payment']);
const INCIDENT_STATUSES: Choices<number> = [500, 502, 503, 504];
/** How long the shop waits for other services. */
const GIVE_UP_MS = 30_000;
const NO_BODY = new Set([204, 304]);

/** The faults during a request. */
export interface Wrong {
  /** Orders and payments fail. */
  isIncident: boolean;
  /** The slow route is slow. */
  isSlow: boolean;
  /** The broken route has an exception. */
  isBroken: boolean;
  /** The request belongs to the failing consumer, and fails. */
  isFailing: boolean;
}

export function modelResponse(random: Random, endpoint: DemoEndpoint, wrong: Wrong): ModelledResponse {
  const status_code = pickStatus(random, endpoint, wrong);
  const isSlow = wrong.isSlow && isRoute(endpoint, SLOW);
  return {
    status_code,
    request_size_bytes: endpoint.requestBytes && Math.round(random.logNormal(endpoint.requestBytes, 0.25)),
    response_size_bytes: responseSize(random, endpoint, status_code),
    response_time_ms: responseTime(random, endpoint.latencyMs * (isSlow ? SLOW.factor : 1), status_code),
  };
}

function isRoute(endpoint: DemoEndpoint, { method, path }: { method: string; path: string }): boolean {
  return endpoint.method === method && endpoint.path === path;
}

function pickStatus(
  random: Random,
  endpoint: DemoEndpoint,
  { isIncident, isBroken, isFailing }: Wrong,
): number {
  if (isFailing && random.chance(FAILING.share)) return FAILING.status;
  if (isBroken && isRoute(endpoint, BROKEN) && random.chance(BROKEN.share)) return 500;
  const fails = isIncident && FAILING_ENTITIES.has(endpoint.entity) && random.chance(0.4);
  return fails ? random.pick(INCIDENT_STATUSES) : endpoint.statuses.pick(random);
}

/** The outcome of a request without a route. */
export function modelUnmatchedResponse(random: Random): ModelledResponse {
  return {
    status_code: 404,
    request_size_bytes: null,
    response_size_bytes: random.integer(80, 120),
    response_time_ms: random.integer(1, 4),
  };
}

function responseSize(
  random: Random,
  { responseBytes, isList }: DemoEndpoint,
  status: number,
): number | null {
  if (NO_BODY.has(status)) return 0;
  if (status >= 400) return random.integer(70, 190);
  return responseBytes && Math.round(random.logNormal(responseBytes, isList ? 0.45 : 0.12));
}

function responseTime(random: Random, medianMs: number, status: number): number {
  if (status === 504) return GIVE_UP_MS + random.integer(1, 90);
  const isRejectedEarly = status === 304 || (status >= 400 && status < 500);
  const median = isRejectedEarly ? medianMs * 0.35 : medianMs;
  return Math.max(1, Math.round(random.logNormal(median, 0.55)));
}
