import { IsIn, IsInt, IsOptional, IsString, Max, Min } from 'class-validator';
import type { Timestamp } from '../../shared/time/timestamp.js';
import { NextToken, type WindowCursor, WindowedInput } from '../../platform/paging/page-cursor.js';
import type { InputFingerprint } from '../../platform/paging/page-tokens.js';
import { IsTimestamp } from '../../platform/input/constraints.js';
import { ToInteger, ToTimestamp, ToTimezone } from '../../platform/input/conversions.js';
import { QueryParameter } from '../../platform/input/parameters.js';
import type { Interval } from '../../queries/calendar/periods.js';
import { HOUR_MS } from '../../shared/time/units.js';

/** The units that Get Traffic groups by. */
export type TrafficInterval = Extract<Interval, 'hour' | 'day'>;

/** Without a start, the window begins this long before now (docs/contract.md#windows). */
const DEFAULT_SPAN_MS: Readonly<Record<TrafficInterval, number>> = {
  hour: 24 * HOUR_MS,
  day: 30 * 24 * HOUR_MS,
};

export class GetTrafficInput extends WindowedInput {
  @QueryParameter({ description: 'Only this environment', examples: [1] })
  @ToInteger()
  @IsOptional()
  @IsInt()
  @Min(1)
  app_env_id?: number;

  @QueryParameter({ description: 'Only this consumer ID', examples: [42] })
  @ToInteger()
  @IsOptional()
  @IsInt()
  @Min(1)
  consumer_id?: number;

  @QueryParameter({
    description:
      'Start of the window, rounded down to the beginning of its period (ISO 8601; in `timezone` without an offset). ' +
      'Default: 24 hours before now for hours, 30 days before now for days.',
    examples: ['2026-11-01'],
  })
  @ToTimestamp()
  @IsOptional()
  @IsTimestamp()
  start?: Timestamp;

  @QueryParameter({
    description:
      'End of the window: periods that begin before it belong to the result (ISO 8601; in `timezone` without an ' +
      'offset). Default: now.',
    examples: ['2026-11-20T12:00:00+01:00'],
  })
  @ToTimestamp()
  @IsOptional()
  @IsTimestamp()
  end?: Timestamp;

  @QueryParameter({
    older: { name: 'intervals', words: { hours: 'hour', days: 'day' } },
    description:
      'Grouping of the records. If it is absent, the older parameter `intervals` (`hours`, `days`) is read.',
    examples: ['day'],
  })
  @IsOptional()
  @IsIn(['hour', 'day'])
  interval: TrafficInterval = 'hour';

  @QueryParameter({
    description: 'IANA timezone of the periods, and of `start` and `end` when given without an offset',
    examples: ['Europe/Berlin'],
  })
  @ToTimezone()
  @IsOptional()
  @IsString()
  override timezone = 'UTC';

  @QueryParameter({ description: 'Records per page', examples: [100] })
  @ToInteger()
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(1000)
  limit = 100;

  @NextToken()
  next_token?: string;

  cursor: WindowCursor;

  get fingerprint(): InputFingerprint {
    const filters = [this.app_env_id ?? null, this.consumer_id ?? null, this.interval, this.timezone];
    return { operation: 'traffic', filters };
  }

  get defaultSpanMs(): number {
    // An invalid interval is undefined.
    return DEFAULT_SPAN_MS[this.interval === 'day' ? 'day' : 'hour'];
  }
}
