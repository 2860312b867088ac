import { AppInput } from '../validation/app-input.js';
import { IntegerField, TextField } from '../validation/field-types.js';

export class ListEndpointsInput extends AppInput {
  @IntegerField({ ge: 1, description: 'Only endpoints seen in this environment', examples: [1] })
  app_env_id?: number;

  @TextField({ maxLength: 64, description: 'HTTP methods, comma-separated', examples: ['GET,POST'] })
  method?: string;

  @TextField({
    maxLength: 1024,
    description: 'Path pattern; `*` is any run of characters',
    examples: ['/api/v1/*'],
  })
  path?: string;
}
