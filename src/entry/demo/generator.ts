import { isStaticAssetOrHealthCheck } from '../../sources/decoding/log-exclusion.js';
import { DAY_MS } from '../../shared/time/units.js';
import { type DemoClient, pickClient } from './clients.js';
import type { DemoRequest } from './demo-request.js';
import type { DemoEndpoint } from './endpoints.js';
import { createProbeRequests } from './health-probes.js';
import { Random, Weighted } from '../../shared/random.js';
import {
  type ModelledResponse,
  type Wrong,
  modelResponse,
  modelUnmatchedResponse,
} from './response-model.js';
import { SLOT_MS, expectedVisits, isIncident } from './traffic-curve.js';
import { FAILING, isBroken, isFailing, isSlow } from './trouble.js';
import { buildUnmatchedUrl, buildUrl, createParameters } from './urls.js';

/** Number of consecutive requests of a visitor. */
const IN_A_ROW = new Weighted([
  [1, 55],
  [2, 22],
  [3, 12],
  [4, 7],
  [6, 4],
]);
const LONGEST_ROW_MS = 6 * 25_000;

/**
 * All requests of a slot, oldest first: always the same ones, and no request is in two slots.
 *
 * @param slot start of the slot in milliseconds since the epoch
 * @param origin the sample's beginning, from which its growth counts, in milliseconds since the epoch
 */
export function requestsOfSlot(slot: number, origin: number): DemoRequest[] {
  const random = new Random(slot / SLOT_MS);
  const requests = createProbeRequests(random, slot);
  const visits = random.poisson(expectedVisits(slot, origin));
  const day = Math.floor((slot - origin) / DAY_MS);
  for (let i = 0; i < visits; i++) requests.push(...visit(random, slot, origin, pickClient(random, day)));
  return requests.sort((a, b) => a.timestamp - b.timestamp);
}

/** The requests of all slots that begin in a window, oldest first. */
export function* requestsBetween(from: number, to: number, origin: number): Generator<DemoRequest> {
  for (let slot = Math.ceil(from / SLOT_MS) * SLOT_MS; slot < to; slot += SLOT_MS)
    yield* requestsOfSlot(slot, origin);
}

function visit(random: Random, slot: number, origin: number, visitor: DemoClient): DemoRequest[] {
  const wrong: Wrong = {
    isIncident: isIncident(slot),
    isSlow: isSlow(slot, origin),
    isBroken: isBroken(slot, origin),
    isFailing: isFailing(slot, origin) && visitor.consumer?.identifier === FAILING.identifier,
  };
  let timestamp = slot + random.integer(0, SLOT_MS - LONGEST_ROW_MS - 1);
  return Array.from({ length: IN_A_ROW.pick(random) }, () => {
    const request = createRequest(random, timestamp, visitor, wrong);
    timestamp += random.integer(150, 25_000);
    return request;
  });
}

function createRequest(random: Random, timestamp: number, visitor: DemoClient, wrong: Wrong): DemoRequest {
  const { endpoint, env, userAgent } = visitor;
  const request = endpoint ? pickRoute(random, env, endpoint) : createUnmatchedRequest(random, env);
  const outcome: ModelledResponse = endpoint
    ? modelResponse(random, endpoint, wrong)
    : modelUnmatchedResponse(random);
  return {
    request_uuid: random.uuid(),
    timestamp,
    env,
    consumer: visitor.consumer,
    ...request,
    is_path_inferred: false,
    ...outcome,
    client_ip: visitor.address,
    client_country_iso_code: visitor.country,
    excluded_from_logs: isStaticAssetOrHealthCheck(request.path, request.url, userAgent),
    userAgent,
  };
}

function pickRoute(random: Random, env: string, endpoint: DemoEndpoint) {
  const { method, path, entity, isList } = endpoint;
  const parameters = createParameters(path, random);
  return { method, path, url: buildUrl(env, endpoint, parameters, random), parameters, entity, isList };
}

function createUnmatchedRequest(random: Random, env: string) {
  return {
    method: 'GET',
    path: null,
    url: buildUnmatchedUrl(env, random),
    parameters: {},
    entity: null,
    isList: false,
  };
}
