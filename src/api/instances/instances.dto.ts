import { ApiProperty } from '@nestjs/swagger';
import { EXAMPLES } from '../../platform/openapi/examples.js';
import { PageType } from '../../platform/paging/page.dto.js';

export class InstanceResources {
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    description: 'Start of the period',
    example: EXAMPLES.timestamp,
  })
  period_start: string;

  @ApiProperty({
    type: 'number',
    nullable: true,
    description: 'Average processor time, in percent of one core; null if it was not reported',
    example: 12.5,
  })
  cpu_percent: number | null;

  @ApiProperty({
    type: 'integer',
    format: 'int64',
    nullable: true,
    description: 'Largest resident memory, in bytes; null if it was not reported',
    example: 187_432_960,
  })
  memory_rss_bytes: number | null;
}

export class Instance {
  @ApiProperty({
    type: 'string',
    format: 'uuid',
    nullable: true,
    description: 'ID of the process; null for all processes that give none',
    example: EXAMPLES.request_uuid,
  })
  instance_uuid: string | null;

  @ApiProperty({ type: 'string', description: 'Environment', example: 'prod' })
  env: string;

  @ApiProperty({
    type: 'string',
    nullable: true,
    description: 'Version of the application: `service.version`, or `versions.app` of its start',
    example: '2.14.1',
  })
  app_version: string | null;

  @ApiProperty({ type: 'string', nullable: true, description: 'Web framework', example: 'express' })
  framework: string | null;

  @ApiProperty({
    type: 'string',
    nullable: true,
    description: 'Client library, as it names itself at its start',
    example: 'js:express',
  })
  client: string | null;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'Versions of packages, as the client library gave them at its start',
    example: { nodejs: '22.21.1', express: '5.1.0' },
  })
  versions: Record<string, string>;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    description: 'Time of its first report',
    example: EXAMPLES.timestamp,
  })
  first_seen: string;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    description: 'Time of its last report',
    example: EXAMPLES.timestamp,
  })
  last_seen: string;

  @ApiProperty({
    type: 'boolean',
    description: 'Whether its last report is more than 10 minutes old: it has ended, or cannot report',
    example: false,
  })
  is_silent: boolean;

  @ApiProperty({
    type: () => [InstanceResources],
    description: 'Processor time and memory; periods without a report are left out',
  })
  resources: InstanceResources[];
}

export const InstancePage = PageType(Instance, 'by first report, newest first');
