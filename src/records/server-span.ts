import { hash } from 'node:crypto';
import { toRequestUuid } from '../shared/hash-uuid.js';

/**
 * The UUID of the request of a SERVER span. If a span arrives twice, it is the same request.
 *
 * @param traceId 32 lower-case hex digits
 * @param spanId 16 lower-case hex digits
 * @param startNs nanoseconds since the Unix epoch
 */
export function findRequestUuid(traceId: string, spanId: string, startNs: bigint): string {
  return toRequestUuid(hash('sha256', `${traceId}${spanId}`), Number(startNs / 1_000_000n));
}

/** The half of a request's UUID that is made of its span alone, without its time. */
export function getSpanHalf(requestUuid: string): string {
  return requestUuid.slice(0, 18);
}

/** What `getSpanHalf` returns for the request of a SERVER span whose start is not known. */
export function hashSpan(traceId: string, spanId: string): string {
  return getSpanHalf(findRequestUuid(traceId, spanId, 0n));
}
