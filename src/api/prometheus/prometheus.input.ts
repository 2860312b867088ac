import { applyDecorators } from '@nestjs/common';
import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { AppInput } from '../../platform/input/app-input.js';
import { ToInteger } from '../../platform/input/conversions.js';
import { QueryParameter } from '../../platform/input/parameters.js';

const DEFAULT_ROUTES = 50;
const MAX_ROUTES = 1_000;

const RoutesParameter = (): PropertyDecorator =>
  applyDecorators(
    QueryParameter({
      description: 'Endpoints of each app that have a route of their own; the rest are the route `_other`',
      examples: [DEFAULT_ROUTES],
    }),
    ToInteger(),
    IsOptional(),
    IsInt(),
    Min(1),
    Max(MAX_ROUTES),
  );

export class ScrapeTeamInput {
  @RoutesParameter()
  routes = DEFAULT_ROUTES;
}

export class ScrapeAppInput extends AppInput {
  @RoutesParameter()
  routes = DEFAULT_ROUTES;
}
