import { ApiProperty } from '@nestjs/swagger';
import { EXAMPLES } from '../../platform/openapi/examples.js';
import { PageType } from '../../platform/paging/page.dto.js';

export class Release {
  @ApiProperty({
    type: 'string',
    description: 'Version of the application: `service.version`, `versions.app`, or that of a mark',
    example: '2.14.1',
  })
  version: string;

  @ApiProperty({ type: 'string', description: 'Environment', example: 'prod' })
  env: string;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    description: 'Time of the first report of a process with this version, or of the mark if that is earlier',
    example: EXAMPLES.timestamp,
  })
  first_seen: string;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    description: 'Time of the last report of a process with this version; the time of the mark without any',
    example: EXAMPLES.timestamp,
  })
  last_seen: string;

  @ApiProperty({
    type: 'integer',
    minimum: 0,
    description:
      'Number of processes that ran this version; those that give no ID count as one. 0: it was only marked.',
    example: 3,
  })
  instances: number;
}

export const ReleasePage = PageType(Release, 'by first report, newest first');
