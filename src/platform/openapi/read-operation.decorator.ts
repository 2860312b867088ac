import { Get, HttpCode, Post, type Type, UseInterceptors, applyDecorators } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiResponse, ApiSecurity, ApiTags } from '@nestjs/swagger';
import type { OperationId } from '../http/account.js';
import { READ_HEADERS, type HeaderName, requiredHeaders } from './headers.js';
import { ReportIgnored } from '../input/report-ignored.interceptor.js';
import { type Bodies, apiInput } from './input.js';

/** Name of the security scheme in the document. */
export const API_KEY_SCHEME = 'ApiKey';

/** The documentation of one operation. */
export interface OperationOptions {
  /** `operationId`: the method's name in generated clients. */
  id: OperationId;
  tag: string;
  summary: string;
  description: string;
  /** Additional headers of the response. With `ETag` a GET may also be a 304. */
  headers?: readonly HeaderName[];
  /**
   * Bodies that the page offers, the default first. They must have rows on any day, so they begin long ago: a
   * window is cut to what is kept.
   */
  bodies?: Bodies;
}

/** The route of an operation whose response is one JSON value, or a text. */
export type ReadRoute = OperationOptions & ReadOptions & ReadResponse;

type ReadResponse =
  /** Class of the 200 body. */
  | { response: Type; text?: never; binary?: never }
  /** Media types of the text, and of what the same is in bytes. */
  | { text: readonly string[]; binary?: readonly string[]; response?: never };

interface ReadOptions {
  /** Path below the controller's. */
  path?: string;
  /** Whether it is a POST, whose query is a JSON body. */
  hasBody?: boolean;
  /** DTO of the parameters. */
  input?: Type;
}

/** The common part of the documentation of GET and POST. */
export function documentOperation({ id, tag, summary, description }: OperationOptions): MethodDecorator {
  return applyDecorators(
    ApiTags(tag),
    ApiSecurity(API_KEY_SCHEME),
    ApiOperation({ operationId: id, summary, description }),
  );
}

/**
 * The route of such an operation and its documentation. `createDocument` adds the error responses, which are
 * the same for all operations.
 */
export function documentRead(route: ReadRoute): MethodDecorator {
  const { path, hasBody = false, input, response, text = [], binary = [], headers = [], bodies } = route;
  const responseHeaders = requiredHeaders([...READ_HEADERS, ...headers]);
  return applyDecorators(
    ...(hasBody ? [Post(path), HttpCode(200)] : [Get(path)]),
    documentOperation(route),
    ApiOkResponse({
      description: 'Success',
      headers: responseHeaders,
      ...(response
        ? { type: response }
        : { content: { ...describeContent(text), ...describeContent(binary, 'binary') } }),
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
    input ? apiInput(input, bodies) : UseInterceptors(ReportIgnored),
  );
}

function describeContent(types: readonly string[], format?: string) {
  return Object.fromEntries(
    types.map((type) => [type, { schema: { type: 'string', ...(format && { format }) } }] as const),
  );
}
