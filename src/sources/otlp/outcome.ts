import { type DescMessage, type JsonObject, fromJson } from '@bufbuild/protobuf';
import { type Encoding, encode } from './encoding.js';
import { ExportLogsServiceResponseSchema } from './generated/opentelemetry/proto/collector/logs/v1/logs_service_pb.js';
import { ExportMetricsServiceResponseSchema } from './generated/opentelemetry/proto/collector/metrics/v1/metrics_service_pb.js';
import { ExportTraceServiceResponseSchema } from './generated/opentelemetry/proto/collector/trace/v1/trace_service_pb.js';
import type { Signal } from './items.js';

/** The result for a body whose valid parts are stored. */
export interface Outcome {
  encoding: Encoding;
  /** Spans, data points or log records that were rejected. */
  rejected: number;
  /** The first reason, or a warning; empty if there is none. */
  message: string;
}

const RESPONSES: Readonly<Record<Signal, { schema: DescMessage; rejected: string }>> = {
  traces: { schema: ExportTraceServiceResponseSchema, rejected: 'rejectedSpans' },
  metrics: { schema: ExportMetricsServiceResponseSchema, rejected: 'rejectedDataPoints' },
  logs: { schema: ExportLogsServiceResponseSchema, rejected: 'rejectedLogRecords' },
};

/** The response: its partial success is unset if everything is accepted without a warning. */
export function encodeOutcome(signal: Signal, { encoding, rejected, message }: Outcome): Buffer {
  const { schema, rejected: count } = RESPONSES[signal];
  const isWhole = rejected === 0 && message === '';
  const json: JsonObject = isWhole ? {} : { partialSuccess: { [count]: rejected, errorMessage: message } };
  return encode(schema, fromJson(schema, json), encoding);
}
