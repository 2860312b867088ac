import { ArrayMaxSize, IsArray, IsIn, IsOptional } from 'class-validator';
import { EXAMPLES } from '../../../platform/openapi/examples.js';
import { type Filter, FiltersMember } from '../../../queries/filters/filter.js';
import {
  EQUALITY,
  EXISTENCE,
  NULLNESS,
  ORDER,
  PATTERNS,
  headersFilter,
  hexFilter,
  identifierFilter,
  integerFilter,
  textFilter,
  timestampFilter,
} from '../../../queries/filters/filter-field.js';
import { EXPORT_FORMATS, type ExportFormat } from '../../../shared/file-format.js';
import { type Timestamp, resolveTimestamp } from '../../../shared/time/timestamp.js';
import {
  AfterMember,
  FormatMember,
  LimitMember,
  type Sample,
  SampleMember,
} from '../../../queries/files/body.fields.js';
import { AppInput } from '../../../platform/input/app-input.js';
import { IsTimestamp } from '../../../platform/input/constraints.js';
import { Convert, ToTimestamp } from '../../../platform/input/conversions.js';
import { BodyMember } from '../../../platform/input/parameters.js';
import { sinceNotBeforeUntil } from '../../../platform/input/issues.js';
import { parseUuid } from '../../../platform/input/uuid.js';
import type { CrossFieldValidated, ValidationContext } from '../../../platform/input/validation-context.js';
import { REQUEST_LOG_KEY, type RequestLogKey } from '../request-log-key.js';

/** The fields of a row, in their order. */
export const EXPORT_FIELDS = [
  'timestamp',
  'request_uuid',
  'trace_id',
  'env',
  'method',
  'path',
  'url',
  'consumer_id',
  'consumer',
  'request_headers',
  'request_size_bytes',
  'request_body_json',
  'status_code',
  'response_time_ms',
  'response_headers',
  'response_size_bytes',
  'response_body_json',
  'client_ip',
  'client_country_iso_code',
  'exception_type',
  'exception_message',
  'exception_stacktrace',
  'sentry_event_id',
] as const;

export type ExportField = (typeof EXPORT_FIELDS)[number];

/** Fields of every row, requested or not. */
export const REQUIRED_FIELDS: readonly ExportField[] = [
  'timestamp',
  'request_uuid',
  'trace_id',
  'method',
  'url',
];

/** The fields if none are requested, in addition to the required ones. */
export const DEFAULT_FIELDS: readonly ExportField[] = [
  'env',
  'path',
  'consumer_id',
  'request_size_bytes',
  'status_code',
  'response_time_ms',
  'response_size_bytes',
  'client_ip',
  'client_country_iso_code',
];

/** Names that public clients use as well. */
const ALIASES = { request_body: 'request_body_json', response_body: 'response_body_json' } as const;

const text = textFilter([...EQUALITY, ...PATTERNS, ...NULLNESS]);
const integer = integerFilter([...EQUALITY, ...ORDER]);
const headers = headersFilter([...EQUALITY, ...PATTERNS, ...EXISTENCE]);
const IDENTIFIER = [...EQUALITY, ...NULLNESS] as const;

/** The fields for filters. Methods are stored in upper case, trace IDs in lower case. */
export const EXPORT_FILTERS = {
  timestamp: timestampFilter(['eq', 'neq', ...ORDER]),
  request_uuid: identifierFilter(
    IDENTIFIER,
    'UUID',
    { type: 'string', format: 'uuid', description: 'a UUID' },
    parseUuid,
  ),
  trace_id: hexFilter(IDENTIFIER, 32),
  env: text,
  method: textFilter(text.operators, (method) => method.toUpperCase()),
  path: text,
  url: text,
  consumer_id: integerFilter(IDENTIFIER),
  consumer: text,
  request_headers: headers,
  request_size_bytes: integer,
  request_body_json: text,
  status_code: integer,
  response_time_ms: integer,
  response_headers: headers,
  response_size_bytes: integer,
  response_body_json: text,
  client_ip: text,
  client_country_iso_code: text,
  exception_type: text,
  exception_message: text,
  exception_stacktrace: text,
  sentry_event_id: textFilter(IDENTIFIER),
} as const satisfies Record<ExportField, unknown>;

const toCurrentNames = (value: unknown) =>
  Array.isArray(value)
    ? value.map((name: unknown) =>
        name === 'request_body' || name === 'response_body' ? ALIASES[name] : name,
      )
    : value;

export type ExportFilter = Filter<ExportField>;

const MAX_NAMES = 100;

export class ExportRequestLogsInput extends AppInput implements CrossFieldValidated {
  @FormatMember(EXPORT_FORMATS, 'ExportFormat')
  format?: ExportFormat;

  @BodyMember({
    description: 'Start of the window, inclusive (ISO 8601; UTC without an offset)',
    examples: ['2026-11-19T00:00:00Z'],
  })
  @ToTimestamp()
  @IsTimestamp()
  since: Timestamp;

  @BodyMember({
    description: 'End of the window, exclusive (ISO 8601; UTC without an offset). Default: now.',
    examples: ['2026-11-20T00:00:00Z'],
  })
  @ToTimestamp()
  @IsOptional()
  @IsTimestamp()
  until?: Timestamp;

  @BodyMember({
    description:
      'Fields of a row, beside `timestamp`, `request_uuid`, `trace_id`, `method` and `url`, which every row has. ' +
      'Default: `env`, `path`, `consumer_id`, both sizes, `status_code`, `response_time_ms`, `client_ip` and its country. ' +
      'Of `har`, headers and bodies are left out unless named. Default: all that the key may see.',
    examples: [['path', 'status_code', 'response_time_ms']],
    enumName: 'ExportField',
  })
  @Convert(toCurrentNames)
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_NAMES)
  @IsIn(EXPORT_FIELDS, { each: true })
  fields?: readonly ExportField[];

  @FiltersMember(EXPORT_FILTERS, {
    name: 'ExportFilter',
    aliases: ALIASES,
    description: 'Filters that a request must all match. They may use fields that are not returned.',
    examples: [[{ field: 'status_code', op: 'gte', value: 500 }]],
  })
  filters: readonly ExportFilter[] = [];

  @SampleMember()
  sample?: Sample;

  @LimitMember()
  limit?: number;

  @AfterMember<RequestLogKey>(REQUEST_LOG_KEY, {
    timestamp: EXAMPLES.timestamp,
    request_uuid: EXAMPLES.request_uuid,
  })
  after?: RequestLogKey;

  /** The window in milliseconds since the epoch, and the time of the request, which is the default end. */
  window: { start: number; end: number; now: number };

  /** The body as it was sent. */
  body: object;

  validate(check: ValidationContext<this>): void {
    this.body = check.body();
    if (!check.isValid('since', 'until')) return;
    const now = Date.now();
    this.window = {
      start: resolveTimestamp(this.since),
      end: this.until ? resolveTimestamp(this.until) : now,
      now,
    };
    if (this.window.start >= this.window.end) check.addIssue('since', sinceNotBeforeUntil);
  }
}
