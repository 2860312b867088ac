import { ApiProperty } from '@nestjs/swagger';
import { EXAMPLES } from '../../platform/openapi/examples.js';
import type { RecordMembers } from '../../records/record-json.js';
import { PageType } from '../../platform/paging/page.dto.js';

/** The stored members, which the engine sends unchanged, after the time and the ID. */
export class RequestLog implements RecordMembers {
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    description: 'Time of the request, to the millisecond',
    example: EXAMPLES.timestamp,
  })
  timestamp: string;

  @ApiProperty({
    type: 'string',
    format: 'uuid',
    description: 'Unique identifier of the request',
    example: EXAMPLES.request_uuid,
  })
  request_uuid: string;

  @ApiProperty({ type: 'string', description: 'Environment name', example: 'prod' })
  env: string;

  @ApiProperty({
    type: 'string',
    nullable: true,
    description: 'Consumer identifier',
    example: 'bob@example.com',
  })
  consumer: string | null;

  @ApiProperty({ type: 'string', description: 'HTTP method', example: 'GET' })
  method: string;

  @ApiProperty({
    type: 'string',
    nullable: true,
    description: 'Request path pattern; null when no route matched',
    example: '/v1/users/{user_id}',
  })
  path: string | null;

  @ApiProperty({
    type: 'string',
    description: 'Full request URL',
    example: 'https://api.example.com/v1/users/7?full=1',
  })
  url: string;

  @ApiProperty({ type: 'integer', description: 'HTTP response status code', example: 200 })
  status_code: number;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    minimum: 0,
    description: 'Size of the request in bytes',
    example: 0,
  })
  request_size_bytes: number | null;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    minimum: 0,
    description: 'Size of the response in bytes',
    example: 512,
  })
  response_size_bytes: number | null;

  @ApiProperty({ type: 'integer', minimum: 0, description: 'Response time in milliseconds', example: 23 })
  response_time_ms: number;

  @ApiProperty({ type: 'string', nullable: true, description: 'Client IP address', example: '203.0.113.7' })
  client_ip: string | null;

  @ApiProperty({
    type: 'string',
    nullable: true,
    description: 'ISO 3166-1 alpha-2 country code derived from the IP address',
    example: 'DE',
  })
  client_country_iso_code: string | null;
}

export const RequestLogPage = PageType(RequestLog, 'newest first, ties by request_uuid');
