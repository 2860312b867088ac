import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { DIMENSIONS, type DimensionName, MEASURES, type Measure } from './measure-change.js';

const time = (description: string, example: string) =>
  ({ type: 'string', format: 'date-time', description, example }) as const;
const NUMBER = { type: 'number', nullable: true } as const;

/** A part of a window that is kept. */
export class ComparedWindow {
  @ApiProperty(time('Start, rounded down to the minute or the quarter-hour', '2026-11-19T00:00:00.000Z'))
  since: string;

  @ApiProperty(time('End, exclusive, rounded up likewise', '2026-11-20T00:00:00.000Z'))
  until: string;
}

/** A measure in both windows. */
export class MeasuredChange {
  @ApiProperty({
    ...NUMBER,
    description: 'The measure in the window: a count, or milliseconds; null if no response time is known',
    example: 1284,
  })
  now: number | null;

  @ApiProperty({ ...NUMBER, description: 'The same in the baseline', example: 1100 })
  before: number | null;

  @ApiProperty({ ...NUMBER, description: 'The difference; null if one of them is', example: 184 })
  change: number | null;

  @ApiProperty({
    ...NUMBER,
    description:
      'Share of the group in the change of the whole; those of a dimension add up to 1. Of a response time ' +
      'it is the share in the change of slow requests for each request, because percentiles do not add up. ' +
      'Null if the whole did not change.',
    example: 0.95,
  })
  share: number | null;

  @ApiProperty({ type: 'integer', minimum: 0, description: 'Requests in the window', example: 1284 })
  requests: number;

  @ApiProperty({ type: 'integer', minimum: 0, description: 'Requests in the baseline', example: 1100 })
  requests_before: number;
}

/** A group that changed; it has the members of its dimension. */
export class ChangedGroup extends MeasuredChange {
  @ApiProperty({ enum: DIMENSIONS, description: 'What the group is', example: 'endpoint' })
  dimension: DimensionName;

  @ApiPropertyOptional({
    type: 'string',
    nullable: true,
    description: 'HTTP method of an endpoint; null where no route matched',
    example: 'GET',
  })
  method?: string | null;

  @ApiPropertyOptional({
    type: 'string',
    nullable: true,
    description: 'Path pattern of an endpoint; null where no route matched',
    example: '/v1/users/{user_id}',
  })
  path?: string | null;

  @ApiPropertyOptional({
    type: 'integer',
    nullable: true,
    minimum: 1,
    description: 'Consumer ID; null for requests without a consumer',
    example: 42,
  })
  consumer_id?: number | null;

  @ApiPropertyOptional({
    type: 'integer',
    nullable: true,
    description: 'Status code; null if unknown',
    example: 500,
  })
  status_code?: number | null;
}

/** The groups of a dimension that are not in `data`. */
export class OtherGroups {
  @ApiProperty({ enum: DIMENSIONS, description: 'What the groups are', example: 'endpoint' })
  dimension: DimensionName;

  @ApiProperty({ type: 'integer', minimum: 1, description: 'Number of groups', example: 17 })
  groups: number;

  @ApiProperty({ ...NUMBER, description: 'Their share in the change of the whole', example: 0.02 })
  share: number | null;
}

export class ExplainedChange {
  @ApiProperty({ enum: MEASURES, description: 'What is compared', example: 'requests' })
  measure: Measure;

  @ApiProperty({
    type: ComparedWindow,
    nullable: true,
    description: 'The kept part of the window; null if nothing of it is kept',
  })
  window: ComparedWindow | null;

  @ApiProperty({
    type: ComparedWindow,
    nullable: true,
    description: 'The kept part of the baseline; null if nothing of it is kept',
  })
  baseline: ComparedWindow | null;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    description:
      'Milliseconds from which a request counts as slow, the 95th percentile of the baseline; up to four times ' +
      'that it counts half. Null for other measures.',
    example: 412,
  })
  slow_from_ms: number | null;

  @ApiProperty({ type: MeasuredChange, description: 'The whole' })
  total: MeasuredChange;

  @ApiProperty({
    type: [ChangedGroup],
    description: 'The groups that changed, by dimension, the largest share first',
  })
  data: ChangedGroup[];

  @ApiProperty({ type: [OtherGroups], description: 'What is left out of `data`, by dimension' })
  others: OtherGroups[];
}
