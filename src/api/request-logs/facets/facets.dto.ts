import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

const COUNT = { type: 'integer', minimum: 0 } as const;

export class Facet {
  @ApiProperty({
    type: 'string',
    nullable: true,
    description: 'The value as in a request log, as a text; null for requests without one',
    example: '500',
  })
  value: string | null;

  @ApiPropertyOptional({
    type: 'integer',
    nullable: true,
    minimum: 1,
    description: 'Of `env` and `consumer`: the ID that filters take; null without a consumer',
    example: 42,
  })
  id?: number | null;

  @ApiProperty({ ...COUNT, description: 'Number of request logs with the value', example: 12 })
  requests: number;
}

export class OtherFacets {
  @ApiProperty({ ...COUNT, description: 'Number of further values', example: 0 })
  values: number;

  @ApiProperty({ ...COUNT, description: 'Number of request logs with them', example: 0 })
  requests: number;
}

export class FacetList {
  @ApiProperty({ type: [Facet], description: 'The most frequent values first, ties by the value, null last' })
  data: Facet[];

  @ApiProperty({ type: OtherFacets, description: 'What `limit` leaves out' })
  others: OtherFacets;
}
