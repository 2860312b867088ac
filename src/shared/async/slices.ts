import { setImmediate as nextTurn } from 'node:timers/promises';

/** Longest time in milliseconds for which work holds the event loop. */
const SLICE_MS = 5;

/** Work in short steps: a generator that yields after each. */
export type Steps<T> = Generator<undefined, T>;

/** Does work in steps without a pause. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Resolves when the latest slice may begin. */
let lastTurn: Promise<unknown> = Promise.resolve();

/**
 * Divides long work into slices, so that the event loop serves other work between them. The work either
 * consists of steps, or is a loop that calls `giveWay` whenever `isOver`.
 */
export class Slices {
  /** Milliseconds of work before the last wait. */
  protected workedMs = 0;
  /** Milliseconds of work before the slice. */
  protected beforeMs = 0;
  /** When the work began or went on; infinity while it waits. */
  protected startedAt = performance.now();

  /** Milliseconds for which the work held the event loop. */
  get spentMs(): number {
    return this.workedMs + Math.max(0, performance.now() - this.startedAt);
  }

  /** Begins, or goes on after waiting. */
  begin(): void {
    this.startedAt = performance.now();
  }

  get isOver(): boolean {
    return this.spentMs - this.beforeMs >= SLICE_MS;
  }

  /**
   * Resolves in a turn of the event loop in which no other slice begins: so several works together hold the
   * loop no longer than one.
   */
  async giveWay(): Promise<void> {
    // Twice: after input was handled, the first one resolves in the same turn.
    lastTurn = lastTurn.then(() => nextTurn()).then(() => nextTurn());
    await this.wait(lastTurn);
    this.beforeMs = this.workedMs;
  }

  /** Waits for other work. The slice goes on afterwards: the event loop may not have served anyone else. */
  async wait<T>(other: Promise<T>): Promise<T> {
    this.workedMs = this.spentMs;
    this.startedAt = Infinity;
    try {
      return await other;
    } finally {
      this.begin();
    }
  }

  /** Calls for each item; each call must be short. */
  async forEach<T>(items: Iterable<T>, call: (item: T) => void): Promise<void> {
    for (const item of items) {
      call(item);
      if (this.isOver) await this.giveWay();
    }
  }

  /** Runs all steps of the work; each step must be short. */
  async run<T>(steps: Steps<T>): Promise<T> {
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
      if (this.isOver) await this.giveWay();
    }
  }
}
