import { hashUuid } from '../common/hash-uuid.js';

/**
 * The UUID of the request that a span of kind SERVER is: the same span, whenever it comes, is the same request.
 *
 * @param traceId 32 lower-case hex digits
 * @param spanId 16 of them
 */
export function findRequestUuid(traceId: string, spanId: string): string {
  return hashUuid(`${traceId}${spanId}`);
}
