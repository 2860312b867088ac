import { ApiProperty, ApiPropertyOptional, IntersectionType, PartialType } from '@nestjs/swagger';
import { EXAMPLES } from '../../platform/openapi/examples.js';

const NULLABLE_TEXT = { type: 'string', nullable: true } as const;

/** What is known of an operation by documents of the app, and by its responses. */
class Described {
  @ApiProperty({
    ...NULLABLE_TEXT,
    description: 'Its `operationId` in the OpenAPI document; null if there is none',
    example: 'getUser',
  })
  operation_id: string | null;

  @ApiProperty({
    ...NULLABLE_TEXT,
    description: 'Its summary in the OpenAPI document; null if there is none',
    example: 'Get a user',
  })
  summary: string | null;

  @ApiProperty({
    type: [String],
    description: 'Its tags in the OpenAPI document',
    example: ['users'],
  })
  tags: string[];

  @ApiProperty({
    type: 'boolean',
    description:
      'Whether the OpenAPI document says `deprecated`, or a response of the last 30 days did in its header `Deprecation` ' +
      '(RFC 9745) for a time that has come',
    example: false,
  })
  deprecated: boolean;

  @ApiProperty({
    ...NULLABLE_TEXT,
    format: 'date-time',
    description:
      'When it will stop to respond: the header `Sunset` (RFC 8594) of a response of the last 30 days, or `x-sunset` of ' +
      'the OpenAPI document; null if nothing says it',
    example: EXAMPLES.timestamp,
  })
  sunset: string | null;
}

class Documented {
  @ApiProperty({
    type: 'boolean',
    nullable: true,
    description: 'Whether an OpenAPI document of the app has it; null if the app has no document',
    example: true,
  })
  documented: boolean | null;
}

class Called {
  @ApiProperty({
    ...NULLABLE_TEXT,
    format: 'date-time',
    description: 'Time of its most recent request; null if there was none',
    example: EXAMPLES.timestamp,
  })
  last_request_at: string | null;

  @ApiProperty({
    type: 'integer',
    format: 'int64',
    minimum: 0,
    description: 'Number of its requests in the last 30 days, by whole hours (UTC)',
    example: 1284,
  })
  requests_30d: number;

  @ApiProperty({
    type: 'integer',
    minimum: 0,
    description: 'Number of consumers that made requests in the same time',
    example: 3,
  })
  consumers_30d: number;
}

/** What the inventory adds to an endpoint. */
export class InventoryMembers extends IntersectionType(Documented, Described, Called) {}

class Route {
  @ApiProperty({ type: 'string', description: 'HTTP method', example: 'GET' })
  method: string;

  @ApiProperty({
    type: 'string',
    description: 'Path pattern of the endpoint, with path parameters in braces',
    example: '/v1/users/{user_id}',
  })
  path: string;
}

class Identified {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'Endpoint ID', example: 12 })
  id: number;
}

/** An endpoint; the members of the inventory are present only with `include=inventory`. */
export class Endpoint extends IntersectionType(Identified, Route, PartialType(InventoryMembers)) {}

/** An operation of an OpenAPI document. */
export class DocumentedOperation extends IntersectionType(Route, Described) {}

export class EndpointList {
  @ApiProperty({ type: () => [Endpoint], description: "The app's endpoints, by path and then method" })
  data: Endpoint[];

  @ApiPropertyOptional({
    type: () => [DocumentedOperation],
    description:
      'Only with `include=inventory`: operations of OpenAPI documents without a request, by path and then method, with ' +
      'the path of their server. Empty for a key of one consumer.',
  })
  never_called?: DocumentedOperation[];
}
