import { Get, type Type, applyDecorators } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiResponse, ApiSecurity, ApiTags } from '@nestjs/swagger';
import { IsOperation } from '../auth/operation.guard.js';
import type { OperationId } from '../common/account.js';
import { AUTHENTICATED_HEADERS, type HeaderName, requiredHeaders } from './headers.js';
import { apiInput } from './input.js';

/** Name of the security scheme in the document. */
export const API_KEY_SCHEME = 'ApiKey';

export interface ReadOperationOptions {
  /** `operationId`: the method's name in generated clients. */
  id: OperationId;
  tag: string;
  summary: string;
  description: string;
  /** Path below the controller's. */
  path?: string;
  /** DTO of the path and query parameters. */
  input?: Type;
  /** Class of the 200 body. */
  response: Type;
  /** Additional headers of the response. With `ETag` it may also be a 304. */
  headers?: readonly HeaderName[];
}

/**
 * A GET operation: its route and its documentation. `createDocument` adds the error responses, which are the same for all
 * operations.
 */
export function ReadOperation(options: ReadOperationOptions): MethodDecorator {
  const { id, tag, summary, description, path, input, response, headers = [] } = options;
  const responseHeaders = requiredHeaders([...AUTHENTICATED_HEADERS, ...headers]);
  return applyDecorators(
    Get(path),
    IsOperation(id),
    ApiTags(tag),
    ApiSecurity(API_KEY_SCHEME),
    ApiOperation({ operationId: id, summary, description }),
    ApiOkResponse({
      type: response,
      description: 'Success',
      headers: responseHeaders,
    }),
    ...(headers.includes('ETag')
      ? [
          ApiResponse({
            status: 304,
            description: 'The copy that `If-None-Match` names is still valid',
            headers: responseHeaders,
          }),
        ]
      : []),
    ...(input ? [apiInput(input)] : []),
  );
}
