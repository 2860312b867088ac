import { hostname } from 'node:os';
import { Config, ConfigError } from './config.js';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' };
const PROTOBUF = { protocol: 'http/protobuf' };
const LOCAL = { ...PROTOBUF, localPort: 4318 };

describe('the variables of traces', () => {
  it.each([
    ['none', {}, null],
    ['an endpoint', ENDPOINT, LOCAL],
    [
      'an endpoint of traces',
      { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://[::1]/v1/traces' },
      { ...LOCAL, localPort: 80 },
    ],
    [
      'the endpoint of traces first',
      { ...ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://otel.example.com' },
      PROTOBUF,
    ],
    ['this machine by its name', { OTEL_EXPORTER_OTLP_ENDPOINT: `http://${hostname()}:4318` }, LOCAL],
    ['an exporter', { OTEL_TRACES_EXPORTER: 'otlp' }, PROTOBUF],
    ['no exporter', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }, null],
    ['the switch', { ...ENDPOINT, OTEL_SDK_DISABLED: 'True' }, null],
    ['the switch before invalid values', { OTEL_TRACES_EXPORTER: 'zipkin', OTEL_SDK_DISABLED: 'true' }, null],
    ['a protocol alone', { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, null],
    ['JSON', { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }, { ...LOCAL, protocol: 'http/json' }],
    [
      'a protocol of traces',
      { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' },
      { ...LOCAL, protocol: 'http/json' },
    ],
    ['an empty endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }, null],
    ['no switch', { ...ENDPOINT, OTEL_SDK_DISABLED: 'False' }, LOCAL],
    ['a rate', { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' }, LOCAL],
    ['a sampler', { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'parentbased_traceidratio' }, LOCAL],
  ])('decide: %s', (_, env, tracing) => {
    expect(new Config(env).tracing).toEqual(tracing);
  });

  it.each([
    ['OTEL_TRACES_EXPORTER', { OTEL_TRACES_EXPORTER: 'zipkin' }],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', { OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost' }],
    ['OTEL_TRACES_SAMPLER', { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'jaeger_remote' }],
    ['OTEL_SDK_DISABLED', { OTEL_SDK_DISABLED: 'yes' }],
    ['METRICS_PORT', { METRICS_PORT: '3000' }],
    ['METRICS_PORT', { METRICS_PORT: '3001' }],
    ['METRICS_PORT', { METRICS_PORT: 'many' }],
  ])('a wrong %s is named', (name, env) => {
    const read = () => new Config(env);
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(new RegExp(`^Invalid configuration\\. ${name}: [^\n]+$`));
  });
});
