import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { RequestLog } from './request-logs.dto.js';

export const HEADER_PAIRS = {
  type: 'array',
  items: { type: 'array', items: { type: 'string' }, minItems: 2, maxItems: 2 },
  example: [['content-type', 'application/json']],
} as const;
const SIZE = { type: 'integer', nullable: false, minimum: 0 } as const;
const NANOSECONDS = { type: 'integer', format: 'int64' } as const;

export class RequestException {
  @ApiProperty({ type: 'string', description: 'Type of the exception', example: 'TypeError' })
  type: string;

  @ApiProperty({ type: 'string', description: 'Message', example: 'Cannot read properties of undefined' })
  message: string;

  @ApiProperty({ type: 'string', description: 'Stack trace as text' })
  stacktrace: string;

  @ApiProperty({
    type: 'string',
    nullable: true,
    description: 'ID of the event in an external error tracker',
  })
  tracker_event_id: string | null;

  @ApiProperty({ type: 'string', nullable: true, description: 'Same value as `tracker_event_id`' })
  sentry_event_id: string | null;
}

export class LogEntry {
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    description: 'Time of the entry, to the microsecond',
    example: '2026-11-20T14:05:09.123456Z',
  })
  timestamp: string;

  @ApiProperty({ type: 'string', description: 'Message', example: 'user loaded' })
  message: string;

  @ApiProperty({ type: 'string', description: 'Log level as the application sent it', example: 'INFO' })
  level: string;

  @ApiProperty({ type: 'string', nullable: true, description: 'Name of the logger' })
  logger: string | null;

  @ApiProperty({ type: 'string', nullable: true, description: 'Source file' })
  file: string | null;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Line in the source file' })
  line: number | null;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description:
      'Attributes as captured, where `include_log_attributes` asks for them; of OpenTelemetry alone',
  })
  attributes?: Record<string, unknown>;
}

export class Span {
  @ApiProperty({ type: 'string', description: 'Span ID', example: '00f067aa0ba902b7' })
  span_id: string;

  @ApiProperty({ type: 'string', nullable: true, description: 'ID of the parent span; null for a root' })
  parent_span_id: string | null;

  @ApiProperty({ type: 'string', description: 'Name', example: 'SELECT users' })
  name: string;

  @ApiProperty({
    type: 'string',
    enum: ['INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'],
    description: 'Span kind; `INTERNAL` if unknown',
  })
  kind: string;

  @ApiProperty({ ...NANOSECONDS, description: 'Start, nanoseconds since the Unix epoch; may pass 2^53' })
  start_time_ns: bigint;

  @ApiProperty({ ...NANOSECONDS, description: 'End, nanoseconds since the Unix epoch; may pass 2^53' })
  end_time_ns: bigint;

  @ApiProperty({ ...NANOSECONDS, description: 'Duration in nanoseconds' })
  duration_ns: bigint;

  @ApiProperty({
    type: 'string',
    enum: ['UNSET', 'OK', 'ERROR'],
    description: 'Span status; `UNSET` if unknown',
  })
  status: string;

  @ApiProperty({ type: 'object', additionalProperties: true, description: 'Attributes as captured' })
  attributes: Record<string, unknown>;
}

export class RequestDetails extends RequestLog {
  @ApiProperty({ ...SIZE, description: 'Size of the request in bytes; 0 if unknown', example: 0 })
  declare request_size_bytes: number;

  @ApiProperty({
    ...SIZE,
    description: 'Size of the response in bytes; 0 if unknown',
    example: 512,
  })
  declare response_size_bytes: number;

  @ApiPropertyOptional({
    type: 'integer',
    nullable: true,
    minimum: 1,
    description:
      'Consumer ID, where `include_consumer_id` asks for it; null for a request without a consumer',
    example: 42,
  })
  consumer_id?: number | null;

  @ApiProperty({ ...HEADER_PAIRS, description: 'Request headers; empty when not captured' })
  request_headers: [name: string, value: string][];

  @ApiProperty({ ...HEADER_PAIRS, description: 'Response headers; empty when not captured' })
  response_headers: [name: string, value: string][];

  @ApiProperty({
    type: 'string',
    nullable: true,
    description: 'Request body as captured, with masked values',
  })
  request_body_json: string | null;

  @ApiProperty({
    type: 'string',
    nullable: true,
    description: 'Response body as captured, with masked values',
  })
  response_body_json: string | null;

  @ApiProperty({
    type: 'string',
    nullable: true,
    pattern: '^[0-9a-f]{32}$',
    description: 'Trace ID',
    example: '4bf92f3577b34da6a3ce929d0e0e4736',
  })
  trace_id: string | null;

  @ApiProperty({
    type: () => RequestException,
    nullable: true,
    description: 'The unhandled exception that led to a server error, if any',
  })
  exception: RequestException | null;

  @ApiProperty({ type: () => [LogEntry], description: 'Application log entries of this request' })
  logs: LogEntry[];

  @ApiProperty({ type: () => [Span], description: 'Spans of this request' })
  spans: Span[];
}
