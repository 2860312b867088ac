import { hashUuid } from '../shared/hash-uuid.js';

/**
 * The UUID of the request of a SERVER span. If a span arrives twice, it is the same request.
 *
 * @param traceId 32 lower-case hex digits
 * @param spanId 16 lower-case hex digits
 */
export function findRequestUuid(traceId: string, spanId: string): string {
  return hashUuid(`${traceId}${spanId}`);
}
