import { IsIn, IsInt, IsOptional, IsTimeZone, Max, Min } from 'class-validator';
import { UntilMember } from '../../queries/files/body.fields.js';
import { type Filter, FiltersMember } from '../../queries/filters/filter.js';
import { type Timestamp, resolveTimestamp } from '../../shared/time/timestamp.js';
import type { Window } from '../../shared/time/window.js';
import { AppInput } from '../../platform/input/app-input.js';
import { IsTimestamp } from '../../platform/input/constraints.js';
import { ToInteger, ToTimestamp, ToTimezone } from '../../platform/input/conversions.js';
import { BodyMember } from '../../platform/input/parameters.js';
import { baselineSinceNotBeforeUntil, sinceNotBeforeUntil } from '../../platform/input/issues.js';
import type { CrossFieldValidated, ValidationContext } from '../../platform/input/validation-context.js';
import { type GroupField, METRIC_FILTERS } from '../app-metrics/app-metrics.input.js';
import { findWindowBefore, roundWindows } from './compared-windows.js';
import { MEASURES, type Measure } from './measure-change.js';

const MAX_GROUPS = 50;

export class ExplainChangeInput extends AppInput implements CrossFieldValidated {
  @BodyMember({
    description:
      'What is compared. `errors` are client and server errors; `response_time` is the 95th percentile.',
    examples: ['requests'],
    enumName: 'Measure',
  })
  @IsIn(MEASURES)
  measure: Measure;

  @BodyMember({
    description: 'Start of the window (ISO 8601; in `timezone` without an offset)',
    examples: ['2026-11-19T00:00:00Z'],
  })
  @ToTimestamp()
  @IsTimestamp()
  since: Timestamp;

  @UntilMember()
  until?: Timestamp;

  @BodyMember({
    description: 'Start of the baseline. Default: as long before the window as the window is.',
    examples: ['2026-11-12T00:00:00Z'],
  })
  @ToTimestamp()
  @IsOptional()
  @IsTimestamp()
  baseline_since?: Timestamp;

  @BodyMember({
    description: 'End of the baseline, exclusive. Default: the start of the window.',
    examples: ['2026-11-13T00:00:00Z'],
  })
  @ToTimestamp()
  @IsOptional()
  @IsTimestamp()
  baseline_until?: Timestamp;

  @FiltersMember(METRIC_FILTERS, {
    name: 'MetricFilter',
    description: 'Only requests that match all of these filters',
    examples: [[{ field: 'env', op: 'eq', value: 'prod' }]],
  })
  filters: readonly Filter<GroupField>[] = [];

  @BodyMember({ description: 'Timezone of times without an offset (IANA)', examples: ['Europe/Berlin'] })
  @ToTimezone()
  @IsOptional()
  @IsTimeZone()
  timezone = 'UTC';

  @BodyMember({ description: 'Groups of each dimension', examples: [5] })
  @ToInteger()
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_GROUPS)
  limit = 5;

  /** Both windows, rounded, in milliseconds since the epoch, and the time of the request. */
  compared: { window: Window; baseline: Window; now: number };

  /** The body as it was sent. */
  body: object;

  validate(check: ValidationContext<this>): void {
    this.body = check.body();
    if (!check.isValid('since', 'until', 'baseline_since', 'baseline_until')) return;
    const timezone = check.isValid('timezone') ? this.timezone : undefined;
    const now = Date.now();
    const resolve = (time: Timestamp | undefined) => time && resolveTimestamp(time, timezone);
    const asked = { start: resolveTimestamp(this.since, timezone), end: resolve(this.until) ?? now };
    const readBaseline = (window: Window) => {
      const before = findWindowBefore(window);
      return {
        start: resolve(this.baseline_since) ?? before.start,
        end: resolve(this.baseline_until) ?? before.end,
      };
    };
    const baseline = readBaseline(asked);
    if (asked.start >= asked.end) check.addIssue('since', sinceNotBeforeUntil);
    else if (baseline.start >= baseline.end) check.addIssue('baseline_since', baselineSinceNotBeforeUntil);
    else this.compared = { ...roundWindows(asked, now, readBaseline), now };
  }
}
