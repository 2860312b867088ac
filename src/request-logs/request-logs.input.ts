import { parseMethods, parseStatuses } from '../clickhouse/predicates.js';
import { EXAMPLES } from '../common/examples.js';
import type { Timestamp } from '../common/time/timestamp.js';
import type { WindowCursor, WindowedInput } from '../pagination/page-cursor.js';
import type { InputFingerprint } from '../pagination/page-tokens.js';
import { AppInput } from '../validation/app-input.js';
import {
  BooleanField,
  IntegerField,
  PatternField,
  TextField,
  TimestampField,
  TokenField,
  UuidField,
} from '../validation/field-types.js';

/** Without a start, the window begins this long before now: 24 hours (docs/contract.md#windows). */
const DEFAULT_SPAN_MS = 24 * 3_600_000;

/** Status codes and classes, comma-separated. */
export const STATUS_FILTER = /^(?:\d{3}|\dxx)(?:,(?:\d{3}|\dxx))*$/;
export const MAX_STATUS_FILTER = 128;

export class ListRequestLogsInput extends AppInput implements WindowedInput {
  @IntegerField({ ge: 1, description: 'Only this environment', examples: [1] })
  app_env_id?: number;

  @IntegerField({ ge: 1, description: 'Only this consumer ID', examples: [42] })
  consumer_id?: number;

  @TextField({ maxLength: 64, description: 'HTTP methods, comma-separated', examples: ['GET,POST'] })
  method?: string;

  @TextField({
    maxLength: 1024,
    description: 'Path pattern; `*` matches any characters',
    examples: ['/api/v1/*'],
  })
  path?: string;

  @PatternField({
    pattern: STATUS_FILTER,
    maxLength: MAX_STATUS_FILTER,
    description: 'Status codes and classes, comma-separated',
    examples: ['2xx,404'],
  })
  status_code?: string;

  @TimestampField({
    description:
      'Start of the window, inclusive (ISO 8601; UTC without an offset). Default: 24 hours before now.',
    examples: ['2026-11-19T00:00:00Z'],
  })
  start?: Timestamp;

  @TimestampField({
    description: 'End of the window, exclusive (ISO 8601; UTC without an offset). Default: now.',
    examples: ['2026-11-20T00:00:00Z'],
  })
  end?: Timestamp;

  @IntegerField({ ge: 1, le: 1000, default: 100, description: 'Records per page', examples: [100] })
  limit: number;

  @TokenField()
  next_token?: string;

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

export class GetRequestDetailsInput extends AppInput {
  @UuidField({
    in: 'path',
    description: 'Unique identifier of the request',
    examples: [EXAMPLES.request_uuid],
  })
  request_uuid: string;

  @BooleanField({
    default: false,
    description: "Whether the response includes the consumer's ID",
    examples: [true],
  })
  include_consumer_id: boolean;
}
