import { ApiPropertyOptional, PickType } from '@nestjs/swagger';
import { TrafficRecord } from '../traffic/traffic.dto.js';

const COUNT = { type: 'integer', minimum: 0 } as const;
const PERCENTILE = { type: 'integer', nullable: true, minimum: 0 } as const;
const percentile = (rank: number, example: number) => ({
  ...PERCENTILE,
  description: `Response time in milliseconds, ${rank}th percentile; null if no time is known`,
  example,
});
const size = (side: 'request' | 'response', statistic: string, example: number) => ({
  ...(statistic === 'average' ? { ...PERCENTILE, type: 'number' as const } : PERCENTILE),
  description: `Size of the ${side} in bytes, ${statistic}; null if no size is known`,
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

  @ApiPropertyOptional({
    type: 'string',
    nullable: true,
    description: 'Name of the group in which the consumer is now; null without a group',
    example: 'Partners',
  })
  consumer_group?: string | null;

  @ApiPropertyOptional({
    type: 'string',
    nullable: true,
    pattern: '^[0-9]xx$',
    description: 'Class of the status code; null if unknown',
    example: '2xx',
  })
  status_class?: string | null;

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

  @ApiPropertyOptional(size('request', 'average', 840))
  request_size_avg?: number | null;

  @ApiPropertyOptional(size('request', '50th percentile', 512))
  request_size_p50?: number | null;

  @ApiPropertyOptional(size('request', '75th percentile', 900))
  request_size_p75?: number | null;

  @ApiPropertyOptional(size('request', '90th percentile', 1800))
  request_size_p90?: number | null;

  @ApiPropertyOptional(size('request', '95th percentile', 2600))
  request_size_p95?: number | null;

  @ApiPropertyOptional(size('request', '99th percentile', 9000))
  request_size_p99?: number | null;

  @ApiPropertyOptional(size('response', 'average', 5200))
  response_size_avg?: number | null;

  @ApiPropertyOptional(size('response', '50th percentile', 3100))
  response_size_p50?: number | null;

  @ApiPropertyOptional(size('response', '75th percentile', 6800))
  response_size_p75?: number | null;

  @ApiPropertyOptional(size('response', '90th percentile', 12000))
  response_size_p90?: number | null;

  @ApiPropertyOptional(size('response', '95th percentile', 21000))
  response_size_p95?: number | null;

  @ApiPropertyOptional(size('response', '99th percentile', 88000))
  response_size_p99?: number | null;

  @ApiPropertyOptional({
    type: 'array',
    items: { type: 'array', items: { type: 'number' }, minItems: 2, maxItems: 2 },
    description:
      'Response times: pairs of an upper bound in milliseconds and the number of requests between the bound before and this one, ' +
      'ascending. Bounds without requests are left out; empty if no time is known.',
    example: [
      [22.868, 311],
      [31.987, 973],
    ],
  })
  response_time_histogram?: [upper_bound_ms: number, requests: number][];
}
