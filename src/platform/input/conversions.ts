/**
 * Conversions of sent values by class-transformer to types that class-validator does not convert. A value
 * that cannot be converted stays as it was sent, and the constraints reject it. If only the conversion knows
 * the violation, the value becomes the violation.
 */
import { Transform } from 'class-transformer';
import { isLosslessNumber } from 'lossless-json';
import { clamp } from '../../shared/clamp.js';
import { parseTimestamp } from '../../shared/time/timestamp.js';
import { parseInteger } from './integer.js';
import { type ConstraintViolation, notABoolean, notATimestamp } from './issues.js';
import { parseTimezone } from './timezone.js';
import { parseUuid } from './uuid.js';

/**
 * A sent value on its way through class-transformer: a decoded text of the URL, or a function, because
 * class-transformer copies objects of a class wrongly but leaves functions alone. The function returns the
 * value of a member of the body, with a `LosslessNumber` for a number that JavaScript would write
 * differently, or the violation of a text that cannot be decoded.
 */
export type Sent = string | (() => unknown) | undefined;

const TEXTS_OF_BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...['1', 'on', 't', 'true', 'y', 'yes'].map((text) => [text, true] as const),
  ...['0', 'off', 'f', 'false', 'n', 'no'].map((text) => [text, false] as const),
]);

/** Converts a member of a body. */
export const Convert = (convert: (value: unknown) => unknown) =>
  convertSent((sent) => (typeof sent === 'function' ? convert(sent()) : sent));

/** A whole number as pydantic reads it (docs/contract.md#integers), clamped to ±(2^53 - 1). */
export const ToInteger = () =>
  convertSent((sent) => (typeof sent === 'string' ? parseInteger(sent) : clampInteger(sent?.())));

/** A boolean; in the URL a word that pydantic accepts. */
export const ToBoolean = () =>
  convertSent((sent) =>
    typeof sent === 'string' ? (TEXTS_OF_BOOLEANS.get(sent.toLowerCase()) ?? notABoolean) : sent?.(),
  );

/** A `Timestamp`, from an ISO 8601 date, or date and time (docs/contract.md#timestamps). */
export const ToTimestamp = () =>
  convertText((text) => {
    const timestamp = parseTimestamp(text);
    return timestamp.kind === 'invalid' ? notATimestamp(timestamp.reason) : timestamp;
  });

/**
 * The name of an IANA timezone in the spelling of the database. Its constraint is `IsString`: `IsTimeZone`
 * would look the zone up again and make a formatter for it, which takes 0.4 ms.
 */
export const ToTimezone = () => convertText(parseTimezone);

/** A UUID, lower-case with hyphens (docs/contract.md#uuids). */
export const ToUuid = () => convertText(parseUuid);

/** Converts an empty text to an absent value (docs/contract.md#empty-values), or to the violation. */
export const EmptyTo = (violation?: ConstraintViolation) =>
  convertText((text) => (text === '' ? violation : text));

/**
 * A number of JSON as an integer, clamped to ±(2^53 - 1); `1.0` is 1. A value that is not an integer stays as
 * it is.
 */
export function clampInteger(value: unknown): unknown {
  if (typeof value !== 'number' && !isLosslessNumber(value)) return value;
  const number = Number(String(value));
  return Number.isInteger(number) || !Number.isFinite(number)
    ? clamp(number, -Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)
    : number;
}

function convertText(convert: (text: string) => unknown): PropertyDecorator {
  return convertSent((sent) => {
    const value = typeof sent === 'function' ? sent() : sent;
    return typeof value === 'string' ? convert(value) : value;
  });
}

function convertSent(convert: (sent: Sent) => unknown): PropertyDecorator {
  return Transform(({ value }) => convert(value as Sent), { toClassOnly: true });
}
