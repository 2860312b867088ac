import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { EXAMPLES } from '../../platform/openapi/examples.js';
import { DAYS } from './days.js';
import {
  ALERT_METRICS,
  ALERT_OPERATORS,
  ALERT_STATES,
  type AlertState,
  CHANNELS,
  type Channel,
  COMPARISONS,
  type Rule,
  SEVERITIES,
} from './rule.js';

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

const COUNT = { type: 'integer', minimum: 0 } as const;
const FILTER = { type: 'string' } as const;

/** A rule without what the alert says of it. */
export class AlertRule {
  @ApiProperty({
    enum: [...ALERT_METRICS],
    enumName: 'AlertMetric',
    description:
      'A metric of Query Metrics; `silence`: minutes without data; `new_errors`: errors that are new; `weekly`: a digest, which has no limit',
    example: 'error_rate',
  })
  metric: Rule['metric'];

  @ApiProperty({
    enum: [...ALERT_OPERATORS],
    enumName: 'AlertOperator',
    description: 'How a value beyond the limit compares with it',
    example: 'gt',
  })
  op: Rule['op'];

  @ApiProperty({
    type: 'number',
    description: 'The limit; of `silence` it is the window. With `last_week` 0.5 is half more',
    example: 0.05,
  })
  value: number;

  @ApiProperty({
    enum: [...COMPARISONS],
    enumName: 'AlertComparison',
    description: 'Whether the limit is one of the value, or of its change to the same window a week before',
    example: 'threshold',
  })
  compare: Rule['compare'];

  @ApiProperty({ ...COUNT, minimum: 1, description: 'Length of a window in minutes', example: 10 })
  window_minutes: number;

  @ApiProperty({ ...COUNT, description: 'Windows with fewer requests do not count', example: 50 })
  min_requests: number;

  @ApiProperty({ ...COUNT, minimum: 1, description: 'Windows beyond the limit for it to fire', example: 2 })
  for: number;

  @ApiPropertyOptional({
    ...COUNT,
    minimum: 1,
    description: 'Of how many windows, one a minute; left out: as many as `for`',
    example: 3,
  })
  of?: number;

  @ApiPropertyOptional({ ...FILTER, description: 'Environment', example: 'prod' })
  env?: string;

  @ApiPropertyOptional({ ...FILTER, description: 'HTTP method', example: 'GET' })
  method?: string;

  @ApiPropertyOptional({ ...FILTER, description: 'Path; `*` is any text', example: '/v1/*' })
  path?: string;

  @ApiPropertyOptional({ ...FILTER, description: 'Identifier of a consumer', example: 'acme' })
  consumer?: string;

  @ApiPropertyOptional({ ...FILTER, description: 'Group of consumers', example: 'gold' })
  group?: string;

  @ApiPropertyOptional({ ...FILTER, description: 'Status or class', example: '5xx' })
  status?: string;

  @ApiPropertyOptional({
    ...FILTER,
    description: 'Hours of each day in which nothing is told',
    example: '22:00-06:00',
  })
  quiet?: string;

  @ApiPropertyOptional({
    enum: [...DAYS],
    enumName: 'AlertDay',
    description: 'Day of a digest; left out: monday',
    example: 'monday',
  })
  day?: (typeof DAYS)[number];

  @ApiPropertyOptional({ ...FILTER, description: 'Time of a digest; left out: 09:00', example: '09:00' })
  at?: string;

  @ApiProperty({ type: 'string', description: 'Timezone of its hours', example: 'Europe/Berlin' })
  timezone: string;
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

  @ApiProperty({ type: () => AlertRule, description: 'The same in parts' })
  rule: AlertRule;

  @ApiProperty({
    enum: [...SEVERITIES],
    enumName: 'AlertSeverity',
    description: 'Severity',
    example: 'critical',
  })
  severity: (typeof SEVERITIES)[number];

  @ApiProperty({
    enum: [...CHANNELS],
    enumName: 'AlertReceiver',
    isArray: true,
    description: 'Kinds of its receivers, without their addresses; empty: nobody is told',
    example: ['slack'],
  })
  receivers: Channel['kind'][];

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
