import { applyDecorators } from '@nestjs/common';
import { type QueryRoute, documentQuery } from '../../platform/openapi/query-operation.decorator.js';
import { type ReadRoute, documentRead } from '../../platform/openapi/read-operation.decorator.js';
import { IsOperation } from './operation.guard.js';

/** An operation with one JSON value: its route, its documentation, and the check of the key's scopes. */
export function ReadOperation(route: ReadRoute): MethodDecorator {
  return applyDecorators(IsOperation(route.id), documentRead(route));
}

/**
 * A POST operation that reads: its route, its documentation, and the check of the key's scopes. The query is
 * a JSON body, and the response is a file of rows.
 */
export function QueryOperation(route: QueryRoute): MethodDecorator {
  return applyDecorators(IsOperation(route.id), documentQuery(route));
}
