import type { HttpResponse } from './conforms.js';

const MADE_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The headers that the contract speaks of, and the one that keeps browsers from guessing at types. */
const DOCUMENTED_HEADERS = [
  'allow',
  'cache-control',
  'content-type',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'www-authenticate',
  'x-content-type-options',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-request-id',
];

/**
 * A response as the contract looks at it: status, the exact text of the body, and the headers it speaks of.
 */
export function seen({ status, headers, text }: HttpResponse) {
  const present = DOCUMENTED_HEADERS.filter((name) => headers[name] !== undefined);
  return { status, text, headers: Object.fromEntries(present.map((name) => [name, headers[name]])) };
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** Headers of every response. */
export const REQUIRED_HEADERS: Readonly<Record<string, unknown>> = {
  'content-type': JSON_TYPE,
  'x-content-type-options': 'nosniff',
  'x-request-id': expect.stringMatching(MADE_ID),
};

/** Headers of every response below `/v1`. */
export const V1_HEADERS = { ...REQUIRED_HEADERS, 'cache-control': 'no-store' };

/** Headers of every response below `/v1` to a request with a valid key. */
export const AUTHENTICATED_HEADERS = {
  ...V1_HEADERS,
  'x-ratelimit-limit': expect.stringMatching(/^\d+$/),
  'x-ratelimit-remaining': expect.stringMatching(/^\d+$/),
  'x-ratelimit-reset': expect.stringMatching(/^\d{10}$/),
  'ratelimit-policy': expect.stringMatching(/^"default";q=\d+;w=60$/),
  ratelimit: expect.stringMatching(/^"default";r=\d+;t=\d+$/),
};

/** The plain error body, to the letter. */
export const detail = (text: string) => `{"detail":"${text}"}`;
