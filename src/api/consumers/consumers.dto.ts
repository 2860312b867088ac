import { ApiProperty } from '@nestjs/swagger';
import { EXAMPLES } from '../../platform/openapi/examples.js';
import { PageType } from '../../platform/paging/page.dto.js';

export class ConsumerGroup {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'Consumer group ID', example: 3 })
  id: number;

  @ApiProperty({ type: 'string', description: 'Consumer group name', example: 'Partners' })
  name: string;
}

export class Consumer {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'Consumer ID', example: 42 })
  id: number;

  @ApiProperty({
    type: 'string',
    description: 'Consumer identifier, as supplied by the monitored application',
    example: 'bob@example.com',
  })
  identifier: string;

  @ApiProperty({
    type: 'string',
    description: 'Consumer name; the identifier if no name was given',
    example: 'Bob',
  })
  name: string;

  @ApiProperty({ type: () => ConsumerGroup, nullable: true, description: 'Consumer group, if any' })
  group: ConsumerGroup | null;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    description: 'Creation time',
    example: EXAMPLES.timestamp,
  })
  created_at: string;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    description: "Time of the consumer's most recent request; the creation time if there was none",
    example: EXAMPLES.timestamp,
  })
  last_request_at: string;
}

export const ConsumerPage = PageType(Consumer, 'by consumer ID, descending');
