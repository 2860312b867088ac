import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { DiskFull, StoreUnavailable, isOutcomeUnknown } from '../store/client/clickhouse.errors.js';
import type { WriterCoordinator } from '../coordination/writer-coordinator.js';
import { type Hold, runWithLease } from '../coordination/lease.js';

/** How long a write outlives a dead process: longer than the store needs to finish its last insert. */
const WRITE_MS = 60_000;
const RENEW_WRITE_MS = 20_000;
/** A pause is short; the pause of a dead process ends after this. */
const PAUSE_MS = 15_000;
const RENEW_PAUSE_MS = 5_000;
const RETRY_MS = 20;
/** Longer than a pause that is not renewed. */
const WAIT_FOR_RESUME_MS = 20_000;
/** Writers must not wait long for a write that hangs, so the pause is ended and tried again. */
const WAIT_FOR_WRITES_MS = 10_000;
/** Longer than the writes of a dead process. */
const PAUSE_WITHIN_MS = 120_000;

/**
 * Each batch is written to several tables. The gate lets batches run concurrently, and lets a backup wait for
 * a moment at which each batch is in all of its tables or in none.
 */
export class WriteGate {
  constructor(private readonly coordinator: WriterCoordinator) {}

  /**
   * Runs the work while writes are not paused.
   *
   * @throws StoreUnavailable if they are paused for too long, or the coordinator is unavailable
   */
  async run<T>(work: (hold: Hold) => Promise<T>): Promise<T> {
    const owner = randomUUID();
    const begin = () => this.coordinator.beginWrite(owner, WRITE_MS);
    const deadline = Date.now() + WAIT_FOR_RESUME_MS;
    let acquiredAt = performance.now();
    while (!(await begin())) {
      if (Date.now() > deadline) throw new StoreUnavailable('writes are paused by a backup');
      await pause(RETRY_MS);
      acquiredAt = performance.now();
    }
    const release = () => this.coordinator.endWrite(owner);
    const lease = { acquiredAt, heldMs: WRITE_MS, renew: begin, everyMs: RENEW_WRITE_MS, release };
    return runWithLease(lease, work, mayStillWrite);
  }

  /**
   * Runs the work while nothing is written.
   *
   * @throws StoreUnavailable if writes or another pause do not end, the coordinator is unavailable, or the
   *   pause was lost while the work ran, because the coordinator forgot it or this process was suspended
   */
  async pause<T>(work: () => Promise<T>): Promise<T> {
    const owner = randomUUID();
    let heldUntil = 0;
    const pauseState = { isLost: false };
    const hold = async () => {
      const at = performance.now();
      const writes = await this.coordinator.pauseWrites(owner, PAUSE_MS);
      if (heldUntil > 0 && (writes !== 0 || at > heldUntil)) pauseState.isLost = true;
      if (writes === 0) heldUntil = at + PAUSE_MS;
      return writes;
    };
    try {
      await this.awaitWrites(hold, owner);
      const renewal = setInterval(() => void hold().catch(() => undefined), RENEW_PAUSE_MS);
      try {
        const result = await work();
        await hold();
        if (pauseState.isLost) throw new StoreUnavailable('writes could not be paused long enough');
        return result;
      } finally {
        clearInterval(renewal);
      }
    } finally {
      await this.coordinator.resumeWrites(owner).catch(() => undefined);
    }
  }

  private async awaitWrites(hold: () => Promise<number>, owner: string): Promise<void> {
    const deadline = Date.now() + PAUSE_WITHIN_MS;
    while (Date.now() < deadline) {
      const resumeAt = Date.now() + WAIT_FOR_WRITES_MS;
      while (Date.now() < resumeAt) {
        const writes = await hold();
        if (writes === 0) return;
        await pause(RETRY_MS);
      }
      await this.coordinator.resumeWrites(owner);
      await pause(1_000);
    }
    throw new StoreUnavailable('writes to the store, or another pause of them, do not end');
  }
}

/**
 * With a full disk the engine has already responded and writes no more. Otherwise a backup would wait for
 * this write, and for each retry.
 */
function mayStillWrite(error: unknown): boolean {
  return isOutcomeUnknown(error) && !(error instanceof DiskFull);
}
