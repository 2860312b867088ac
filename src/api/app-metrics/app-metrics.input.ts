import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Max,
  Min,
} from 'class-validator';
import {
  type BodyWindow,
  FormatMember,
  UntilMember,
  resolveBodyWindow,
} from '../../queries/files/body.fields.js';
import { type Filter, FiltersMember } from '../../queries/filters/filter.js';
import { NULLNESS, ORDER, integerFilter, textFilter } from '../../queries/filters/filter-field.js';
import type { FileFormat } from '../../shared/file-format.js';
import type { Timestamp } from '../../shared/time/timestamp.js';
import type { Interval } from '../../queries/calendar/periods.js';
import { AppInput } from '../../platform/input/app-input.js';
import { IsTimestamp } from '../../platform/input/constraints.js';
import { ToInteger, ToTimestamp, ToTimezone } from '../../platform/input/conversions.js';
import { BodyMember } from '../../platform/input/parameters.js';
import type { CrossFieldValidated, ValidationContext } from '../../platform/input/validation-context.js';
import { HOUR_MS } from '../../shared/time/units.js';
import { METRICS, type Metric } from './metric-names.js';

/** In the order of a row. */
export const GROUP_FIELDS = [
  'env',
  'app_version',
  'consumer_id',
  'method',
  'path',
  'status_code',
  'consumer_group',
  'status_class',
] as const;

export type GroupField = (typeof GROUP_FIELDS)[number];

const INTERVALS = ['month', 'day', 'hour', 'minute'] as const satisfies readonly Interval[];

const TEXT_OPERATORS = ['eq', 'neq', 'in', 'not_in', 'like', 'not_like', 'contains', 'not_contains'] as const;
const NUMBER_OPERATORS = ['eq', 'neq', ...ORDER, 'in', 'not_in', ...NULLNESS] as const;

/** The fields for filters. Methods are stored in upper case. */
export const METRIC_FILTERS = {
  env: textFilter(TEXT_OPERATORS),
  app_version: textFilter([...TEXT_OPERATORS, ...NULLNESS]),
  consumer_id: integerFilter(NUMBER_OPERATORS),
  method: textFilter(TEXT_OPERATORS, (text) => text.toUpperCase()),
  path: textFilter(TEXT_OPERATORS),
  status_code: integerFilter(NUMBER_OPERATORS),
  consumer_group: textFilter([...TEXT_OPERATORS, ...NULLNESS]),
  status_class: textFilter(['eq', 'neq', 'in', 'not_in', ...NULLNESS], (text) => text.toLowerCase()),
} as const;

export type MetricFilter = Filter<GroupField>;

const MAX_NAMES = 100;

export class QueryMetricsInput extends AppInput implements CrossFieldValidated {
  @FormatMember()
  format?: FileFormat;

  @BodyMember({
    description:
      'Start of the window (ISO 8601; in `timezone` without an offset), rounded down to its period',
    examples: ['2026-11-01T00:00:00Z'],
  })
  @ToTimestamp()
  @IsTimestamp()
  since: Timestamp;

  @UntilMember()
  until?: Timestamp;

  @BodyMember({
    description: 'Metrics of each row',
    examples: [['requests', 'error_rate', 'response_time_p95']],
    enumName: 'Metric',
  })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MAX_NAMES)
  @IsIn(METRICS, { each: true })
  metrics: readonly Metric[];

  @BodyMember({
    description: 'Calendar unit of the periods. Without one, the window is one period.',
    examples: ['day'],
    enumName: 'MetricInterval',
  })
  @IsOptional()
  @IsIn(INTERVALS)
  interval?: Interval;

  @BodyMember({
    description: 'Fields to group by, in addition to the period',
    examples: [['method', 'path']],
    enumName: 'MetricGroup',
  })
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_NAMES)
  @IsIn(GROUP_FIELDS, { each: true })
  group_by: readonly GroupField[] = [];

  @FiltersMember(METRIC_FILTERS, {
    name: 'MetricFilter',
    description: 'Only requests that match all of these filters',
    examples: [[{ field: 'status_code', op: 'gte', value: 400 }]],
  })
  filters: readonly MetricFilter[] = [];

  @BodyMember({
    description: 'IANA timezone of the periods, and of `since` and `until` when given without an offset',
    examples: ['Europe/Berlin'],
  })
  @ToTimezone()
  @IsOptional()
  @IsString()
  timezone = 'UTC';

  @BodyMember({
    description: 'Response time in milliseconds up to which `apdex` counts a request as satisfying',
    examples: [500],
  })
  @ToInteger()
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(HOUR_MS)
  apdex_threshold_ms = 500;

  window: BodyWindow;

  /** The body as it was sent. */
  body: object;

  validate(check: ValidationContext<this>): void {
    this.body = check.body();
    if (check.isValid('metrics')) this.metrics = METRICS.filter((name) => this.metrics.includes(name));
    if (check.isValid('group_by'))
      this.group_by = GROUP_FIELDS.filter((name) => this.group_by.includes(name));
    const window = resolveBodyWindow(this, check);
    if (window) this.window = window;
  }
}
