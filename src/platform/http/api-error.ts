import { HttpException } from '@nestjs/common';

/** A response with another status than 200: `{"detail": …}` with its headers (docs/contract.md#errors). */
export class ApiError extends HttpException {
  constructor(
    status: number,
    readonly detail: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super({ detail }, status);
  }
}

/** @param hint for a person who sent something else than an API key: the contract fixes the body */
const challenge = (hint?: string) => ({
  'WWW-Authenticate': 'APIKey',
  ...(hint !== undefined && { 'X-Hint': hint }),
});
/** An error code of RFC 6750. It tells programs this 403 from the one about the plan. */
const INSUFFICIENT_SCOPE = { 'WWW-Authenticate': 'APIKey error="insufficient_scope"' };

export const badRequest = () => new ApiError(400, 'Bad Request');
export const notAuthenticated = (hint?: string) => new ApiError(401, 'Not authenticated', challenge(hint));
export const invalidApiKey = (hint?: string) => new ApiError(401, 'Invalid API key', challenge(hint));
export const premiumRequired = () => new ApiError(403, 'API access requires the Premium plan');
/** @param forbidden an operation or data that the key's scopes do not include */
export const notInScope = (forbidden: string) =>
  new ApiError(403, `This API key does not allow ${forbidden}`, INSUFFICIENT_SCOPE);
export const notFound = () => new ApiError(404, 'Not Found');
export const appNotFound = () => new ApiError(404, 'App not found');
export const requestLogNotFound = () => new ApiError(404, 'Request log not found');
/** @param allow the methods that the path serves, separated by commas. */
export const methodNotAllowed = (allow = 'GET, HEAD') =>
  new ApiError(405, 'Method Not Allowed', { Allow: allow });
/** @param retryAfter whole seconds, at least 1. */
export const rateLimitExceeded = (retryAfter: number) =>
  new ApiError(429, 'Rate limit exceeded', { 'Retry-After': String(retryAfter) });
export const internalServerError = () => new ApiError(500, 'Internal Server Error');
/**
 * The store cannot be reached or is overloaded. `Retry-After` is a second: a restart or a burst lasts at
 * least that long.
 */
export const serviceUnavailable = () =>
  new ApiError(503, 'Service temporarily unavailable', { 'Retry-After': '1' });
export const queryTimedOut = () => new ApiError(504, 'Query timed out');
