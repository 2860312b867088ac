import { ApiProperty } from '@nestjs/swagger';
import { EXAMPLES } from '../../platform/openapi/examples.js';

const CREATED = {
  type: 'string',
  format: 'date-time',
  description: 'Creation time',
  example: EXAMPLES.timestamp,
} as const;

export class Env {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'Environment ID', example: 1 })
  id: number;

  @ApiProperty({ type: 'string', description: 'Environment name', example: 'prod' })
  name: string;

  @ApiProperty(CREATED)
  created_at: string;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description: 'Time of the last data sync; null when none has happened yet',
    example: EXAMPLES.timestamp,
  })
  last_sync_at: string | null;
}

export class App {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'App ID', example: 1 })
  id: number;

  @ApiProperty({ type: 'string', description: 'App name', example: 'Shop API' })
  name: string;

  @ApiProperty({ type: 'string', description: 'Framework the app uses', example: 'express' })
  framework: string;

  @ApiProperty({
    type: 'string',
    format: 'uuid',
    description: 'Client identifier of the app',
    example: '76bf09e2-8996-4dd0-bdb5-ccdc3a48f64c',
  })
  client_id: string;

  @ApiProperty({ type: () => [Env], description: 'Environments of the app, by ID' })
  envs: Env[];

  @ApiProperty(CREATED)
  created_at: string;
}

export class AppList {
  @ApiProperty({ type: () => [App], description: "The team's apps, by ID" })
  data: App[];
}
