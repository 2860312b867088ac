import { IsInt, Min } from 'class-validator';
import { ToInteger } from './conversions.js';
import { PathParameter } from './parameters.js';

/** The input of every operation on one app. */
export class AppInput {
  @PathParameter({ description: 'App ID', examples: [1], prefilled: 1 })
  @ToInteger()
  @IsInt()
  @Min(1)
  app_id: number;
}
