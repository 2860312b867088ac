import type { HeaderObject, ReferenceObject } from '@nestjs/swagger';

type References = Readonly<Record<string, ReferenceObject>>;

const count = (description: string, minimum: number, example: number): HeaderObject => ({
  description,
  required: true,
  schema: { type: 'integer', minimum },
  example,
});

/** All headers of the document by name: its `components.headers`. A required header is on each response that
 * refers to it. */
export const HEADERS = {
  'X-Request-Id': {
    description: "The request's ID: the client's `X-Request-Id`, or a new UUID",
    required: true,
    schema: { type: 'string', minLength: 1, maxLength: 128, pattern: '^[!-~]+$' },
    example: '5f0c7a52-0f0e-4c3c-9c55-9a0d6c7c1f8e',
  },
  'X-RateLimit-Limit': count('Maximum requests allowed per minute', 1, 100),
  'X-RateLimit-Remaining': count('Requests remaining in the current window', 0, 99),
  'X-RateLimit-Reset': count('Unix timestamp, in whole seconds, at which the limit resets', 0, 1795220160),
  'Retry-After': count('Whole seconds to wait before the next try', 1, 17),
  'X-Percentile-Accuracy': {
    description:
      'How far percentiles can be from the exact ones: a relative error, and milliseconds on top of it (`+5ms` for bins of 10 ms)',
    required: false,
    schema: { type: 'string', pattern: '^\\d+(\\.\\d+)?( \\+\\d+ms)?$' },
    example: '0.011 +5ms',
  },
  'WWW-Authenticate': {
    description: 'How to authenticate: with an API key',
    required: true,
    schema: { type: 'string', enum: ['APIKey'] },
    example: 'APIKey',
  },
} as const satisfies Record<string, HeaderObject>;

export type HeaderName = keyof typeof HEADERS;

/** The headers of every response to a request with a valid key. */
export const AUTHENTICATED_HEADERS = [
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
] as const;

/** Headers of every response. */
export function requiredHeaders(names: readonly HeaderName[]): References {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Headers of responses after the check of the key. */
export function optionalHeaders(names: readonly HeaderName[]): Record<string, HeaderObject> {
  return Object.fromEntries(names.map((name) => [name, { ...HEADERS[name], required: false }]));
}
