/** Items that are committed together at most, and the weight that they may have together. */
const MAX_ITEMS = 2_000;
const MAX_WEIGHT = 16 * 1024 * 1024;

interface Waiting<T> {
  item: T;
  weight: number;
  resolve: () => void;
  reject: (why: unknown) => void;
}

/**
 * Commits items in batches, one batch after another: a batch is what arrived while the one before it was committed, or
 * within a few milliseconds where none was. So the store gets few large blocks, the more so the busier it is.
 */
export class BatchQueue<T> {
  private readonly waiting: Waiting<T>[] = [];
  private running?: Promise<void>;
  private tail: Promise<unknown> = Promise.resolve();

  /**
   * @param commit writes a batch; resolves to the items that cannot be written, with why, and rejects when none can
   * @param batchDelayMs how long the first item of a batch waits for others
   */
  constructor(
    private readonly commit: (items: T[]) => Promise<ReadonlyMap<T, unknown>>,
    private readonly batchDelayMs: number,
  ) {}

  /** How many items wait for a batch. */
  get length(): number {
    return this.waiting.length;
  }

  /**
   * Resolves once the item's batch is committed; rejects when the item or its batch cannot be.
   *
   * @param weight about how many characters the item's rows have
   */
  add(item: T, weight: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, weight, resolve, reject });
      this.running ??= this.run();
    });
  }

  /** Does the work while no batch is committed. */
  runExclusive<R>(work: () => Promise<R>): Promise<R> {
    const done = this.tail.then(work);
    this.tail = done.catch(() => undefined);
    return done;
  }

  private async run(): Promise<void> {
    while (this.waiting.length > 0) {
      // Also between batches: many small inserts create many parts to merge.
      await new Promise((resolve) => setTimeout(resolve, this.batchDelayMs));
      await this.runExclusive(() => this.commitNext());
    }
    this.running = undefined;
  }

  private async commitNext(): Promise<void> {
    const batch = this.takeBatch();
    try {
      const failures = await this.commit(batch.map(({ item }) => item));
      for (const { item, resolve, reject } of batch)
        if (failures.has(item)) reject(failures.get(item));
        else resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  /** At least one item; one that is heavier than a batch may be is a batch of its own. */
  private takeBatch(): Waiting<T>[] {
    let weight = 0;
    const end = this.waiting.findIndex((waiting) => (weight += waiting.weight) > MAX_WEIGHT);
    return this.waiting.splice(0, Math.min(MAX_ITEMS, end === -1 ? MAX_ITEMS : Math.max(1, end)));
  }
}
