import { parseTimestamp, resolveTimestamp } from '../../common/time/timestamp.js';
import {
  PartRefusals,
  Refusal,
  aboveMaximum,
  belowMinimum,
  missing,
  notAString,
  notATimestamp,
  notAnObject,
} from '../../common/validation/faults.js';
import { type FieldDecorator, type FieldOptions, type Held, field } from '../../common/validation/field.js';
import { jsonInteger, notInUrl } from '../../common/validation/fields.js';
import { refusedParts } from '../../common/validation/json-list.js';
import { parseUuid } from '../../common/validation/uuid.js';

/** The place of a row in the order of rows. */
export interface RowKey {
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  readonly request_uuid: string;
}

/** A share of the rows, or about how many there are to be. */
export type Sample = { readonly share: number } | { readonly rows: number };

const MAX_SHARE = 0.5;
const notANumber = new Refusal('float_type', 'Input should be a valid number');
const notAboveZero = new Refusal('greater_than', 'Input should be greater than 0', { gt: 0 });
/** How JSON writes an integer; what has a point or an exponent is a share. */
const INTEGER = /^-?\d+$/;

/** An integer of at least 1, or a number above 0 and up to 0.5; `1.0` is the latter. */
export function SampleField<const Options extends FieldOptions<Sample> & { readonly in: 'body' }>(
  options: Options,
): FieldDecorator<Held<Sample, Options>> {
  return field<Sample, Options>(
    {
      schema: { type: 'number' },
      read: notInUrl,
      readJson: (value, json) => {
        if (typeof value !== 'number') return notANumber;
        if (INTEGER.test(json)) {
          const rows = jsonInteger(value);
          if (rows instanceof Refusal) return rows;
          return rows < 1 ? belowMinimum(1) : { rows };
        }
        if (value <= 0) return notAboveZero;
        return value > MAX_SHARE ? aboveMaximum(MAX_SHARE) : { share: value };
      },
    },
    options,
  );
}

/** The `timestamp` and the `request_uuid` of a row. */
export function RowKeyField<const Options extends FieldOptions<RowKey> & { readonly in: 'body' }>(
  options: Omit<Options, 'examples'> & { readonly examples: unknown[] },
): FieldDecorator<RowKey | undefined> {
  return field<RowKey, FieldOptions<RowKey>>(
    {
      schema: {
        type: 'object',
        properties: {
          timestamp: { type: 'string', format: 'date-time' },
          request_uuid: { type: 'string', format: 'uuid' },
        },
        required: ['timestamp', 'request_uuid'],
      },
      read: notInUrl,
      readJson: (value) => {
        if (typeof value !== 'object' || value === null || Array.isArray(value)) return notAnObject;
        const members = value as Readonly<Record<string, unknown>>;
        const timestamp = readText(members.timestamp, readTime);
        const request_uuid = readText(members.request_uuid, parseUuid);
        const refused = [
          ...refusedParts(timestamp, ['timestamp'], members.timestamp ?? value),
          ...refusedParts(request_uuid, ['request_uuid'], members.request_uuid ?? value),
        ];
        if (refused.length > 0) return new PartRefusals(refused);
        return { timestamp, request_uuid } as RowKey;
      },
    },
    options,
  );
}

function readText<Value>(value: unknown, read: (text: string) => Value | Refusal): Value | Refusal {
  if (value === undefined || value === null) return missing;
  return typeof value === 'string' ? read(value) : notAString;
}

function readTime(text: string): number | Refusal {
  const timestamp = parseTimestamp(text);
  return timestamp.kind === 'invalid' ? notATimestamp(timestamp.why) : resolveTimestamp(timestamp);
}
