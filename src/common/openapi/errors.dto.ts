import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

export class ErrorBody {
  @ApiProperty({ type: 'string', description: 'What went wrong', example: 'Not Found' })
  detail: string;
}

export class ValidationFault {
  @ApiProperty({ type: 'string', description: 'Kind of the fault', example: 'greater_than_equal' })
  type: string;

  @ApiProperty({
    type: 'array',
    items: { type: 'string' },
    minItems: 2,
    maxItems: 2,
    description: '`path` or `query`, then the name of the parameter',
    example: ['query', 'limit'],
  })
  loc: string[];

  @ApiProperty({
    type: 'string',
    description: 'Message',
    example: 'Input should be greater than or equal to 1',
  })
  msg: string;

  @ApiProperty({
    type: 'string',
    nullable: true,
    description: 'The value as it was sent; null when none was',
    example: '0',
  })
  input: string | null;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description: 'What the message speaks of, where it speaks of something',
    example: { ge: 1 },
  })
  ctx?: Record<string, unknown>;
}

export class ValidationErrorBody {
  @ApiProperty({
    type: () => [ValidationFault],
    description: 'Every fault of the request, path before query',
  })
  detail: ValidationFault[];
}
