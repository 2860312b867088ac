import { Temporal } from 'temporal-polyfill';
import { type ConstraintViolation, unknownTimezone } from './issues.js';

/** The form of an IANA name, which excludes offsets and timestamps that Temporal would also accept. */
const NAME = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/;
const EPOCH = Temporal.Instant.fromEpochMilliseconds(0);

/** The timezone in the spelling of the IANA database; case-insensitive, links keep their own name. */
export function parseTimezone(text: string): string | ConstraintViolation {
  if (!NAME.test(text)) return unknownTimezone;
  try {
    return EPOCH.toZonedDateTimeISO(text).timeZoneId;
  } catch {
    return unknownTimezone;
  }
}
