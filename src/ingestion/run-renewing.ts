import { isOutcomeUnknown } from '../clickhouse/clickhouse.errors.js';

/**
 * Runs work under locks that expire, renews them meanwhile, and releases them after it. After an error with an unknown outcome
 * they are left to expire: the store may still finish the write.
 */
export async function runRenewing<T>(
  renew: () => Promise<unknown>,
  everyMs: number,
  release: () => Promise<void>,
  work: () => Promise<T>,
): Promise<T> {
  const renewal = setInterval(() => void renew().catch(() => undefined), everyMs);
  let isInDoubt = false;
  try {
    return await work();
  } catch (error) {
    isInDoubt = isOutcomeUnknown(error);
    throw error;
  } finally {
    clearInterval(renewal);
    if (!isInDoubt) await release().catch(() => undefined);
  }
}
