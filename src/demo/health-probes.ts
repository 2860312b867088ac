import { isNoise } from '../ingestion/log-exclusion.js';
import { EXCLUDED } from './endpoints.js';
import type { DemoRequest } from './generator.js';
import { anInternalAddress } from './ip-ranges.js';
import type { Random } from './random.js';
import { SLOT_MS } from './traffic-curve.js';
import { hostOf } from './urls.js';

const PROBE = 'kube-probe/1.31';

interface Routine {
  method: string;
  path: string;
  /** It is due in every `every`th slot. */
  every: number;
  userAgent: string;
  requestBytes: number;
  responseBytes: number;
}

/** What machines ask by the clock: health checks, and the metrics that the demo excludes. */
const ROUTINES: readonly Routine[] = [
  { method: 'GET', path: '/healthz', every: 1, userAgent: PROBE, requestBytes: 0, responseBytes: 15 },
  { method: 'GET', path: '/ready', every: 2, userAgent: PROBE, requestBytes: 0, responseBytes: 27 },
  { ...EXCLUDED, every: 2, userAgent: 'metrics-agent/1.9.0', requestBytes: 1_840, responseBytes: 0 },
];

export function routineRequests(random: Random, slot: number): DemoRequest[] {
  return ROUTINES.filter(({ every }) => (slot / SLOT_MS) % every === 0).map((routine) =>
    requestOf(random, slot, routine),
  );
}

function requestOf(random: Random, slot: number, routine: Routine): DemoRequest {
  const { method, path, userAgent, requestBytes, responseBytes } = routine;
  const url = `https://${hostOf('prod')}${path}`;
  const isDown = random.chance(0.002);
  return {
    request_uuid: random.uuid(),
    timestamp: slot + random.whole(1_000, 4_000),
    env: 'prod',
    consumer: null,
    method,
    path,
    is_path_inferred: false,
    url,
    status_code: isDown ? 503 : responseBytes === 0 ? 204 : 200,
    request_size_bytes: requestBytes,
    response_size_bytes: responseBytes,
    response_time_ms: random.whole(1, 5),
    client_ip: anInternalAddress(random),
    client_country_iso_code: null,
    is_noise: isNoise(path, url, userAgent),
    userAgent,
    parameters: {},
    entity: null,
    isList: false,
  };
}
