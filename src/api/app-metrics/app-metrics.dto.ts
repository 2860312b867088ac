import { ApiPropertyOptional, PickType } from '@nestjs/swagger';
import { TrafficRecord } from '../traffic/traffic.dto.js';

const COUNT = { type: 'integer', minimum: 0 } as const;
const PERCENTILE = { type: 'integer', nullable: true, minimum: 0 } as const;
const percentile = (rank: number, example: number) => ({
  ...PERCENTILE,
  description: `Response time in milliseconds, ${rank}th percentile; null if no time is known`,
  example,
});

/** A row of metrics; only requested optional members are present. */
export class MetricsRow extends PickType(TrafficRecord, ['period_start', 'period_end']) {
  @ApiPropertyOptional({ type: 'string', description: 'Environment name', example: 'prod' })
  env?: string;

  @ApiPropertyOptional({
    type: 'string',
    nullable: true,
    description:
      'Version that the environment ran alone at that time; null while it ran several, and if none is known',
    example: '2.14.1',
  })
  app_version?: string | null;

  @ApiPropertyOptional({
    type: 'integer',
    nullable: true,
    minimum: 1,
    description: 'Consumer ID; null for requests without a consumer',
    example: 42,
  })
  consumer_id?: number | null;

  @ApiPropertyOptional({
    type: 'string',
    nullable: true,
    description: 'HTTP method; null where no route matched',
    example: 'GET',
  })
  method?: string | null;

  @ApiPropertyOptional({
    type: 'string',
    nullable: true,
    description: 'Path pattern; null where no route matched',
    example: '/v1/users/{user_id}',
  })
  path?: string | null;

  @ApiPropertyOptional({
    type: 'integer',
    nullable: true,
    description: 'Status code; null if unknown',
    example: 200,
  })
  status_code?: number | null;

  @ApiPropertyOptional({ ...COUNT, description: 'Number of requests', example: 1284 })
  requests?: number;

  @ApiPropertyOptional({
    type: 'number',
    minimum: 0,
    description: 'Requests per minute; in the current period, per minute until now',
    example: 21.4,
  })
  requests_per_minute?: number;

  @ApiPropertyOptional({ ...COUNT, description: 'Bytes received', example: 40960 })
  bytes_received?: number;

  @ApiPropertyOptional({ ...COUNT, description: 'Bytes sent', example: 913408 })
  bytes_sent?: number;

  @ApiPropertyOptional({
    ...COUNT,
    nullable: true,
    description: '4xx except expected errors of the endpoint; null if no status is known',
    example: 12,
  })
  client_errors?: number | null;

  @ApiPropertyOptional({
    ...COUNT,
    nullable: true,
    description: '5xx; null if no status is known',
    example: 3,
  })
  server_errors?: number | null;

  @ApiPropertyOptional({
    type: 'number',
    nullable: true,
    minimum: 0,
    maximum: 1,
    description:
      'Share of client and server errors among requests with a known status; null if there are none',
    example: 0.0117,
  })
  error_rate?: number | null;

  @ApiPropertyOptional(percentile(50, 31))
  response_time_p50?: number | null;

  @ApiPropertyOptional(percentile(75, 64))
  response_time_p75?: number | null;

  @ApiPropertyOptional(percentile(90, 120))
  response_time_p90?: number | null;

  @ApiPropertyOptional(percentile(95, 190))
  response_time_p95?: number | null;

  @ApiPropertyOptional(percentile(99, 610))
  response_time_p99?: number | null;

  @ApiPropertyOptional({
    type: 'number',
    nullable: true,
    minimum: 0,
    maximum: 1,
    description:
      'Apdex: the share of requests within the threshold, and half of those within four times that; null where no time is known. ' +
      'A time less than 2.2 % above either bound may count as within it.',
    example: 0.94,
  })
  apdex?: number | null;
}
