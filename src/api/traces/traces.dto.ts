import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

const NANOSECONDS = { type: 'integer', format: 'int64' } as const;

/** An event of a span. */
export class SpanEvent {
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    description: 'Time of the event, to the nanosecond',
    example: '2026-11-20T14:05:09.123456789Z',
  })
  timestamp: string;

  @ApiProperty({ type: 'string', description: 'Name', example: 'exception' })
  name: string;

  @ApiProperty({ type: 'object', additionalProperties: true, description: 'Attributes as sent' })
  attributes: Record<string, unknown>;
}

/** A row of traces; only requested optional members are present. */
export class TraceSpanRow {
  @ApiProperty({
    type: 'string',
    pattern: '^[0-9a-f]{32}$',
    description: 'Trace ID',
    example: '4bf92f3577b34da6a3ce929d0e0e4736',
  })
  trace_id: string;

  @ApiProperty({
    type: 'string',
    pattern: '^[0-9a-f]{16}$',
    description: 'Span ID',
    example: '00f067aa0ba902b7',
  })
  span_id: string;

  @ApiProperty({ ...NANOSECONDS, description: 'Start, nanoseconds since the Unix epoch; may pass 2^53' })
  start_time_ns: bigint;

  @ApiPropertyOptional({
    type: 'string',
    nullable: true,
    description: 'ID of the parent span; null for a root',
  })
  parent_span_id?: string | null;

  @ApiPropertyOptional({ type: 'string', nullable: true, description: 'Environment name', example: 'prod' })
  env?: string | null;

  @ApiPropertyOptional({ type: 'string', description: 'Name', example: 'SELECT users' })
  name?: string;

  @ApiPropertyOptional({
    type: 'string',
    enum: ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'],
    description: 'Span kind',
  })
  kind?: string;

  @ApiPropertyOptional({ type: 'string', enum: ['UNSET', 'OK', 'ERROR'], description: 'Span status' })
  status?: string;

  @ApiPropertyOptional({
    ...NANOSECONDS,
    description: 'End, nanoseconds since the Unix epoch; may pass 2^53',
  })
  end_time_ns?: bigint;

  @ApiPropertyOptional({ ...NANOSECONDS, description: 'Duration in nanoseconds' })
  duration_ns?: bigint;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description: 'Attributes as sent; as text where columns have types',
  })
  attributes?: Record<string, unknown>;

  @ApiPropertyOptional({
    type: () => [SpanEvent],
    description: 'Events in the order in which they were sent; as text where columns have types',
  })
  events?: SpanEvent[];

  @ApiPropertyOptional({
    type: 'string',
    nullable: true,
    description: 'Name of the instrumentation',
    example: '@opentelemetry/instrumentation-http',
  })
  scope_name?: string | null;

  @ApiPropertyOptional({ type: 'string', nullable: true, description: 'Version of the instrumentation' })
  scope_version?: string | null;
}
