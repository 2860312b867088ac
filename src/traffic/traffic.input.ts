import type { Timestamp } from '../common/time/timestamp.js';
import type { WindowCursor, WindowedInput } from '../pagination/page-cursor.js';
import type { InputFingerprint } from '../pagination/page-tokens.js';
import { AppInput } from '../validation/app-input.js';
import {
  IntegerField,
  LiteralField,
  TimestampField,
  TimezoneField,
  TokenField,
} from '../validation/field-types.js';
import type { Interval } from './periods.js';

const HOUR_MS = 3_600_000;

/** The units that Get Traffic groups by. */
export type TrafficInterval = Extract<Interval, 'hour' | 'day'>;

/** Without a start, the window begins this long before now (docs/contract.md#windows). */
const DEFAULT_SPAN_MS: Readonly<Record<TrafficInterval, number>> = {
  hour: 24 * HOUR_MS,
  day: 30 * 24 * HOUR_MS,
};

export class GetTrafficInput extends AppInput implements WindowedInput {
  @IntegerField({ ge: 1, description: 'Only this environment', examples: [1] })
  app_env_id?: number;

  @IntegerField({ ge: 1, description: 'Only this consumer ID', examples: [42] })
  consumer_id?: number;

  @TimestampField({
    description:
      'Start of the window, rounded down to the beginning of its period (ISO 8601; in `timezone` without an offset). ' +
      'Default: 24 hours before now for hours, 30 days before now for days.',
    examples: ['2026-11-01'],
  })
  start?: Timestamp;

  @TimestampField({
    description:
      'End of the window: periods that begin before it belong to the result (ISO 8601; in `timezone` without an ' +
      'offset). Default: now.',
    examples: ['2026-11-20T12:00:00+01:00'],
  })
  end?: Timestamp;

  @LiteralField(['hour', 'day'], {
    default: 'hour',
    older: { name: 'intervals', words: { hours: 'hour', days: 'day' } },
    description:
      'Grouping of the records. If it is absent, the older parameter `intervals` (`hours`, `days`) is read.',
    examples: ['day'],
  })
  interval: TrafficInterval;

  @TimezoneField({
    default: 'UTC',
    description: 'IANA timezone of the periods, and of `start` and `end` when given without an offset',
    examples: ['Europe/Berlin'],
  })
  timezone: string;

  @IntegerField({ ge: 1, le: 1000, default: 100, description: 'Records per page', examples: [100] })
  limit: number;

  @TokenField()
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
