import { hostname as getHostName } from 'node:os';

/**
 * Variables that decide whether and how traces are sent; OpenTelemetry's packages read the other standard
 * variables.
 */
export interface TracingConfig {
  protocol: (typeof PROTOCOLS)[number];
  /** Port of a receiver on this machine; it may be this process's own collector. */
  localPort?: number;
}

const PROTOCOLS = ['http/protobuf', 'http/json'] as const;
const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const;
const LOCAL_HOST = /^(?:localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\])$/;
const SAMPLERS = ['always_on', 'always_off', 'traceidratio'].flatMap((name) => [name, `parentbased_${name}`]);

/**
 * OpenTelemetry's variables according to its specification, with one exception: tracing is disabled unless
 * `OTEL_TRACES_EXPORTER` or an endpoint is set. `issues` are lines that name a variable.
 */
export function parseTracing(env: NodeJS.ProcessEnv): { config: TracingConfig | null; issues: string[] } {
  const { OTEL_SDK_DISABLED = 'false' } = env;
  if (!/^(true|false)$/i.test(OTEL_SDK_DISABLED))
    return { config: null, issues: ['OTEL_SDK_DISABLED: must be true or false'] };
  const hasEndpoint = ENDPOINTS.some((name) => env[name] !== undefined);
  const exporter = env.OTEL_TRACES_EXPORTER ?? (hasEndpoint ? 'otlp' : 'none');
  if (exporter === 'none' || OTEL_SDK_DISABLED.toLowerCase() === 'true') return { config: null, issues: [] };
  const sent = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? env.OTEL_EXPORTER_OTLP_PROTOCOL ?? 'http/protobuf';
  const protocol = PROTOCOLS.find((candidate) => candidate === sent);
  const { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: samplingRate } = env;
  const issues: string[] = [];
  if (exporter !== 'otlp') issues.push('OTEL_TRACES_EXPORTER: must be otlp or none');
  if (!protocol) issues.push(`OTEL_EXPORTER_OTLP_PROTOCOL: must be ${PROTOCOLS.join(' or ')}`);
  for (const name of ENDPOINTS)
    if (!isHttpUrl(env[name])) issues.push(`${name}: must be a URL that begins with http:// or https://`);
  if (sampler !== undefined && !SAMPLERS.includes(sampler))
    issues.push(`OTEL_TRACES_SAMPLER: must be one of ${SAMPLERS.join(', ')}`);
  if (samplingRate !== undefined && !isRate(samplingRate))
    issues.push('OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1');
  if (!protocol || issues.length > 0) return { config: null, issues };
  const localPort = findLocalPort(env[ENDPOINTS[0]] ?? env[ENDPOINTS[1]]);
  return { config: { protocol, ...(localPort !== undefined && { localPort }) }, issues };
}

function findLocalPort(endpoint: string | undefined): number | undefined {
  if (endpoint === undefined) return undefined;
  const { protocol, hostname, port } = new URL(endpoint);
  if (!LOCAL_HOST.test(hostname) && hostname !== getHostName().toLowerCase()) return undefined;
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}

function isHttpUrl(value: string | undefined): boolean {
  return value === undefined || (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol));
}

function isRate(value: string): boolean {
  return /^(\d+\.?\d*|\.\d+)$/.test(value) && Number(value) <= 1;
}
