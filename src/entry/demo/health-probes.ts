import { isStaticAssetOrHealthCheck } from '../../sources/decoding/log-exclusion.js';
import { EXCLUDED } from './endpoints.js';
import type { DemoRequest } from './demo-request.js';
import { pickInternalAddress } from './ip-ranges.js';
import type { Random } from '../../shared/random.js';
import { SLOT_MS } from './traffic-curve.js';
import { getHost } from './urls.js';

const PROBE_AGENT = 'kube-probe/1.31';

interface Probe {
  method: string;
  path: string;
  /** It is sent in every `every`th slot. */
  every: number;
  userAgent: string;
  requestBytes: number;
  responseBytes: number;
}

/** Requests that machines send at fixed times: health checks, and the metrics that the demo excludes. */
const PROBES: readonly Probe[] = [
  { method: 'GET', path: '/healthz', every: 1, userAgent: PROBE_AGENT, requestBytes: 0, responseBytes: 15 },
  { method: 'GET', path: '/ready', every: 2, userAgent: PROBE_AGENT, requestBytes: 0, responseBytes: 27 },
  { ...EXCLUDED, every: 2, userAgent: 'metrics-agent/1.9.0', requestBytes: 1_840, responseBytes: 0 },
];

export function createProbeRequests(random: Random, slot: number): DemoRequest[] {
  return PROBES.filter(({ every }) => (slot / SLOT_MS) % every === 0).map((probe) =>
    createProbe(random, slot, probe),
  );
}

function createProbe(random: Random, slot: number, probe: Probe): DemoRequest {
  const { method, path, userAgent, requestBytes, responseBytes } = probe;
  const url = `https://${getHost('prod')}${path}`;
  const isDown = random.chance(0.002);
  return {
    request_uuid: random.uuid(),
    timestamp: slot + random.integer(1_000, 4_000),
    env: 'prod',
    consumer: null,
    method,
    path,
    is_path_inferred: false,
    url,
    status_code: isDown ? 503 : responseBytes === 0 ? 204 : 200,
    request_size_bytes: requestBytes,
    response_size_bytes: responseBytes,
    response_time_ms: random.integer(1, 5),
    client_ip: pickInternalAddress(random),
    client_country_iso_code: null,
    excluded_from_logs: isStaticAssetOrHealthCheck(path, url, userAgent),
    userAgent,
    parameters: {},
    entity: null,
    isList: false,
  };
}
