import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { EXAMPLES } from '../../platform/openapi/examples.js';
import type { ErrorKind } from '../../write/batches/message.js';
import { ERROR_KINDS } from './errors.input.js';

const NULLABLE_TEXT = { type: 'string', nullable: true } as const;
const time = (description: string, example: string) =>
  ({ type: 'string', format: 'date-time', description, example }) as const;

/** A row of errors; only requested optional members are present. */
export class ErrorRow {
  @ApiPropertyOptional(time('Start of the day or hour', '2026-11-19T00:00:00Z'))
  period_start?: string;

  @ApiPropertyOptional(time('End of the day or hour, exclusive', '2026-11-20T00:00:00Z'))
  period_end?: string;

  @ApiProperty({
    type: 'string',
    pattern: '^[0-9a-f]{16}$',
    description: 'Equal for all occurrences of one error, in every environment',
    example: '8f2c6a1b0d4e7935',
  })
  fingerprint: string;

  @ApiProperty({
    enum: ERROR_KINDS,
    description:
      'A validation error or a server error that a client library reports, or an exception of a request',
    example: 'exception',
  })
  kind: ErrorKind;

  @ApiProperty({ type: 'string', description: 'Type of the error or of the exception', example: 'TypeError' })
  type: string;

  @ApiProperty({
    ...NULLABLE_TEXT,
    description: 'Its newest message in the window; null if there is none, or if it is older than 15 days',
    example: "Cannot read properties of undefined (reading 'price')",
  })
  message: string | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'HTTP method; null where no route matched', example: 'GET' })
  method: string | null;

  @ApiProperty({
    ...NULLABLE_TEXT,
    description: 'Path pattern; null where no route matched',
    example: '/v1/users/{user_id}',
  })
  path: string | null;

  @ApiProperty({ type: 'string', description: 'Environment name', example: 'prod' })
  env: string;

  @ApiPropertyOptional({
    type: 'integer',
    nullable: true,
    minimum: 1,
    description: 'Consumer ID; null for errors without a consumer',
    example: 42,
  })
  consumer_id?: number | null;

  @ApiProperty({ type: 'integer', minimum: 0, description: 'Number of occurrences', example: 17 })
  errors: number;

  @ApiProperty({ type: 'integer', minimum: 0, description: 'Number of consumers that met it', example: 3 })
  consumers: number;

  @ApiProperty(time('Its first occurrence that is kept, also before the window', '2026-11-12T07:01:44.120Z'))
  first_seen: string;

  @ApiProperty(time('Its last occurrence, also after the window', '2026-11-19T11:52:03.004Z'))
  last_seen: string;

  @ApiProperty({
    ...NULLABLE_TEXT,
    format: 'uuid',
    description: 'Its newest request log in the window; null if there is none',
    example: EXAMPLES.request_uuid,
  })
  request_uuid: string | null;

  @ApiProperty({
    ...NULLABLE_TEXT,
    description: 'The newest event of Sentry in the window; null if there is none',
    example: 'fc6d8c0c43fc4630ad850ee518f1b9d0',
  })
  sentry_event_id: string | null;

  @ApiProperty({
    ...NULLABLE_TEXT,
    description: 'The newest trace in the window; null if there is none',
    example: '4bf92f3577b34da6a3ce929d0e0e4736',
  })
  trace_id: string | null;
}
