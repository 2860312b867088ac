import { ApiProperty } from '@nestjs/swagger';

export class Endpoint {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'Endpoint ID', example: 12 })
  id: number;

  @ApiProperty({ type: 'string', description: 'HTTP method', example: 'GET' })
  method: string;

  @ApiProperty({
    type: 'string',
    description: 'Path pattern of the endpoint, with path parameters in braces',
    example: '/v1/users/{user_id}',
  })
  path: string;
}

export class EndpointList {
  @ApiProperty({ type: () => [Endpoint], description: "The app's endpoints, by path and then method" })
  data: Endpoint[];
}
