import { setImmediate as nextTurn } from 'node:timers/promises';

/** Longest time in milliseconds for which work holds the event loop. */
const SLICE_MS = 5;

/** Work in short steps: a generator that yields after each. */
export type Steps<T> = Generator<undefined, T>;

/** The last turn of the event loop that was given to work. */
let lastTurn: Promise<unknown> = Promise.resolve();

/**
 * Divides long work into slices, between which the event loop serves others. The work is done in steps, or in
 * a loop that calls `giveWay` where `isOver`.
 */
export class Slices {
  /** When the slice began; infinity while the work waits. */
  protected startedAt = performance.now();

  /** Milliseconds since the slice began; 0 while the work waits. */
  get elapsedMs(): number {
    return Math.max(0, performance.now() - this.startedAt);
  }

  /** Begins a slice after something that is not this work. */
  begin(): void {
    this.startedAt = performance.now();
  }

  get isOver(): boolean {
    return this.elapsedMs >= SLICE_MS;
  }

  /**
   * Resolves in a turn of the event loop in which no other slice begins: several works hold it no longer than
   * one does.
   */
  async giveWay(): Promise<void> {
    lastTurn = lastTurn.then(() => nextTurn());
    await this.wait(lastTurn);
  }

  /** Waits for something that is not this work. */
  async wait<T>(other: Promise<T>): Promise<T> {
    this.startedAt = Infinity;
    try {
      return await other;
    } finally {
      this.begin();
    }
  }

  /** Does work to its end, of which each step is short. */
  async run<T>(steps: Steps<T>): Promise<T> {
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
      if (this.isOver) await this.giveWay();
    }
  }
}
