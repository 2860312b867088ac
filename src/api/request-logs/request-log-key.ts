import { parseTimestamp, resolveTimestamp } from '../../shared/time/timestamp.js';
import type { KeyMember } from '../../queries/files/body.fields.js';
import { type ConstraintViolation, notAString, notATimestamp } from '../../platform/input/issues.js';
import { parseUuid } from '../../platform/input/uuid.js';

/** The key by which request logs are ordered, in pages and in exports. */
export interface RequestLogKey {
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  readonly request_uuid: string;
}

export const REQUEST_LOG_KEY: { readonly [Name in keyof RequestLogKey]: KeyMember<RequestLogKey[Name]> } = {
  timestamp: {
    schema: { type: 'string', format: 'date-time' },
    read: (value) => (typeof value === 'string' ? readTime(value) : notAString),
  },
  request_uuid: {
    schema: { type: 'string', format: 'uuid' },
    read: (value) => (typeof value === 'string' ? parseUuid(value) : notAString),
  },
};

function readTime(text: string): number | ConstraintViolation {
  const timestamp = parseTimestamp(text);
  return timestamp.kind === 'invalid' ? notATimestamp(timestamp.reason) : resolveTimestamp(timestamp);
}
