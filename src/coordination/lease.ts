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

/**
 * The lease was lost before a statement, which was not sent: another owner may have done the same work
 * meanwhile.
 */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/**
 * To be called before each statement that changes the store. It costs nothing while the lease is renewed in
 * time; a process that stood still renews it first.
 *
 * @throws LeaseLost; StoreUnavailable if the coordinator is unavailable
 */
export type Hold = () => Promise<void>;

/**
 * Runs work under a lease that is held already, and releases it afterwards. After an error with an unknown
 * outcome the lease is left to expire: the store may still finish the write.
 *
 * @param isInDoubt whether the lease is left to expire after that error
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
    // Once it has expired, another owner may have had it, and released it again.
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
