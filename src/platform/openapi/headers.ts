import type { HeaderObject, ReferenceObject } from '@nestjs/swagger';
import { EXAMPLES } from './examples.js';

type References = Readonly<Record<string, ReferenceObject>>;

const count = (description: string, minimum: number, example: number): HeaderObject => ({
  description,
  required: true,
  schema: { type: 'integer', minimum },
  example,
});

/** All headers of the document by name: its `components.headers`. A required header is on each response that
 * refers to it. */
export const RESPONSE_HEADERS = {
  'X-Request-Id': {
    description: "The request's ID: the client's `X-Request-Id`, or a new UUID",
    required: true,
    schema: { type: 'string', minLength: 1, maxLength: 128, pattern: '^[!-~]+$' },
    example: '5f0c7a52-0f0e-4c3c-9c55-9a0d6c7c1f8e',
  },
  'X-RateLimit-Limit': count('Maximum requests allowed per minute', 1, 100),
  'X-RateLimit-Remaining': count('Requests remaining in the current window', 0, 99),
  'X-RateLimit-Reset': count('Unix timestamp, in whole seconds, at which the limit resets', 0, 1795220160),
  'RateLimit-Policy': {
    description: 'The limit, as in draft-ietf-httpapi-ratelimit-headers: `q` requests in `w` seconds',
    required: true,
    schema: { type: 'string', pattern: '^"default";q=\\d+;w=\\d+$' },
    example: '"default";q=100;w=60',
  },
  RateLimit: {
    description: 'The state of the limit, as in the same draft: `r` requests remain for `t` seconds',
    required: true,
    schema: { type: 'string', pattern: '^"default";r=\\d+;t=\\d+$' },
    example: '"default";r=99;t=60',
  },
  'Retry-After': count('Whole seconds to wait before the next try', 1, 17),
  Link: {
    description: 'The next page, relative to the URL of this one; present only if there is one',
    required: false,
    schema: { type: 'string', pattern: '^<\\?[!-;=?-~]+>; rel="next"$' },
    example: `<?limit=100&next_token=${EXAMPLES.next_token}>; rel="next"`,
  },
  ETag: {
    description: 'A hash of the body for `If-None-Match`; present only if what it describes lies in the past',
    required: false,
    schema: { type: 'string', pattern: '^(W/)?"[\\w-]+"$' },
    example: '"Rv8Kn3tQ3l0bW5mW1u0t2mQkYp0dJm6Vw2yS1s8cJrE"',
  },
  'X-Percentile-Accuracy': {
    description:
      'How far percentiles can be from the exact ones: a relative error, and milliseconds on top of it (`+1ms` for the ' +
      'rounding to whole milliseconds, `+6ms` with bins of 10 ms)',
    required: false,
    schema: { type: 'string', pattern: '^\\d+(\\.\\d+)? \\+\\d+ms$' },
    example: '0.011 +6ms',
  },
  'X-Consumer-Coverage': {
    description:
      'Of the requests that applications counted by a metric without consumers, the part whose spans arrived. Numbers ' +
      'by consumer are estimates then; present only if it is less than 1',
    required: false,
    schema: { type: 'string', pattern: '^0(\\.\\d{1,3})?$' },
    example: '0.098',
  },
  'X-Logs-Left-Out': {
    description: 'How many log records of the request are not in `logs`; present only if there are any',
    required: false,
    schema: { type: 'string', pattern: '^[1-9]\\d*$' },
    example: '205',
  },
  'X-Ignored-Parameters': {
    description:
      'Sent parameters, or members of the body, that have no effect, each with the one that may be meant; present only if ' +
      'there are any',
    required: false,
    schema: { type: 'string', maxLength: 1024, pattern: '^[ -~]+$' },
    example: 'since (did you mean start?), foo',
  },
  'X-Hint': {
    description:
      'For people who sent another credential than an API key, or sent it in another way; else absent',
    required: false,
    schema: { type: 'string', maxLength: 200, pattern: '^[ -~]+$' },
    example: 'Send the API key in the header Api-Key, not as Authorization: Bearer',
  },
  'WWW-Authenticate': {
    description: 'How to authenticate: with an API key; of a 403, with one that has the scope',
    required: true,
    schema: { type: 'string', enum: ['APIKey', 'APIKey error="insufficient_scope"'] },
    example: 'APIKey',
  },
} as const satisfies Record<string, HeaderObject>;

export type HeaderName = keyof typeof RESPONSE_HEADERS;

/** The headers of every response to a request with a valid key. */
export const AUTHENTICATED_HEADERS = [
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
] as const;

/** The headers of a response after the parameters were read. */
export const READ_HEADERS = [...AUTHENTICATED_HEADERS, 'X-Ignored-Parameters'] as const;

/** Headers of every response. */
export function requiredHeaders(names: readonly HeaderName[]): References {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Headers of responses that may be without them. */
export function optionalHeaders(
  names: readonly HeaderName[],
): Record<string, HeaderObject | ReferenceObject> {
  return Object.fromEntries(
    names.map((name) => {
      const header: HeaderObject = RESPONSE_HEADERS[name];
      return [
        name,
        header.required ? { ...header, required: false } : { $ref: `#/components/headers/${name}` },
      ];
    }),
  );
}
