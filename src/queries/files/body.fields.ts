import { applyDecorators } from '@nestjs/common';
import { IsIn, IsInt, IsOptional, Min } from 'class-validator';
import { isLosslessNumber } from 'lossless-json';
import { IsConverted, IsTimestamp } from '../../platform/input/constraints.js';
import { Convert, ToInteger, ToTimestamp, clampInteger } from '../../platform/input/conversions.js';
import {
  ConstraintViolation,
  InvalidParts,
  aboveMaximum,
  belowMinimum,
  missing,
  notAnObject,
  sinceNotBeforeUntil,
} from '../../platform/input/issues.js';
import { listInvalidParts } from '../../platform/input/json-list.js';
import { BodyMember } from '../../platform/input/parameters.js';
import type { ValidationContext } from '../../platform/input/validation-context.js';
import { FILE_FORMATS } from '../../shared/file-format.js';
import { type Timestamp, resolveTimestamp } from '../../shared/time/timestamp.js';

/** A share of the rows, or an approximate number of rows. */
export type Sample = { readonly share: number } | { readonly rows: number };

const MAX_SHARE = 0.5;
const notANumber = new ConstraintViolation('float_type', 'Input should be a valid number');
const notAboveZero = new ConstraintViolation('greater_than', 'Input should be greater than 0', { gt: 0 });
/** The JSON form of an integer; a number with a point or an exponent is a share. */
const INTEGER = /^-?\d+$/;

/**
 * An integer of at least 1, or a number above 0 and up to 0.5; `1.0` counts as a number of the second kind.
 */
export const SampleMember = () =>
  applyDecorators(
    BodyMember({
      schema: { type: 'number' },
      description:
        'A sample of the rows: a share above 0 and up to 0.5, or an approximate number of rows. It is the same for each call.',
      examples: [0.1],
    }),
    Convert(readSample),
    IsOptional(),
    IsConverted(),
  );

function readSample(value: unknown): Sample | ConstraintViolation {
  if (typeof value !== 'number' && !isLosslessNumber(value)) return notANumber;
  if (INTEGER.test(String(value))) {
    const rows = clampInteger(value) as number;
    return rows < 1 ? belowMinimum(1) : { rows };
  }
  const share = Number(String(value));
  if (share <= 0) return notAboveZero;
  return share > MAX_SHARE ? aboveMaximum(MAX_SHARE) : { share };
}

export const FormatMember = (formats: readonly string[] = FILE_FORMATS, enumName = 'FileFormat') =>
  applyDecorators(
    BodyMember({
      description:
        'Format of the response. Default: the preferred format of the `Accept` header, else `ndjson`.',
      examples: ['ndjson'],
      enumName,
    }),
    IsOptional(),
    IsIn(formats),
  );

/** The end of a window in a timezone. */
export const UntilMember = () =>
  applyDecorators(
    BodyMember({
      description: 'End of the window, exclusive (ISO 8601; in `timezone` without an offset). Default: now.',
      examples: ['2026-11-20T00:00:00Z'],
    }),
    ToTimestamp(),
    IsOptional(),
    IsTimestamp(),
  );

/** The members of a body with a window in a timezone. */
interface WindowMembers {
  since: Timestamp;
  until?: Timestamp;
  timezone: string;
}

/** A window in milliseconds since the epoch, and the time of the request, which is the default end. */
export interface BodyWindow {
  readonly since: number;
  readonly until: number;
  readonly now: number;
}

/** The window of a body; undefined if it is invalid. Adds an issue if it does not start before its end. */
export function resolveBodyWindow(
  body: WindowMembers,
  check: ValidationContext<WindowMembers>,
): BodyWindow | undefined {
  if (!check.isValid('since', 'until')) return undefined;
  // Local times cannot be resolved without a valid timezone.
  const timezone = check.isValid('timezone') ? body.timezone : undefined;
  const now = Date.now();
  const since = resolveTimestamp(body.since, timezone);
  const until = body.until ? resolveTimestamp(body.until, timezone) : now;
  if (since >= until) check.addIssue('since', sinceNotBeforeUntil);
  return { since, until, now };
}

/** @param of what is limited */
export const LimitMember = (of = 'rows') =>
  applyDecorators(
    BodyMember({ description: `Maximum number of ${of}. Default: all.`, examples: [100_000] }),
    ToInteger(),
    IsOptional(),
    IsInt(),
    Min(1),
  );

/** The type of one member of a row's key. */
export interface KeyMember<Value> {
  /** In the words of JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** @param value from JSON, its numbers with all their digits */
  readonly read: (value: unknown) => Value | ConstraintViolation;
}

/** The key of a row: an object with all of these members. */
export function AfterMember<Key extends object>(
  members: { readonly [Name in keyof Key]: KeyMember<Key[Name]> },
  example: unknown,
): PropertyDecorator {
  const types = Object.entries(members as Readonly<Record<string, KeyMember<unknown>>>);
  return applyDecorators(
    BodyMember({
      schema: {
        type: 'object',
        properties: Object.fromEntries(types.map(([name, { schema }]) => [name, schema])),
        required: types.map(([name]) => name),
      },
      description: 'Only rows after this one. The last complete row of a truncated response continues it.',
      examples: [example],
    }),
    Convert((value) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value) || isLosslessNumber(value))
        return notAnObject;
      const sent = value as Readonly<Record<string, unknown>>;
      const key = types.map(
        ([name, { read }]) => [name, (sent[name] ?? null) === null ? missing : read(sent[name])] as const,
      );
      const invalid = key.flatMap(([name, member]) => listInvalidParts(member, [name], sent[name] ?? sent));
      return invalid.length > 0 ? new InvalidParts(invalid) : Object.fromEntries(key);
    }),
    IsOptional(),
    IsConverted(),
  );
}
