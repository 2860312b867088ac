import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

export class ErrorBody {
  @ApiProperty({ type: 'string', description: 'What went wrong', example: 'Not Found' })
  detail: string;
}

export class ValidationError {
  @ApiProperty({ type: 'string', description: 'Error type', example: 'greater_than_equal' })
  type: string;

  @ApiProperty({
    type: 'array',
    items: { oneOf: [{ type: 'string' }, { type: 'integer' }] },
    minItems: 1,
    description:
      '`path`, `query` or `body`, then the name of the parameter or member; in the body also names and indexes within it',
    example: ['query', 'limit'],
  })
  loc: (string | number)[];

  @ApiProperty({
    type: 'string',
    description: 'Message',
    example: 'Input should be greater than or equal to 1',
  })
  msg: string;

  @ApiProperty({
    // Any value, in the one form that all generators read.
    allOf: [{}],
    description: 'The value as it was sent: a string, or any JSON value in the body; null if absent',
    example: '0',
  })
  input: unknown;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description: 'Values referenced by `msg`, if any',
    example: { ge: 1 },
  })
  ctx?: Record<string, unknown>;
}

export class ValidationErrorBody {
  @ApiProperty({
    type: () => [ValidationError],
    description: 'All validation errors of the request, path parameters first',
  })
  detail: ValidationError[];
}

/** Problem details (RFC 9457). */
export class Problem {
  @ApiProperty({ type: 'string', enum: ['about:blank'], description: 'No more than what the status says' })
  type: string;

  @ApiProperty({ type: 'string', description: 'What the status means', example: 'Not Found' })
  title: string;

  @ApiProperty({ type: 'integer', description: 'The status of the response', example: 404 })
  status: number;

  @ApiProperty({ type: 'string', description: 'What went wrong', example: 'App not found' })
  detail: string;
}

/** Problem details of a 422. */
export class ValidationProblem extends Problem {
  @ApiProperty({
    type: () => [ValidationError],
    description: 'All validation errors of the request, path parameters first',
  })
  errors: ValidationError[];
}
