import { type Timestamp, resolveTimestamp } from '../common/time/timestamp.js';
import type { PagedInput } from '../pagination/page-cursor.js';
import type { InputFingerprint, TokenContent } from '../pagination/page-tokens.js';
import { AppInput } from '../validation/app-input.js';
import { IntegerField, TimestampField, TokenField } from '../validation/field-types.js';

export class ListConsumersInput extends AppInput implements PagedInput {
  @TimestampField({
    description: 'Only consumers that made requests since this time (ISO 8601; UTC without an offset)',
    examples: ['2026-11-01T00:00:00Z'],
  })
  requests_since?: Timestamp;

  @IntegerField({ ge: 1, le: 1000, default: 100, description: 'Consumers per page', examples: [100] })
  limit: number;

  @TokenField()
  next_token?: string;

  cursor?: TokenContent;

  get requestsSince(): number | undefined {
    return this.requests_since && resolveTimestamp(this.requests_since);
  }

  get fingerprint(): InputFingerprint {
    return { operation: 'consumers', filters: [this.requestsSince ?? null] };
  }
}
