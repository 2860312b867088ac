import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { IsTimestamp } from '../../platform/input/constraints.js';
import { ToInteger, ToTimestamp } from '../../platform/input/conversions.js';
import { QueryParameter } from '../../platform/input/parameters.js';
import { NextToken, type WindowCursor, WindowedInput } from '../../platform/paging/page-cursor.js';
import type { InputFingerprint } from '../../platform/paging/page-tokens.js';
import type { Timestamp } from '../../shared/time/timestamp.js';

export class ListReleasesInput extends WindowedInput {
  @QueryParameter({ description: 'Only this environment', examples: [1] })
  @ToInteger()
  @IsOptional()
  @IsInt()
  @Min(1)
  app_env_id?: number;

  @QueryParameter({
    description:
      'Start of the window: only releases that began since then (ISO 8601; UTC without an offset). Default: all that are kept.',
    examples: ['2026-11-01'],
  })
  @ToTimestamp()
  @IsOptional()
  @IsTimestamp()
  start?: Timestamp;

  @QueryParameter({
    description:
      'End of the window: only releases that began before it (ISO 8601; UTC without an offset). Default: now.',
    examples: ['2026-11-21T12:00:00'],
  })
  @ToTimestamp()
  @IsOptional()
  @IsTimestamp()
  end?: Timestamp;

  @QueryParameter({ description: 'Releases per page', examples: [100] })
  @ToInteger()
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(1000)
  limit = 100;

  @NextToken()
  next_token?: string;

  cursor: WindowCursor;
  /** Longer than anything is kept. */
  readonly defaultSpanMs = 400 * 86_400_000;

  get fingerprint(): InputFingerprint {
    return { operation: 'releases', filters: [this.app_env_id ?? null] };
  }
}
