import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import {
  type DescMessage,
  type MessageInitShape,
  create,
  fromBinary,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import type { MessageShape } from '@bufbuild/protobuf';
import { StatusSchema } from '../../../src/sources/otlp/generated/google/rpc/status_pb.js';
import {
  ExportLogsServiceRequestSchema,
  ExportLogsServiceResponseSchema,
} from '../../../src/sources/otlp/generated/opentelemetry/proto/collector/logs/v1/logs_service_pb.js';
import {
  ExportMetricsServiceRequestSchema,
  ExportMetricsServiceResponseSchema,
} from '../../../src/sources/otlp/generated/opentelemetry/proto/collector/metrics/v1/metrics_service_pb.js';
import {
  ExportTraceServiceRequestSchema,
  ExportTraceServiceResponseSchema,
} from '../../../src/sources/otlp/generated/opentelemetry/proto/collector/trace/v1/trace_service_pb.js';
import type {
  AnyValueSchema,
  KeyValueSchema,
} from '../../../src/sources/otlp/generated/opentelemetry/proto/common/v1/common_pb.js';
import type { LogRecordSchema } from '../../../src/sources/otlp/generated/opentelemetry/proto/logs/v1/logs_pb.js';
import {
  AggregationTemporality,
  type HistogramDataPointSchema,
  type MetricSchema,
} from '../../../src/sources/otlp/generated/opentelemetry/proto/metrics/v1/metrics_pb.js';
import {
  Span_SpanKind,
  type SpanSchema,
} from '../../../src/sources/otlp/generated/opentelemetry/proto/trace/v1/trace_pb.js';
import type { Client, TestService } from './collector.js';

export type Signal = 'traces' | 'metrics' | 'logs';

const REQUESTS = {
  traces: ExportTraceServiceRequestSchema,
  metrics: ExportMetricsServiceRequestSchema,
  logs: ExportLogsServiceRequestSchema,
} as const;

const RESPONSES = {
  traces: ExportTraceServiceResponseSchema,
  metrics: ExportMetricsServiceResponseSchema,
  logs: ExportLogsServiceResponseSchema,
} as const;

type Scalar = string | number | bigint | boolean | Uint8Array | readonly Scalar[] | { [key: string]: Scalar };

/** Attributes as the SDKs write them; a list or an object too. */
export function attributes(values: Record<string, Scalar>): MessageInitShape<typeof KeyValueSchema>[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: { value: anyValue(value) } }));
}

function anyValue(value: Scalar): MessageInitShape<typeof AnyValueSchema>['value'] {
  if (typeof value === 'string') return { case: 'stringValue', value };
  if (typeof value === 'boolean') return { case: 'boolValue', value };
  if (typeof value === 'bigint') return { case: 'intValue', value };
  if (typeof value === 'number')
    return Number.isSafeInteger(value)
      ? { case: 'intValue', value: BigInt(value) }
      : { case: 'doubleValue', value };
  if (value instanceof Uint8Array) return { case: 'bytesValue', value };
  if (Array.isArray(value))
    return {
      case: 'arrayValue',
      value: { values: value.map((item: Scalar) => ({ value: anyValue(item) })) },
    };
  return { case: 'kvlistValue', value: { values: attributes(value as Record<string, Scalar>) } };
}

/** The time `ms` milliseconds ago, in nanoseconds, with digits that a number cannot hold. */
export function nanosecondsAgo(ms: number): bigint {
  return BigInt(Date.now() - ms) * 1_000_000n + 123_457n;
}

type SpanInit = Exclude<MessageInitShape<typeof SpanSchema>, { $typeName: string }>;

/** A span of kind SERVER, a request of a minute ago that took 12.5 ms; say only what the test is about. */
export function serverSpan(values: Record<string, Scalar> = {}, overrides: Partial<SpanInit> = {}): SpanInit {
  const start = nanosecondsAgo(60_000);
  return {
    traceId: randomBytes(16),
    spanId: randomBytes(8),
    name: 'GET /users/:id',
    kind: Span_SpanKind.SERVER,
    startTimeUnixNano: start,
    endTimeUnixNano: start + 12_500_000n,
    attributes: attributes({
      'http.request.method': 'GET',
      'http.route': '/users/:id',
      'http.response.status_code': 200,
      'url.scheme': 'https',
      'server.address': 'api.example.com',
      'url.path': '/users/7',
      ...values,
    }),
    ...overrides,
  };
}

/** The attributes of a process of an application. */
export function resource(values: Record<string, Scalar> = {}) {
  return {
    attributes: attributes({ 'service.name': 'shop', 'service.instance.id': 'one', ...values }),
  };
}

export function traces(
  spans: readonly SpanInit[],
  {
    of = resource(),
    scope = 'test',
    version = '1.2',
  }: { of?: ReturnType<typeof resource>; scope?: string; version?: string } = {},
): Buffer {
  return encode(ExportTraceServiceRequestSchema, {
    resourceSpans: [{ resource: of, scopeSpans: [{ scope: { name: scope, version }, spans: [...spans] }] }],
  });
}

export function metrics(
  list: readonly MessageInitShape<typeof MetricSchema>[],
  { of = resource(), scope = 'test' }: { of?: ReturnType<typeof resource>; scope?: string } = {},
): Buffer {
  return encode(ExportMetricsServiceRequestSchema, {
    resourceMetrics: [{ resource: of, scopeMetrics: [{ scope: { name: scope }, metrics: [...list] }] }],
  });
}

/** The metric of the durations of requests, as counts of intervals. */
export function durations(dataPoints: readonly MessageInitShape<typeof HistogramDataPointSchema>[]): Buffer {
  return metrics([
    {
      name: 'http.server.request.duration',
      unit: 's',
      data: {
        case: 'histogram',
        value: { aggregationTemporality: AggregationTemporality.DELTA, dataPoints: [...dataPoints] },
      },
    },
  ]);
}

export function logs(
  list: readonly MessageInitShape<typeof LogRecordSchema>[],
  { of = resource(), scope = 'app.logger' }: { of?: ReturnType<typeof resource>; scope?: string } = {},
): Buffer {
  return encode(ExportLogsServiceRequestSchema, {
    resourceLogs: [{ resource: of, scopeLogs: [{ scope: { name: scope }, logRecords: [...list] }] }],
  });
}

function encode<Desc extends DescMessage>(schema: Desc, init: MessageInitShape<Desc>): Buffer {
  return Buffer.from(toBinary(schema, create(schema, init)));
}

/** A body as OTLP has it in JSON: IDs in hex, enums as integers. */
export function toOtlpJson(signal: Signal, bytes: Buffer): Record<string, unknown> {
  const json = toJson(REQUESTS[signal], fromBinary(REQUESTS[signal], bytes), { enumAsInteger: true });
  const text = JSON.stringify(json, (key, value: unknown) =>
    ['traceId', 'spanId', 'parentSpanId'].includes(key) && typeof value === 'string'
      ? Buffer.from(value, 'base64').toString('hex').toUpperCase()
      : value,
  );
  return JSON.parse(text) as Record<string, unknown>;
}

export interface OtlpAnswer {
  status: number;
  headers: Headers;
  bytes: Buffer;
}

/** How a body is sent, where it is not as protobuf and unpacked. */
export interface Sending {
  type?: string;
  gzip?: boolean;
  headers?: Record<string, string>;
}

/** A sender with a write token, to any collector. */
export class OtlpSender {
  constructor(
    private readonly url: string,
    readonly token: string,
  ) {}

  /** A sender of the client's app, with a write token of its own. */
  static async create({ api, collector }: TestService, { tenant }: Client): Promise<OtlpSender> {
    const { token } = await api.admin.writeTokens.create(tenant.appId);
    return new OtlpSender(collector.url, token);
  }

  async send(
    signal: Signal,
    body: Buffer | string,
    { type, gzip, headers }: Sending = {},
  ): Promise<OtlpAnswer> {
    const response = await fetch(`${this.url}/v1/${signal}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.token}`,
        'content-type': type ?? 'application/x-protobuf',
        ...(gzip && { 'content-encoding': 'gzip' }),
        ...headers,
      },
      body: gzip ? gzipSync(body) : body,
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    return { status: response.status, headers: response.headers, bytes };
  }

  /** @throws Error if the body is not accepted as a whole */
  async deliver(signal: Signal, body: Buffer): Promise<void> {
    const { status, bytes } = await this.send(signal, body);
    if (status !== 200) throw new Error(`${signal}: ${status} ${readStatus(bytes)}`);
    const { partialSuccess } = readResponse(signal, bytes);
    if (partialSuccess) throw new Error(`${signal}: ${partialSuccess.errorMessage}`);
  }
}

export function readResponse(signal: Signal, bytes: Buffer): MessageShape<(typeof RESPONSES)[Signal]> {
  return fromBinary(RESPONSES[signal], bytes);
}

export function readStatus(bytes: Buffer): string {
  return fromBinary(StatusSchema, bytes).message;
}
