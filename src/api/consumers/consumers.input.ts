import { IsIn, IsInt, IsOptional, Max, Min } from 'class-validator';
import { type Timestamp, resolveTimestamp } from '../../shared/time/timestamp.js';
import { NextToken, PagedInput } from '../../platform/paging/page-cursor.js';
import type { InputFingerprint, TokenContent } from '../../platform/paging/page-tokens.js';
import { IsTimestamp } from '../../platform/input/constraints.js';
import { ToInteger, ToTimestamp } from '../../platform/input/conversions.js';
import { QueryParameter } from '../../platform/input/parameters.js';

export class ListConsumersInput extends PagedInput {
  @QueryParameter({
    description: 'Only consumers that made requests since this time (ISO 8601; UTC without an offset)',
    examples: ['2026-11-01T00:00:00Z'],
  })
  @ToTimestamp()
  @IsOptional()
  @IsTimestamp()
  requests_since?: Timestamp;

  @QueryParameter({
    description:
      'What else the response has. `activity`: whether each consumer is new, returning or quiet, by its last 30 days',
    examples: ['activity'],
  })
  @IsOptional()
  @IsIn(['activity'])
  include?: 'activity';

  @QueryParameter({ description: 'Consumers per page', examples: [100] })
  @ToInteger()
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(1000)
  limit = 100;

  @NextToken()
  next_token?: string;

  cursor?: TokenContent;

  get requestsSince(): number | undefined {
    return this.requests_since && resolveTimestamp(this.requests_since);
  }

  get fingerprint(): InputFingerprint {
    return { operation: 'consumers', filters: [this.requestsSince ?? null] };
  }
}
