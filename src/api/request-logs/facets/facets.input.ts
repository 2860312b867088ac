import { IsIn, IsInt, IsOptional, Max, Min } from 'class-validator';
import { ToInteger } from '../../../platform/input/conversions.js';
import { QueryParameter } from '../../../platform/input/parameters.js';
import { FilteredLogsInput } from '../request-logs.input.js';

export const FACET_FIELDS = [
  'env',
  'consumer',
  'method',
  'path',
  'status_code',
  'client_country_iso_code',
  'exception_type',
] as const;

export type FacetField = (typeof FACET_FIELDS)[number];

export class GetFacetsInput extends FilteredLogsInput {
  @QueryParameter({
    description: 'The field whose values are counted',
    examples: ['status_code'],
  })
  @IsOptional()
  @IsIn(FACET_FIELDS)
  field: FacetField = 'status_code';

  @QueryParameter({ description: 'Maximum number of values, the most frequent first', examples: [20] })
  @ToInteger()
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(1000)
  limit = 20;

  /** There are no pages: `limit` bounds the values. */
  next_token?: undefined;
}
