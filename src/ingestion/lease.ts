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
 *
 * @param isInDoubt whether the lease is left to expire after that error
 */
export async function runWithLease<T>(
  { renew, everyMs, release }: Lease,
  work: () => Promise<T>,
  isInDoubt: (error: unknown) => boolean = isOutcomeUnknown,
): Promise<T> {
  const renewal = setInterval(() => void renew().catch(() => undefined), everyMs);
  let isKept = false;
  try {
    return await work();
  } catch (error) {
    isKept = isInDoubt(error);
    throw error;
  } finally {
    clearInterval(renewal);
    if (!isKept) await release().catch(() => undefined);
  }
}
