import { ArrayMaxSize, IsArray, IsIn, IsOptional, IsString } from 'class-validator';
import { AppInput } from '../../platform/input/app-input.js';
import { IsTimestamp } from '../../platform/input/constraints.js';
import { ToTimestamp, ToTimezone } from '../../platform/input/conversions.js';
import { BodyMember } from '../../platform/input/parameters.js';
import { valueError } from '../../platform/input/issues.js';
import type { CrossFieldValidated, ValidationContext } from '../../platform/input/validation-context.js';
import {
  type BodyWindow,
  FormatMember,
  LimitMember,
  UntilMember,
  resolveBodyWindow,
} from '../../queries/files/body.fields.js';
import { type Filter, FiltersMember } from '../../queries/filters/filter.js';
import { EQUALITY, hexFilter, wordFilter } from '../../queries/filters/filter-field.js';
import type { FileFormat } from '../../shared/file-format.js';
import type { Timestamp } from '../../shared/time/timestamp.js';
import type { ErrorKind } from '../../write/batches/message.js';
import { METRIC_FILTERS } from '../app-metrics/app-metrics.input.js';

export const ERROR_KINDS = ['validation', 'server', 'exception'] as const satisfies readonly ErrorKind[];

/** In the order of a row. */
const ERROR_GROUPS = ['day', 'hour', 'consumer_id'] as const;
export type ErrorGroup = (typeof ERROR_GROUPS)[number];

const { env, consumer_id, method, path: text } = METRIC_FILTERS;
/** The fields for filters. */
export const ERROR_FILTERS = {
  fingerprint: hexFilter(EQUALITY, 16),
  kind: wordFilter('ErrorFilterKind', ERROR_KINDS),
  type: text,
  env,
  consumer_id,
  method,
  path: text,
} as const;
type ErrorField = keyof typeof ERROR_FILTERS;
export type ErrorFilter = Filter<ErrorField>;

const MAX_NAMES = 100;
const dayOrHour = valueError('group_by has day or hour, not both');

export class QueryErrorsInput extends AppInput implements CrossFieldValidated {
  @FormatMember()
  format?: FileFormat;

  @BodyMember({
    description:
      'Start of the window (ISO 8601; in `timezone` without an offset), rounded down to its day, hour or quarter-hour',
    examples: ['2026-11-19T00:00:00Z'],
  })
  @ToTimestamp()
  @IsTimestamp()
  since: Timestamp;

  @UntilMember()
  until?: Timestamp;

  @BodyMember({
    description: 'A row for each of these and error: `day` or `hour`, `consumer_id`',
    examples: [['day']],
    enumName: 'ErrorGroup',
  })
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_NAMES)
  @IsIn(ERROR_GROUPS, { each: true })
  group_by: readonly ErrorGroup[] = [];

  @FiltersMember(ERROR_FILTERS, {
    name: 'ErrorFilter',
    description: 'Only errors that match all of these filters',
    examples: [[{ field: 'env', op: 'eq', value: 'prod' }]],
  })
  filters: readonly ErrorFilter[] = [];

  @BodyMember({
    description: 'IANA timezone of days and hours, and of `since` and `until` when given without an offset',
    examples: ['Europe/Berlin'],
  })
  @ToTimezone()
  @IsOptional()
  @IsString()
  timezone = 'UTC';

  @LimitMember('errors, the most frequent first, with all of their rows')
  limit?: number;

  window: BodyWindow;

  /** The body as it was sent. */
  body: object;

  validate(check: ValidationContext<this>): void {
    this.body = check.body();
    if (check.isValid('group_by')) {
      this.group_by = ERROR_GROUPS.filter((name) => this.group_by.includes(name));
      if (this.group_by.includes('day') && this.group_by.includes('hour'))
        check.addIssue('group_by', dayOrHour);
    }
    const window = resolveBodyWindow(this, check);
    if (window) this.window = window;
  }
}
