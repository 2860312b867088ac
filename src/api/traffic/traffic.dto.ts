import { ApiProperty } from '@nestjs/swagger';
import { PageType } from '../../platform/paging/page.dto.js';

export class TrafficRecord {
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    description: 'Start of the period',
    example: '2026-11-20T14:00:00Z',
  })
  period_start: string;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    description: "End of the period: the next period's start",
    example: '2026-11-20T15:00:00Z',
  })
  period_end: string;

  @ApiProperty({
    type: 'integer',
    minimum: 0,
    description: 'Number of requests in the period',
    example: 1284,
  })
  requests: number;

  @ApiProperty({ type: 'integer', minimum: 0, description: 'Bytes received in the period', example: 40960 })
  bytes_received: number;

  @ApiProperty({ type: 'integer', minimum: 0, description: 'Bytes sent in the period', example: 913408 })
  bytes_sent: number;
}

export const TrafficPage = PageType(
  TrafficRecord,
  'oldest period first; periods without requests are left out',
);
