import { IntegerField } from './field-types.js';

/** The input of every operation on one app. */
export class AppInput {
  @IntegerField({ in: 'path', ge: 1, description: 'App ID', examples: [1] })
  app_id: number;
}
