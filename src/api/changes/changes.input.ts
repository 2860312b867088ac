import { IsIn, IsInt, IsOptional, IsString, Max, Min } from 'class-validator';
import { UntilMember } from '../../queries/files/body.fields.js';
import { type Filter, FiltersMember } from '../../queries/filters/filter.js';
import { type Timestamp, resolveTimestamp } from '../../shared/time/timestamp.js';
import type { Window } from '../../shared/time/window.js';
import { AppInput } from '../../platform/input/app-input.js';
import { IsText, IsTimestamp } from '../../platform/input/constraints.js';
import { ToInteger, ToTimestamp, ToTimezone } from '../../platform/input/conversions.js';
import { MAX_VERSION } from '../../sources/decoding/startup.js';
import { BodyMember } from '../../platform/input/parameters.js';
import {
  type ConstraintViolation,
  baselineSinceNotBeforeUntil,
  missing,
  sinceNotBeforeUntil,
  valueError,
} from '../../platform/input/issues.js';
import type { CrossFieldValidated, ValidationContext } from '../../platform/input/validation-context.js';
import { type GroupField, METRIC_FILTERS } from '../app-metrics/app-metrics.input.js';
import { findWindowBefore, roundWindows } from './compared-windows.js';
import { MEASURES, type Measure } from './measure-change.js';

const MAX_GROUPS = 50;
const eitherSinceOrRelease = valueError('there must be either since or since_release');

/** Both windows, rounded, in milliseconds since the epoch, and the time of the request. */
export interface ComparedWindows {
  readonly window: Window;
  readonly baseline: Window;
  readonly now: number;
}

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
    description:
      'Start of the window (ISO 8601; in `timezone` without an offset). Required without `since_release`.',
    examples: ['2026-11-19T00:00:00Z'],
  })
  @ToTimestamp()
  @IsOptional()
  @IsTimestamp()
  since?: Timestamp;

  @BodyMember({
    description:
      'In place of `since`: a version as List Releases has it. The window starts when the version began, in the ' +
      'environments that the filters on `env` match.',
    examples: ['2.14.1'],
  })
  @IsOptional()
  @IsText(MAX_VERSION)
  since_release?: string;

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
  @IsString()
  timezone = 'UTC';

  @BodyMember({ description: 'Groups of each dimension', examples: [5] })
  @ToInteger()
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_GROUPS)
  limit = 5;

  /** Both windows, rounded; undefined until the begin of a release is known. */
  compared: ComparedWindows | undefined;

  /** The body as it was sent. */
  body: object;

  /**
   * The windows for a start of the window in milliseconds since the epoch; if they do not start before their
   * end, the member that is wrong, and why. Set by the validation.
   */
  compareSince: (start: number) => ComparedWindows | ['since' | 'baseline_since', ConstraintViolation];

  validate(check: ValidationContext<this>): void {
    this.body = check.body();
    if (!check.isValid('since', 'since_release', 'until', 'baseline_since', 'baseline_until')) return;
    const timezone = check.isValid('timezone') ? this.timezone : undefined;
    const now = Date.now();
    const resolve = (time: Timestamp | undefined) => time && resolveTimestamp(time, timezone);
    this.compareSince = (start) => {
      const asked = { start, end: resolve(this.until) ?? now };
      const readBaseline = (window: Window) => {
        const before = findWindowBefore(window);
        return {
          start: resolve(this.baseline_since) ?? before.start,
          end: resolve(this.baseline_until) ?? before.end,
        };
      };
      const baseline = readBaseline(asked);
      if (asked.start >= asked.end) return ['since', sinceNotBeforeUntil];
      if (baseline.start >= baseline.end) return ['baseline_since', baselineSinceNotBeforeUntil];
      return { ...roundWindows(asked, now, readBaseline), now };
    };
    const since = resolve(this.since);
    if (since === undefined) {
      if (this.since_release === undefined) check.addIssue('since', missing);
    } else if (this.since_release !== undefined) check.addIssue('since_release', eitherSinceOrRelease);
    else {
      const compared = this.compareSince(since);
      if (Array.isArray(compared)) check.addIssue(...compared);
      else this.compared = compared;
    }
  }
}
