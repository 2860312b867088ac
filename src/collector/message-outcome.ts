import { ApiError } from '../http/api-error.js';
import type { MessageOutcome } from '../observability/metrics/metrics.js';

const OUTCOMES: Readonly<Record<number, MessageOutcome>> = {
  404: 'unknown_client',
  429: 'rate_limited',
  503: 'unavailable',
};

/** The `outcome` label of a message that was not accepted. */
export function classifyOutcome(error: unknown): MessageOutcome {
  if (!(error instanceof ApiError)) return 'failed';
  const status = error.getStatus();
  return OUTCOMES[status] ?? (status < 500 ? 'invalid' : 'failed');
}
