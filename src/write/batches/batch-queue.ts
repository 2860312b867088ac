/** Largest number of items of a batch, and their largest total weight. */
const MAX_ITEMS = 2_000;
const MAX_WEIGHT = 16 * 1024 * 1024;
/**
 * If batches take long, the next batch waits half of the last one's time, up to this, so that it is larger.
 */
const MAX_DELAY_MS = 100;
const DELAY_SHARE = 1 / 2;

interface Waiting<T> {
  item: T;
  weight: number;
  resolve: () => void;
  reject: (reason: unknown) => void;
}

/**
 * Commits items in batches, one after another (group commit): a batch has the items that arrived during the
 * previous commit and for a while after it. So a busy store gets few large blocks: a block costs it as much
 * as a thousand rows, because each table behind it gets a part. A batch takes items in rotation by group, so
 * that a group with many items delays only itself.
 */
export class BatchQueue<T> {
  /** Waiting items by group; the group that is served next comes first. */
  private readonly waiting = new Map<number, Waiting<T>[]>();
  private count = 0;
  private running?: Promise<void>;
  private lastCommitMs = 0;
  private tail: Promise<unknown> = Promise.resolve();

  /**
   * @param commit writes a batch; resolves to the items that cannot be written, with reasons, and rejects if
   * none can
   * @param batchDelayMs minimum wait of a batch's first item for others
   */
  constructor(
    private readonly commit: (items: T[]) => Promise<ReadonlyMap<T, unknown>>,
    private readonly batchDelayMs: number,
  ) {}

  /** Number of items that wait for a batch. */
  get length(): number {
    return this.count;
  }

  /**
   * Resolves once the item's batch is committed; rejects if the item or its batch cannot be committed.
   *
   * @param weight estimated characters of the item's rows
   * @param group its owner, such as an app
   */
  add(item: T, weight: number, group: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = this.waiting.get(group);
      if (waiting) waiting.push({ item, weight, resolve, reject });
      else this.waiting.set(group, [{ item, weight, resolve, reject }]);
      this.count += 1;
      this.running ??= this.run();
    });
  }

  /** Runs the work while no batch is being committed. */
  runExclusive<R>(work: () => Promise<R>): Promise<R> {
    const done = this.tail.then(work);
    this.tail = done.catch(() => undefined);
    return done;
  }

  private async run(): Promise<void> {
    while (this.count > 0) {
      const delayMs = Math.min(MAX_DELAY_MS, Math.max(this.batchDelayMs, DELAY_SHARE * this.lastCommitMs));
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      await this.runExclusive(() => this.commitNext());
    }
    this.running = undefined;
  }

  private async commitNext(): Promise<void> {
    const batch = this.takeBatch();
    const startedAt = performance.now();
    try {
      const rejected = await this.commit(batch.map(({ item }) => item));
      for (const { item, resolve, reject } of batch)
        if (rejected.has(item)) reject(rejected.get(item));
        else resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    this.lastCommitMs = performance.now() - startedAt;
  }

  /** At least one item; an item beyond the largest weight is a batch of its own. */
  private takeBatch(): Waiting<T>[] {
    const batch: Waiting<T>[] = [];
    let weight = 0;
    // A map's iteration includes entries appended during it: groups with more items, in rotation.
    for (const [group, items] of this.waiting) {
      const [next] = items;
      weight += next?.weight ?? 0;
      if (!next || batch.length === MAX_ITEMS || (batch.length > 0 && weight > MAX_WEIGHT)) break;
      batch.push(next);
      items.shift();
      this.waiting.delete(group);
      if (items.length > 0) this.waiting.set(group, items);
    }
    this.count -= batch.length;
    return batch;
  }
}
