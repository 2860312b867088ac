import { Get, type Type, applyDecorators } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiOkResponse,
  ApiOperation,
  ApiResponse,
  ApiSecurity,
  ApiTags,
} from '@nestjs/swagger';
import { ErrorBody, ValidationErrorBody } from './errors.dto.js';
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

const integer = (description: string, example: number) => ({
  description,
  schema: { type: 'integer' as const, minimum: 0 },
  example,
});

const REQUEST_ID = {
  'X-Request-Id': {
    description: "The request's ID: the caller's own, or a new one",
    schema: { type: 'string' as const },
  },
};
const RATE_LIMIT = {
  'X-RateLimit-Limit': integer('Maximum requests allowed per minute', 100),
  'X-RateLimit-Remaining': integer('Requests remaining in the current window', 99),
  'X-RateLimit-Reset': integer('Unix timestamp, in seconds, at which the limit resets', 1795220160),
};
const COMMON = { ...REQUEST_ID, ...RATE_LIMIT };
const CHALLENGE = { 'WWW-Authenticate': { description: '`APIKey`', schema: { type: 'string' as const } } };
const RETRY_AFTER = { 'Retry-After': integer('Whole seconds to wait before the next try', 1) };

const FAILURES = [
  { status: 401, description: 'No API key, or not a valid one', headers: { ...REQUEST_ID, ...CHALLENGE } },
  { status: 403, description: "The team's plan is not premium", headers: COMMON },
  { status: 404, description: 'Not found, or not of this team', headers: COMMON },
  { status: 429, description: 'Rate limit exceeded', headers: { ...COMMON, ...RETRY_AFTER } },
  {
    status: 503,
    description: 'The store cannot be reached or is overloaded',
    headers: { ...COMMON, ...RETRY_AFTER },
  },
  { status: 504, description: 'The query ran past its time limit', headers: COMMON },
];

/** One of the service's GET operations: its route and everything the document says of it. */
export function ReadOperation(options: ReadOperationOptions): MethodDecorator {
  const { id, tag, summary, description, path, input, response } = options;
  return applyDecorators(
    Get(path),
    ApiTags(tag),
    ApiSecurity(API_KEY_SCHEME),
    ApiOperation({ operationId: id, summary, description }),
    ApiExtraModels(ErrorBody, ValidationErrorBody),
    ApiOkResponse({ type: response, description: 'Success', headers: COMMON }),
    ApiResponse({
      status: 422,
      description: 'Invalid parameters',
      type: ValidationErrorBody,
      headers: COMMON,
    }),
    ...FAILURES.map((failure) => ApiResponse({ ...failure, type: ErrorBody })),
    ...(input ? [apiInput(input)] : []),
  );
}
