import { IsIn, IsInt, IsOptional, Min } from 'class-validator';
import { AppInput } from '../../platform/input/app-input.js';
import { IsText } from '../../platform/input/constraints.js';
import { EmptyTo, ToInteger } from '../../platform/input/conversions.js';
import { QueryParameter } from '../../platform/input/parameters.js';

export class ListEndpointsInput extends AppInput {
  @QueryParameter({ description: 'Only endpoints seen in this environment', examples: [1] })
  @ToInteger()
  @IsOptional()
  @IsInt()
  @Min(1)
  app_env_id?: number;

  @QueryParameter({ description: 'HTTP methods, comma-separated', examples: ['GET,POST'] })
  @EmptyTo()
  @IsOptional()
  @IsText(64)
  method?: string;

  @QueryParameter({
    description: 'Path pattern; `*` is any run of characters',
    examples: ['/api/v1/*'],
  })
  @EmptyTo()
  @IsOptional()
  @IsText(1024)
  path?: string;

  @QueryParameter({
    description:
      'What else the response has. `inventory`: what the OpenAPI documents of the app say of each endpoint, its requests ' +
      'in the last 30 days, and documented operations that were never called',
    examples: ['inventory'],
  })
  @IsOptional()
  @IsIn(['inventory'])
  include?: 'inventory';
}
