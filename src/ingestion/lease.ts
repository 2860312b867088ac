import { isOutcomeUnknown } from '../clickhouse/clickhouse.errors.js';

/** Locks that expire unless they are renewed. */
export interface Lease {
  renew: () => Promise<unknown>;
  everyMs: number;
  release: () => Promise<void>;
}

/**
 * Runs work under a lease that is held already, and releases it afterwards. After an error with an unknown outcome the lease
 * is left to expire: the store may still finish the write.
 */
export async function runWithLease<T>(
  { renew, everyMs, release }: Lease,
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
