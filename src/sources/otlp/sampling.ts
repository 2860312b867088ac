import { hash } from 'node:crypto';

/** Digits of a threshold: 56 bits. */
const DIGITS = 14;
const THRESHOLD = /^[0-9a-f]{1,14}$/;

/**
 * The weight of a sampled span, which may be infinite: the inverse of the sampling probability in its
 * `tracestate` (`ot=th:…`, in OpenTelemetry's "TraceState: Probability Sampling"); 1 without a probability.
 *
 * A fraction is rounded up for that share of the spans and down for the others, by a hash of the span's ID.
 * So sums are right, and a span has the same weight in every message.
 */
export function findWeight(traceState: string, spanId: string): number {
  const threshold = findThreshold(traceState);
  if (threshold === undefined || !THRESHOLD.test(threshold)) return 1;
  const rejected = Number.parseInt(threshold.padEnd(DIGITS, '0'), 16) / 16 ** DIGITS;
  const weight = 1 / (1 - rejected);
  const whole = Math.floor(weight);
  const fraction = weight - whole;
  // Also of infinity.
  if (!(fraction > 0)) return whole;
  const share = Number.parseInt(hash('sha256', spanId).slice(0, 12), 16) / 16 ** 12;
  return share < fraction ? whole + 1 : whole;
}

function findThreshold(traceState: string): string | undefined {
  if (!traceState.includes('th:')) return undefined;
  const member = traceState.split(',').find((part) => part.trim().startsWith('ot='));
  const value = member?.trim().slice('ot='.length).split(';');
  return value?.find((part) => part.startsWith('th:'))?.slice('th:'.length);
}
