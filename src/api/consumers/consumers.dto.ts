import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { EXAMPLES } from '../../platform/openapi/examples.js';
import { PageType } from '../../platform/paging/page.dto.js';

export class ConsumerGroup {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'Consumer group ID', example: 3 })
  id: number;

  @ApiProperty({ type: 'string', description: 'Consumer group name', example: 'Partners' })
  name: string;
}

const CONSUMER_STATES = ['new', 'returning', 'quiet'] as const;
export type ConsumerState = (typeof CONSUMER_STATES)[number];

export class ConsumerActivity {
  @ApiProperty({
    enum: CONSUMER_STATES,
    enumName: 'ConsumerState',
    description:
      '`new`: the first request of the last 13 months was in the last 30 days. `returning`: there were requests in the ' +
      'last 30 days and before. `quiet`: there was none in the last 30 days.',
    example: 'returning',
  })
  state: ConsumerState;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description: 'Quarter-hour of the first request of the last 13 months; null if there was none',
    example: '2026-02-11T09:15:00Z',
  })
  first_request_at: string | null;

  @ApiProperty({ type: 'integer', minimum: 0, description: 'Requests in the last 30 days', example: 1284 })
  requests: number;
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

  @ApiPropertyOptional({ type: () => ConsumerActivity, description: 'Only with `include=activity`' })
  activity?: ConsumerActivity;
}

export const ConsumerPage = PageType(Consumer, 'by consumer ID, descending');
