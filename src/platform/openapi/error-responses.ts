import { type ReferenceObject, type ResponseObject, getSchemaPath } from '@nestjs/swagger';
import { payloadTooLarge } from '../http/request-body.js';
import {
  type ApiError,
  appNotFound,
  internalServerError,
  invalidApiKey,
  notAuthenticated,
  notInScope,
  premiumRequired,
  queryTimedOut,
  rateLimitExceeded,
  requestLogNotFound,
  serviceUnavailable,
} from '../http/api-error.js';
import { belowMinimum, createIssue } from '../input/issues.js';
import { PROBLEM } from '../http/exception.filter.js';
import { ErrorBody, Problem, ValidationErrorBody, ValidationProblem } from './errors.dto.js';
import { AUTHENTICATED_HEADERS, READ_HEADERS, optionalHeaders, requiredHeaders } from './headers.js';

const PRE_AUTH_HEADERS = {
  ...requiredHeaders(['X-Request-Id']),
  ...optionalHeaders(READ_HEADERS.slice(1)),
};
const PRE_AUTH_HEADERS_WITH_RETRY = { ...PRE_AUTH_HEADERS, ...requiredHeaders(['Retry-After']) };

/** Every error response (docs/contract.md#errors), by status, each with the name of its component. */
const ERROR_RESPONSES: Readonly<Record<number, ResponseObject & { name: string }>> = {
  401: {
    name: 'Unauthorized',
    description: 'Missing or invalid API key',
    headers: requiredHeaders(['X-Request-Id', 'WWW-Authenticate', 'X-Hint']),
    content: errorContent({ missing: notAuthenticated(), invalid: invalidApiKey() }),
  },
  403: {
    name: 'Forbidden',
    description:
      "The team's plan is not premium, or the key's scopes leave out what was asked for; the latter response has " +
      '`WWW-Authenticate`',
    headers: { ...requiredHeaders(READ_HEADERS), ...optionalHeaders(['WWW-Authenticate']) },
    content: errorContent({ plan: premiumRequired(), scope: notInScope('getTraffic') }),
  },
  404: {
    name: 'NotFound',
    description: 'Not found, expired, or owned by another team (indistinguishable by design)',
    headers: requiredHeaders(READ_HEADERS),
    content: errorContent({ app: appNotFound(), request: requestLogNotFound() }),
  },
  413: {
    name: 'PayloadTooLarge',
    description: 'The body has more than 64 KB',
    headers: requiredHeaders(AUTHENTICATED_HEADERS),
    content: errorContent({ body: payloadTooLarge() }),
  },
  422: {
    name: 'UnprocessableEntity',
    description: 'Invalid parameters or body: all errors of the request, path parameters first',
    headers: requiredHeaders(READ_HEADERS),
    content: {
      ...jsonContent(ValidationErrorBody, {
        example: { detail: [createIssue('query', 'limit', '0', belowMinimum(1))] },
      }),
      [PROBLEM]: { schema: { $ref: getSchemaPath(ValidationProblem) } },
    },
  },
  429: {
    name: 'TooManyRequests',
    description:
      'Too many requests with this key, or too many invalid keys from this address; the latter response is without ' +
      'the headers of the limit',
    headers: PRE_AUTH_HEADERS_WITH_RETRY,
    content: errorContent({ exceeded: rateLimitExceeded(1) }),
  },
  500: {
    name: 'InternalServerError',
    description: 'Internal error',
    headers: PRE_AUTH_HEADERS,
    content: errorContent({ error: internalServerError() }),
  },
  503: {
    name: 'ServiceUnavailable',
    description: 'The store cannot be reached, or is overloaded',
    headers: PRE_AUTH_HEADERS_WITH_RETRY,
    content: errorContent({ unavailable: serviceUnavailable() }),
  },
  504: {
    name: 'GatewayTimeout',
    description: 'The query exceeded its time limit',
    headers: PRE_AUTH_HEADERS,
    content: errorContent({ timeout: queryTimedOut() }),
  },
};

/** The error responses of the document: its `components.responses`. */
export function errorResponseComponents(): Record<string, ResponseObject> {
  return Object.fromEntries(Object.values(ERROR_RESPONSES).map(({ name, ...response }) => [name, response]));
}

/**
 * The error responses of one operation, by status: all, except those about a body for operations without one.
 */
export function errorResponseReferences({ hasBody = false } = {}): Record<string, ReferenceObject> {
  const references = Object.entries(ERROR_RESPONSES)
    .filter(([status]) => hasBody || status !== '413')
    .map(([status, { name }]) => [status, { $ref: `#/components/responses/${name}` }]);
  return Object.fromEntries(references) as Record<string, ReferenceObject>;
}

/** The plain error body, with an example of each possible `detail`. */
function errorContent(details: Readonly<Record<string, ApiError>>) {
  const examples = Object.entries(details).map(([name, { detail }]) => [name, { value: { detail } }]);
  return {
    ...jsonContent(ErrorBody, {
      examples: Object.fromEntries(examples) as Record<string, { value: object }>,
    }),
    [PROBLEM]: { schema: { $ref: getSchemaPath(Problem) } },
  };
}

function jsonContent(body: typeof ErrorBody | typeof ValidationErrorBody, examples: object) {
  return { 'application/json': { schema: { $ref: getSchemaPath(body) }, ...examples } };
}
