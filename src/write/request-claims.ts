import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { StoreUnavailable } from '../store/client/clickhouse.errors.js';
import { Slices } from '../shared/async/slices.js';
import { withResolvers } from '../shared/async/with-resolvers.js';
import type { WriterCoordinator } from '../coordination/writer-coordinator.js';
import { type Hold, runWithLease } from '../coordination/lease.js';

/** How long claims outlive a dead process: longer than the store needs to finish its last insert. */
const CLAIM_MS = 60_000;
const RENEW_MS = 20_000;
const RETRY_MS = 500;

/**
 * Claims on requests: if several writers have the same request, one after the other checks whether the store
 * has it and writes it. A process has one instance for all its writers; the coordinator connects it with
 * other processes.
 */
export class RequestClaims {
  private readonly owner = randomUUID();
  /** The requests of each claim, with a promise that resolves when it ends. */
  private readonly claims = new Map<readonly string[], Promise<void>>();

  constructor(private readonly coordinator: WriterCoordinator) {}

  /**
   * Runs the work once no other writer has a claim on any of the requests.
   *
   * @param waitMs how long to wait for claims of another process; those of a dead one last a minute
   * @param work calls `hold` before it writes
   * @throws StoreUnavailable if another process keeps its claim for too long, or the coordinator is
   * unavailable
   */
  async run<T>(keys: readonly string[], waitMs: number, work: (hold: Hold) => Promise<T>): Promise<T> {
    if (keys.length === 0) return work(() => Promise.resolve());
    const slices = new Slices();
    // Waits without holding a claim, so that two writers cannot deadlock. There must be no await between the
    // last check and the claim.
    for (let others = this.claimsOn(keys); others.length > 0; others = this.claimsOn(keys))
      await Promise.all(others);
    const { promise, resolve } = withResolvers();
    this.claims.set(keys, promise);
    try {
      if (slices.isOver) await slices.giveWay();
      return await this.runAmongProcesses(keys, waitMs, work);
    } finally {
      this.claims.delete(keys);
      resolve();
    }
  }

  private claimsOn(keys: readonly string[]): Promise<void>[] {
    if (this.claims.size === 0) return [];
    const wanted = new Set(keys);
    return [...this.claims].flatMap(([claimed, ended]) =>
      claimed.some((key) => wanted.has(key)) ? ended : [],
    );
  }

  private async runAmongProcesses<T>(
    keys: readonly string[],
    waitMs: number,
    work: (hold: Hold) => Promise<T>,
  ): Promise<T> {
    const lease = {
      acquiredAt: await this.lockAll(keys, waitMs),
      heldMs: CLAIM_MS,
      renew: () => this.lock(keys),
      everyMs: RENEW_MS,
      release: () => this.unlock(keys),
    };
    return runWithLease(lease, work);
  }

  /** @returns the time at which they were acquired */
  private async lockAll(keys: readonly string[], waitMs: number): Promise<number> {
    const deadline = Date.now() + waitMs;
    for (;;) {
      const at = performance.now();
      if (await this.lock(keys)) return at;
      await this.unlock(keys);
      if (Date.now() > deadline) throw new StoreUnavailable('another process is writing the same requests');
      await pause(RETRY_MS);
    }
  }

  private lock(keys: readonly string[]): Promise<boolean> {
    return this.coordinator.acquireLocks(keys, this.owner, CLAIM_MS);
  }

  private unlock(keys: readonly string[]): Promise<void> {
    return this.coordinator.releaseLocks(keys, this.owner);
  }
}
