import { StoreUnavailable } from './clickhouse.errors.js';

/**
 * Lets a fixed number of queries run at once and the others wait for their turn, first come, first served. The line is
 * bounded in length and in time: what cannot be served soon is better refused, and what waits costs memory.
 *
 * What many others wait for goes before them: behind them it would make them wait twice.
 */
export class Turns {
  private free: number;
  /** What starts each of those that wait: those that go first, and the others. */
  private readonly first = new Set<() => void>();
  private readonly others = new Set<() => void>();

  /**
   * @param atOnce how many run at once.
   * @param longest how many may wait.
   * @param patienceMs how long each may wait.
   */
  constructor(
    readonly atOnce: number,
    private readonly longest: number,
    private readonly patienceMs: number,
  ) {
    this.free = atOnce;
  }

  /** How many run now. */
  get running(): number {
    return this.atOnce - this.free;
  }

  /** How many wait now. */
  get waiting(): number {
    return this.first.size + this.others.size;
  }

  /**
   * Runs the work when its turn has come.
   *
   * @param first whether it goes before others that wait.
   * @throws StoreUnavailable when the line is full, or the turn did not come in time; the signal's reason when it aborts
   *   before.
   */
  async take<T>(signal: AbortSignal, work: () => Promise<T>, first = false): Promise<T> {
    signal.throwIfAborted();
    if (this.free > 0) this.free--;
    else await this.wait(signal, first ? this.first : this.others);
    try {
      return await work();
    } finally {
      this.pass();
    }
  }

  private wait(signal: AbortSignal, line: Set<() => void>): Promise<void> {
    if (this.waiting >= this.longest)
      return Promise.reject(new StoreUnavailable('too many queries wait already'));
    return new Promise((ok, no) => {
      // Whoever leaves does so at once: a turn passed to one that has left would be lost.
      const leave = () => {
        line.delete(start);
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
      };
      const start = () => {
        leave();
        ok();
      };
      const abort = () => {
        leave();
        no(signal.reason as Error);
      };
      const timer = setTimeout(() => {
        leave();
        no(new StoreUnavailable('no turn came in time'));
      }, this.patienceMs);
      signal.addEventListener('abort', abort, { once: true });
      line.add(start);
    });
  }

  private pass() {
    const [start] = this.first.size > 0 ? this.first : this.others;
    if (start) start();
    else this.free++;
  }
}
