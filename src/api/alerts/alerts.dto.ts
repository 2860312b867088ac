import { ApiProperty } from '@nestjs/swagger';
import { EXAMPLES } from '../../platform/openapi/examples.js';
import { ALERT_STATES, type AlertState, SEVERITIES } from './rule.js';

const STATE = { enum: [...ALERT_STATES], enumName: 'AlertState', example: 'firing' } as const;
const VALUE = { type: 'number', nullable: true, example: 0.12 } as const;

export class AlertChange {
  @ApiProperty({ ...STATE, description: 'State that the alert then had' })
  state: AlertState;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    description: 'Since when',
    example: EXAMPLES.timestamp,
  })
  since: string;

  @ApiProperty({ ...VALUE, description: 'Last value in that state; null if there was none' })
  value: number | null;
}

export class Alert {
  @ApiProperty({ type: 'integer', minimum: 1, description: 'App ID', example: 1 })
  app_id: number;

  @ApiProperty({ type: 'string', description: 'Name of the rule', example: 'errors' })
  name: string;

  @ApiProperty({
    type: 'string',
    description: 'When it fires',
    example: 'error_rate (env prod) > 0.05 over 10m',
  })
  condition: string;

  @ApiProperty({
    enum: [...SEVERITIES],
    enumName: 'AlertSeverity',
    description: 'Severity',
    example: 'critical',
  })
  severity: (typeof SEVERITIES)[number];

  @ApiProperty({
    ...STATE,
    description: '`no_data` before the first evaluation, and if there is nothing to evaluate',
  })
  state: AlertState;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description:
      'Since when it has its state, of a digest when it was due last; null before the first evaluation',
    example: EXAMPLES.timestamp,
  })
  since: string | null;

  @ApiProperty({
    ...VALUE,
    description:
      'Value of the last window, or its change to the week before; null if there is none, as for a digest',
  })
  value: number | null;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description: 'End of the last window; null before the first evaluation',
    example: EXAMPLES.timestamp,
  })
  evaluated_at: string | null;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description: 'Until when it is muted by a command; null if it is not',
    example: EXAMPLES.timestamp,
  })
  muted_until: string | null;

  @ApiProperty({ type: () => [AlertChange], description: 'The last ten states, the newest first' })
  history: AlertChange[];
}

export class AlertList {
  @ApiProperty({ type: () => [Alert], description: 'Alerts, by app and name' })
  data: Alert[];
}
