/** What decides whether and how traces are sent; the rest of the standard variables OpenTelemetry's packages read. */
export interface TracingConfig {
  protocol: (typeof PROTOCOLS)[number];
}

const PROTOCOLS = ['http/protobuf', 'http/json'] as const;
const SAMPLERS = ['always_on', 'always_off', 'traceidratio'].flatMap((name) => [name, `parentbased_${name}`]);

/**
 * OpenTelemetry's variables as its specification has them, with one exception: unless `OTEL_TRACES_EXPORTER` or an
 * endpoint is set, nothing is traced. `faults` are lines that name a variable.
 */
export function tracingOf(env: NodeJS.ProcessEnv): { config: TracingConfig | null; faults: string[] } {
  const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? env.OTEL_EXPORTER_OTLP_ENDPOINT;
  const exporter = env.OTEL_TRACES_EXPORTER ?? (endpoint === undefined ? 'none' : 'otlp');
  if (exporter === 'none' || env.OTEL_SDK_DISABLED?.toLowerCase() === 'true')
    return { config: null, faults: [] };
  const sent = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? env.OTEL_EXPORTER_OTLP_PROTOCOL ?? 'http/protobuf';
  const protocol = PROTOCOLS.find((known) => known === sent);
  const { OTEL_TRACES_SAMPLER: sampler } = env;
  const faults: string[] = [];
  if (exporter !== 'otlp') faults.push('OTEL_TRACES_EXPORTER: must be otlp or none');
  if (!protocol) faults.push(`OTEL_EXPORTER_OTLP_PROTOCOL: must be ${PROTOCOLS.join(' or ')}`);
  if (endpoint !== undefined && !URL.canParse(endpoint))
    faults.push('OTEL_EXPORTER_OTLP_ENDPOINT: must be a URL');
  if (sampler !== undefined && !SAMPLERS.includes(sampler))
    faults.push(`OTEL_TRACES_SAMPLER: must be one of ${SAMPLERS.join(', ')}`);
  return { config: protocol ? { protocol } : null, faults };
}
