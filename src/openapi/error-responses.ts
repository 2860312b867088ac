import { type ReferenceObject, type ResponseObject, getSchemaPath } from '@nestjs/swagger';
import { payloadTooLarge } from '../collector/request-body.js';
import {
  type ApiError,
  appNotFound,
  internalServerError,
  invalidApiKey,
  notAuthenticated,
  premiumRequired,
  queryTimedOut,
  rateLimitExceeded,
  requestLogNotFound,
  serviceUnavailable,
} from '../http/api-error.js';
import { belowMinimum, faultAt } from '../validation/issues.js';
import { ErrorBody, ValidationErrorBody } from './errors.dto.js';
import { WITH_KEY, always, onceJudged } from './headers.js';

const EARLY = { ...always(['X-Request-Id']), ...onceJudged(WITH_KEY.slice(1)) };
const EARLY_WITH_RETRY = { ...EARLY, ...always(['Retry-After']) };

/** Every answer other than 200 (docs/contract.md#errors), by status: the name of its component, and the component. */
const FAILURES: Readonly<Record<number, readonly [name: string, ResponseObject]>> = {
  401: [
    'Unauthorized',
    {
      description: 'No API key, or not a valid one',
      headers: always(['X-Request-Id', 'WWW-Authenticate']),
      content: errors({ missing: notAuthenticated(), invalid: invalidApiKey() }),
    },
  ],
  403: [
    'Forbidden',
    {
      description: "The team's plan is not premium",
      headers: always(WITH_KEY),
      content: errors({ plan: premiumRequired() }),
    },
  ],
  404: [
    'NotFound',
    {
      description: 'Unknown, expired, or not of this team: these look the same',
      headers: always(WITH_KEY),
      content: errors({ app: appNotFound(), request: requestLogNotFound() }),
    },
  ],
  413: [
    'PayloadTooLarge',
    {
      description: 'The body has more than 64 KB',
      headers: always(WITH_KEY),
      content: errors({ body: payloadTooLarge() }),
    },
  ],
  422: [
    'ValidationFailure',
    {
      description: 'Invalid parameters or body: every fault of the request, those of the path first',
      headers: always(WITH_KEY),
      content: json(ValidationErrorBody, {
        example: { detail: [faultAt('query', 'limit', '0', belowMinimum(1))] },
      }),
    },
  ],
  429: [
    'TooManyRequests',
    {
      description:
        'Too many requests with this key, or too many invalid keys from this address; the latter is answered without ' +
        'the `X-RateLimit-*` headers',
      headers: EARLY_WITH_RETRY,
      content: errors({ exceeded: rateLimitExceeded(1) }),
    },
  ],
  500: [
    'InternalServerError',
    {
      description: 'Anything else',
      headers: EARLY,
      content: errors({ error: internalServerError() }),
    },
  ],
  503: [
    'ServiceUnavailable',
    {
      description: 'The store cannot be reached, or is overloaded',
      headers: EARLY_WITH_RETRY,
      content: errors({ unavailable: serviceUnavailable() }),
    },
  ],
  504: [
    'GatewayTimeout',
    {
      description: 'The query ran past its time limit',
      headers: EARLY,
      content: errors({ timeout: queryTimedOut() }),
    },
  ],
};

/** The answers other than 200, once for the whole document: its `components.responses`. */
export function failureComponents(): Record<string, ResponseObject> {
  return Object.fromEntries(Object.values(FAILURES));
}

/** The same for one operation, by status: each can answer with all of them, but for what concerns a body. */
export function failureReferences({ hasBody = false } = {}): Record<string, ReferenceObject> {
  const references = Object.entries(FAILURES)
    .filter(([status]) => hasBody || status !== '413')
    .map(([status, [name]]) => [status, { $ref: `#/components/responses/${name}` }]);
  return Object.fromEntries(references) as Record<string, ReferenceObject>;
}

/** The plain error body, with an example of each `detail` that it can have. */
function errors(answers: Readonly<Record<string, ApiError>>) {
  const examples = Object.entries(answers).map(([name, { detail }]) => [name, { value: { detail } }]);
  return json(ErrorBody, { examples: Object.fromEntries(examples) as Record<string, { value: object }> });
}

function json(body: typeof ErrorBody | typeof ValidationErrorBody, examples: object) {
  return { 'application/json': { schema: { $ref: getSchemaPath(body) }, ...examples } };
}
