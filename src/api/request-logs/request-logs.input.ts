import { IsBoolean, IsInt, IsOptional, IsUUID, Matches, Max, Min } from 'class-validator';
import { parseMethods, parseStatuses } from '../../queries/predicates.js';
import { EXAMPLES } from '../../platform/openapi/examples.js';
import type { Timestamp } from '../../shared/time/timestamp.js';
import { NextToken, type WindowCursor, WindowedInput } from '../../platform/paging/page-cursor.js';
import type { InputFingerprint } from '../../platform/paging/page-tokens.js';
import { AppInput } from '../../platform/input/app-input.js';
import { IsText, IsTimestamp } from '../../platform/input/constraints.js';
import { EmptyTo, ToBoolean, ToInteger, ToTimestamp, ToUuid } from '../../platform/input/conversions.js';
import { PathParameter, QueryParameter } from '../../platform/input/parameters.js';

/** Without a start, the window begins this long before now: 24 hours (docs/contract.md#windows). */
const DEFAULT_SPAN_MS = 24 * 3_600_000;

/** Status codes and classes, comma-separated. */
export const STATUS_FILTER = /^(?:\d{3}|\dxx)(?:,(?:\d{3}|\dxx))*$/;
export const MAX_STATUS_FILTER = 128;

/** The filters and the window of request logs. */
export abstract class FilteredLogsInput extends WindowedInput {
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

  @QueryParameter({ description: 'HTTP methods, comma-separated', examples: ['GET,POST'] })
  @EmptyTo()
  @IsOptional()
  @IsText(64)
  method?: string;

  @QueryParameter({
    description: 'Path pattern; `*` matches any characters',
    examples: ['/api/v1/*'],
  })
  @EmptyTo()
  @IsOptional()
  @IsText(1024)
  path?: string;

  @QueryParameter({
    description: 'Status codes and classes, comma-separated',
    examples: ['2xx,404'],
  })
  @IsOptional()
  @IsText(MAX_STATUS_FILTER)
  @Matches(STATUS_FILTER)
  status_code?: string;

  @QueryParameter({
    description:
      'Start of the window, inclusive (ISO 8601; UTC without an offset). Default: 24 hours before now.',
    examples: ['2026-11-19T00:00:00Z'],
  })
  @ToTimestamp()
  @IsOptional()
  @IsTimestamp()
  start?: Timestamp;

  @QueryParameter({
    description: 'End of the window, exclusive (ISO 8601; UTC without an offset). Default: now.',
    examples: ['2026-11-20T00:00:00Z'],
  })
  @ToTimestamp()
  @IsOptional()
  @IsTimestamp()
  end?: Timestamp;

  cursor: WindowCursor;

  readonly defaultSpanMs = DEFAULT_SPAN_MS;

  get fingerprint(): InputFingerprint {
    const { codes, classes } = parseStatuses(this.status_code);
    const filters = [
      this.app_env_id ?? null,
      this.consumer_id ?? null,
      parseMethods(this.method).join(),
      this.path ?? null,
      codes.join(),
      classes.join(),
    ];
    return { operation: 'request-logs', filters };
  }
}

export class ListRequestLogsInput extends FilteredLogsInput {
  @QueryParameter({ description: 'Records per page', examples: [100] })
  @ToInteger()
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(1000)
  limit = 100;

  @NextToken()
  next_token?: string;
}

export class GetRequestDetailsInput extends AppInput {
  @PathParameter({
    description: 'Unique identifier of the request',
    examples: [EXAMPLES.request_uuid],
  })
  @ToUuid()
  @IsUUID('loose')
  request_uuid: string;

  @QueryParameter({
    description: "Whether the response includes the consumer's ID",
    examples: [true],
  })
  @ToBoolean()
  @IsOptional()
  @IsBoolean()
  include_consumer_id = false;

  @QueryParameter({
    description: 'Whether log records of OpenTelemetry have their attributes',
    examples: [true],
  })
  @ToBoolean()
  @IsOptional()
  @IsBoolean()
  include_log_attributes = false;
}
