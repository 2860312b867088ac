import { createCache } from '../shared/create-cache.js';

/**
 * Coordinates the writers of one store. If it is unavailable, so are writes: its methods reject with
 * StoreUnavailable.
 */
export interface WriterCoordinator {
  /**
   * The IDs of names: those assigned before, else the next ones of the sequence.
   *
   * @param highest the highest ID in the store. The sequence continues from there if it is unknown, or if
   *   another writer without this coordinator got further
   * @returns 0 for each name if the sequence is unknown and `highest` is missing
   */
  allocateIds(sequence: string, names: readonly string[], highest?: number): Promise<number[]>;
  /**
   * Acquires locks for `ms` milliseconds, or extends them.
   *
   * @returns false if another owner has one of them; some of the others may be acquired then
   */
  acquireLocks(keys: readonly string[], owner: string, ms: number): Promise<boolean>;
  /** Releases the locks in `keys` that belong to the owner. */
  releaseLocks(keys: readonly string[], owner: string): Promise<void>;
  /**
   * Begins a write for `ms` milliseconds, or extends it.
   *
   * @returns false if writes are paused and this write has not begun yet
   */
  beginWrite(owner: string, ms: number): Promise<boolean>;
  endWrite(owner: string): Promise<void>;
  /**
   * Prevents new writes for `ms` milliseconds, or extends the pause.
   *
   * @returns the number of running writes; -1 if another owner pauses writes
   */
  pauseWrites(owner: string, ms: number): Promise<number>;
  /** Ends the pause if it belongs to the owner. */
  resumeWrites(owner: string): Promise<void>;
  close(): void;
}

/** After that time a name is in the store, which is queried first. */
const REMEMBERED_MS = 3_600_000;
const MAX_REMEMBERED = 200_000;
const SWEEP_EVERY_MS = 60_000;

interface Lock {
  readonly owner: string;
  /** On the clock of `performance.now()`. */
  readonly expiresAt: number;
}

/** Coordinates the writers of this process, and those that reach it through its socket. */
export class LocalCoordinator implements WriterCoordinator {
  private readonly lastIds = new Map<string, number>();
  private readonly ids = createCache<string, number>(MAX_REMEMBERED, { ttl: REMEMBERED_MS });
  private readonly locks = new Map<string, Lock>();
  /** When each write expires, by owner. */
  private readonly writes = new Map<string, number>();
  private pause?: Lock;
  private sweptAt = performance.now();

  allocateIds(sequence: string, names: readonly string[], highest?: number): Promise<number[]> {
    return Promise.resolve(names.map((name) => this.allocateId(sequence, name, highest)));
  }

  acquireLocks(keys: readonly string[], owner: string, ms: number): Promise<boolean> {
    const now = performance.now();
    this.sweep(now);
    const isHeldByOther = (lock: Lock | undefined) => lock && lock.owner !== owner && lock.expiresAt > now;
    if (keys.some((key) => isHeldByOther(this.locks.get(key)))) return Promise.resolve(false);
    const lock = { owner, expiresAt: now + ms };
    for (const key of keys) this.locks.set(key, lock);
    return Promise.resolve(true);
  }

  releaseLocks(keys: readonly string[], owner: string): Promise<void> {
    for (const key of keys) if (this.locks.get(key)?.owner === owner) this.locks.delete(key);
    return Promise.resolve();
  }

  beginWrite(owner: string, ms: number): Promise<boolean> {
    const now = performance.now();
    this.sweep(now);
    if (!this.writes.has(owner) && this.pause && this.pause.expiresAt > now) return Promise.resolve(false);
    this.writes.set(owner, now + ms);
    return Promise.resolve(true);
  }

  endWrite(owner: string): Promise<void> {
    this.writes.delete(owner);
    return Promise.resolve();
  }

  pauseWrites(owner: string, ms: number): Promise<number> {
    const now = performance.now();
    if (this.pause && this.pause.owner !== owner && this.pause.expiresAt > now) return Promise.resolve(-1);
    this.pause = { owner, expiresAt: now + ms };
    this.removeExpiredWrites(now);
    return Promise.resolve(this.writes.size);
  }

  resumeWrites(owner: string): Promise<void> {
    if (this.pause?.owner === owner) this.pause = undefined;
    return Promise.resolve();
  }

  /** Releases all locks of an owner, and ends its write and its pause. */
  releaseAll(owner: string): void {
    for (const [key, lock] of this.locks) if (lock.owner === owner) this.locks.delete(key);
    this.writes.delete(owner);
    if (this.pause?.owner === owner) this.pause = undefined;
  }

  close(): void {
    this.locks.clear();
  }

  private allocateId(sequence: string, name: string, highest: number | undefined): number {
    const key = `${sequence}/${name}`;
    const remembered = this.ids.get(key);
    if (remembered !== undefined) return remembered;
    const last = this.lastIds.get(sequence) ?? highest;
    if (last === undefined) return 0;
    const id = Math.max(last, highest ?? 0) + 1;
    this.lastIds.set(sequence, id);
    this.ids.set(key, id);
    return id;
  }

  /**
   * Removes expired locks and writes: a writer that died does not end them, and a write in doubt is never
   * ended.
   */
  private sweep(now: number): void {
    if (now - this.sweptAt < SWEEP_EVERY_MS) return;
    this.sweptAt = now;
    for (const [key, { expiresAt }] of this.locks) if (expiresAt <= now) this.locks.delete(key);
    this.removeExpiredWrites(now);
  }

  private removeExpiredWrites(now: number): void {
    for (const [owner, expiresAt] of this.writes) if (expiresAt <= now) this.writes.delete(owner);
  }
}
