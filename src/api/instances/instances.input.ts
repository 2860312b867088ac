import { IsInt, IsOptional, Max, Min } from 'class-validator';
import type { Timestamp } from '../../shared/time/timestamp.js';
import { NextToken, type WindowCursor, WindowedInput } from '../../platform/paging/page-cursor.js';
import type { InputFingerprint } from '../../platform/paging/page-tokens.js';
import { IsTimestamp } from '../../platform/input/constraints.js';
import { ToInteger, ToTimestamp } from '../../platform/input/conversions.js';
import { QueryParameter } from '../../platform/input/parameters.js';

export class ListInstancesInput extends WindowedInput {
  @QueryParameter({ description: 'Only this environment', examples: [1] })
  @ToInteger()
  @IsOptional()
  @IsInt()
  @Min(1)
  app_env_id?: number;

  @QueryParameter({
    description:
      'Start of the window: only instances with a report since then (ISO 8601; UTC without an offset). ' +
      'Default: 24 hours before now.',
    examples: ['2026-11-20'],
  })
  @ToTimestamp()
  @IsOptional()
  @IsTimestamp()
  start?: Timestamp;

  @QueryParameter({
    description:
      'End of the window: only instances with a report before it (ISO 8601; UTC without an offset). Default: now.',
    examples: ['2026-11-21T12:00:00'],
  })
  @ToTimestamp()
  @IsOptional()
  @IsTimestamp()
  end?: Timestamp;

  @QueryParameter({
    description: 'Number of periods of equal length in the window, of which `resources` has one entry each',
    examples: [24],
  })
  @ToInteger()
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(100)
  periods = 24;

  @QueryParameter({ description: 'Instances per page', examples: [100] })
  @ToInteger()
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(100)
  limit = 100;

  @NextToken()
  next_token?: string;

  cursor: WindowCursor;
  readonly defaultSpanMs = 86_400_000;

  get fingerprint(): InputFingerprint {
    return { operation: 'instances', filters: [this.app_env_id ?? null, this.periods] };
  }
}
