import { Temporal } from 'temporal-polyfill';
import { type ConstraintViolation, unknownTimezone } from './issues.js';

/** What an IANA name can look like: this keeps out offsets and whole timestamps, both of which Temporal reads. */
const NAME = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/;
const EPOCH = Temporal.Instant.fromEpochMilliseconds(0);

/** The timezone in the spelling of the IANA database; any case is understood, links keep their own name. */
export function parseTimezone(text: string): string | ConstraintViolation {
  if (!NAME.test(text)) return unknownTimezone;
  try {
    return EPOCH.toZonedDateTimeISO(text).timeZoneId;
  } catch {
    return unknownTimezone;
  }
}
