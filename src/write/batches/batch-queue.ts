/** Largest number of items of a batch, and their largest total weight. */
const MAX_ITEMS = 2_000;
const MAX_WEIGHT = 16 * 1024 * 1024;
/**
 * If batches take long, the next batch waits a share of the last one's time, up to a limit, so that it is
 * larger. Many senders wait for longer: the engine's work for a batch hardly depends on its items.
 */
const FEW = { maxDelayMs: 100, share: 1 / 2 };
const MANY = { maxDelayMs: 500, share: 2 };
const MANY_ITEMS = 20;

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
  private weight = 0;
  private running?: Promise<void>;
  private last = { ms: 0, items: 0 };
  private endDelay?: () => void;
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
      this.weight += weight;
      if (this.isFull) this.endDelay?.();
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
      if (!this.isFull) await this.delay();
      await this.runExclusive(() => this.commitNext());
    }
    this.running = undefined;
  }

  private get isFull(): boolean {
    return this.count >= MAX_ITEMS || this.weight >= MAX_WEIGHT;
  }

  private delay(): Promise<void> {
    const { maxDelayMs, share } = this.last.items < MANY_ITEMS ? FEW : MANY;
    const delayMs = Math.min(maxDelayMs, Math.max(this.batchDelayMs, share * this.last.ms));
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, delayMs);
      this.endDelay = () => {
        clearTimeout(timer);
        resolve();
      };
    });
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
    this.last = { ms: performance.now() - startedAt, items: batch.length };
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
    this.weight -= batch.reduce((sum, item) => sum + item.weight, 0);
    return batch;
  }
}
