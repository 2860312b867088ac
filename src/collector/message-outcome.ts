import { ApiError } from '../http/api-error.js';
import type { MessageOutcome } from '../observability/metrics/metrics.js';

const OUTCOMES: Readonly<Record<number, MessageOutcome>> = {
  404: 'unknown_client',
  429: 'rate_limited',
  503: 'unavailable',
};

/** What became of a message that was not taken, as the metrics call it. */
export function classifyOutcome(error: unknown): MessageOutcome {
  if (!(error instanceof ApiError)) return 'failed';
  const status = error.getStatus();
  return OUTCOMES[status] ?? (status < 500 ? 'invalid' : 'failed');
}
