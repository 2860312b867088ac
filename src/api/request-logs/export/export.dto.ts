import { ApiProperty, ApiPropertyOptional, PickType } from '@nestjs/swagger';
import { HEADER_PAIRS } from '../request-details.dto.js';
import { RequestLog } from '../request-logs.dto.js';

const NULLABLE_TEXT = { type: 'string', nullable: true } as const;
const SIZE = { type: 'integer', nullable: true, minimum: 0 } as const;

/** A row of an export; only requested optional members are present. */
export class ExportedRequestLog extends PickType(RequestLog, ['timestamp', 'request_uuid']) {
  @ApiProperty({
    ...NULLABLE_TEXT,
    pattern: '^[0-9a-f]{32}$',
    description: 'Trace ID',
    example: '4bf92f3577b34da6a3ce929d0e0e4736',
  })
  trace_id: string | null;

  @ApiPropertyOptional({ type: 'string', description: 'Environment name', example: 'prod' })
  env?: string;

  @ApiProperty({ type: 'string', description: 'HTTP method', example: 'GET' })
  method: string;

  @ApiPropertyOptional({
    ...NULLABLE_TEXT,
    description: 'Request path pattern; null when no route matched',
    example: '/v1/users/{user_id}',
  })
  path?: string | null;

  @ApiProperty({
    type: 'string',
    description: 'Full request URL',
    example: 'https://api.example.com/v1/users/7?full=1',
  })
  url: string;

  @ApiPropertyOptional({
    type: 'integer',
    nullable: true,
    minimum: 1,
    description: 'Consumer ID; null for a request without a consumer',
    example: 42,
  })
  consumer_id?: number | null;

  @ApiPropertyOptional({
    ...NULLABLE_TEXT,
    description: 'Consumer identifier; null for a request without a consumer',
    example: 'bob@example.com',
  })
  consumer?: string | null;

  @ApiPropertyOptional({ ...HEADER_PAIRS, description: 'Request headers; empty when not captured' })
  request_headers?: [name: string, value: string][];

  @ApiPropertyOptional({ ...SIZE, description: 'Size of the request in bytes', example: 0 })
  request_size_bytes?: number | null;

  @ApiPropertyOptional({ ...NULLABLE_TEXT, description: 'Request body as captured' })
  request_body_json?: string | null;

  @ApiPropertyOptional({ type: 'integer', description: 'HTTP response status code', example: 200 })
  status_code?: number;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    description: 'Response time in milliseconds',
    example: 23,
  })
  response_time_ms?: number;

  @ApiPropertyOptional({ ...HEADER_PAIRS, description: 'Response headers; empty when not captured' })
  response_headers?: [name: string, value: string][];

  @ApiPropertyOptional({ ...SIZE, description: 'Size of the response in bytes', example: 512 })
  response_size_bytes?: number | null;

  @ApiPropertyOptional({ ...NULLABLE_TEXT, description: 'Response body as captured' })
  response_body_json?: string | null;

  @ApiPropertyOptional({ ...NULLABLE_TEXT, description: 'Client IP address', example: '203.0.113.7' })
  client_ip?: string | null;

  @ApiPropertyOptional({
    ...NULLABLE_TEXT,
    description: 'ISO 3166-1 alpha-2 country code derived from the IP address',
    example: 'DE',
  })
  client_country_iso_code?: string | null;

  @ApiPropertyOptional({ ...NULLABLE_TEXT, description: 'Type of the exception', example: 'TypeError' })
  exception_type?: string | null;

  @ApiPropertyOptional({ ...NULLABLE_TEXT, description: 'Message of the exception' })
  exception_message?: string | null;

  @ApiPropertyOptional({ ...NULLABLE_TEXT, description: 'Stack trace of the exception as text' })
  exception_stacktrace?: string | null;

  @ApiPropertyOptional({
    ...NULLABLE_TEXT,
    description: 'ID of the event in an external error tracker',
  })
  sentry_event_id?: string | null;
}
