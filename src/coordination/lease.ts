import { isOutcomeUnknown } from '../store/client/clickhouse.errors.js';

/** Locks that expire unless they are renewed. */
export interface Lease {
  /** When it was acquired, on the clock of `performance.now()`. */
  acquiredAt: number;
  /** How long it is held after it was acquired or renewed. */
  heldMs: number;
  /** Resolves to false if it is another owner's. */
  renew: () => Promise<boolean>;
  everyMs: number;
  release: () => Promise<void>;
}

/** The lease was lost before a statement was sent. Another owner may have done the same work. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/**
 * Checks that the lease is still held; called before each statement that changes the store. It costs nothing
 * while the lease is renewed in time; after a pause of the process it renews the lease first.
 *
 * @throws LeaseLost; StoreUnavailable if the coordinator is unavailable
 */
export type Hold = () => Promise<void>;

/**
 * Runs work under an acquired lease and releases the lease afterwards. After an error with an unknown outcome
 * the lease is left to expire, because the store may still finish the write.
 *
 * @param isInDoubt whether the outcome is unknown after that error
 */
export async function runWithLease<T>(
  { acquiredAt, heldMs, renew, everyMs, release }: Lease,
  work: (hold: Hold) => Promise<T>,
  isInDoubt: (error: unknown) => boolean = isOutcomeUnknown,
): Promise<T> {
  let heldUntil = acquiredAt + heldMs;
  const state = { isLost: false };
  const extend = async () => {
    const at = performance.now();
    // After the expiry another owner may have acquired and released the lease.
    if (at > heldUntil || !(await renew())) state.isLost = true;
    else heldUntil = Math.max(heldUntil, at + heldMs);
  };
  const hold = async () => {
    const isLate = performance.now() > heldUntil - heldMs + 2 * everyMs;
    if (isLate && !state.isLost) await extend();
    if (state.isLost) throw new LeaseLost('a lease expired: another process may have done the same work');
  };
  const renewal = setInterval(() => void extend().catch(() => undefined), everyMs);
  let isKept = false;
  try {
    return await work(hold);
  } catch (error) {
    isKept = isInDoubt(error);
    throw error;
  } finally {
    clearInterval(renewal);
    if (!isKept) await release().catch(() => undefined);
  }
}
