import { Get, type Type, applyDecorators } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiSecurity, ApiTags } from '@nestjs/swagger';
import { AUTHENTICATED_HEADERS, requiredHeaders } from './headers.js';
import { apiInput } from './input.js';

/** Name of the security scheme in the document. */
export const API_KEY_SCHEME = 'ApiKey';

export interface ReadOperationOptions {
  /** `operationId`: the method's name in generated clients. */
  id: string;
  tag: string;
  summary: string;
  description: string;
  /** Path below the controller's. */
  path?: string;
  /** DTO of the path and query parameters. */
  input?: Type;
  /** Class of the 200 body. */
  response: Type;
}

/**
 * A GET operation: its route and its documentation. `createDocument` adds the error responses, which are the same for all
 * operations.
 */
export function ReadOperation(options: ReadOperationOptions): MethodDecorator {
  const { id, tag, summary, description, path, input, response } = options;
  return applyDecorators(
    Get(path),
    ApiTags(tag),
    ApiSecurity(API_KEY_SCHEME),
    ApiOperation({ operationId: id, summary, description }),
    ApiOkResponse({
      type: response,
      description: 'Success',
      headers: requiredHeaders(AUTHENTICATED_HEADERS),
    }),
    ...(input ? [apiInput(input)] : []),
  );
}
