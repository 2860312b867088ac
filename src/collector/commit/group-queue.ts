/** Items that are committed together at most, and the bytes they may have together. */
const MAX_ITEMS = 2_000;
const MAX_BYTES = 16 * 1024 * 1024;

interface Waiting<T> {
  item: T;
  bytes: number;
  resolve: () => void;
  reject: (why: unknown) => void;
}

/**
 * Commits what arrives in groups, one after another: a group is what came while the one before it was under way, or
 * within a few milliseconds where none was. So the store gets few large blocks, the more so the busier it is.
 */
export class GroupQueue<T> {
  private readonly waiting: Waiting<T>[] = [];
  private running?: Promise<void>;
  private turn: Promise<unknown> = Promise.resolve();

  /**
   * @param commit writes a group; resolves to the items that cannot be written, with why, and rejects when none can
   * @param lingerMs how long the first item of a group waits for others
   */
  constructor(
    private readonly commit: (items: T[]) => Promise<ReadonlyMap<T, unknown>>,
    private readonly lingerMs: number,
  ) {}

  /** How many wait for a group to take them. */
  get length(): number {
    return this.waiting.length;
  }

  /** Resolves once the item's group is written; rejects when the item or its group cannot be. */
  add(item: T, bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, bytes, resolve, reject });
      this.running ??= this.run();
    });
  }

  /** Does something while no group is committed. */
  between<R>(work: () => Promise<R>): Promise<R> {
    const done = this.turn.then(work);
    this.turn = done.catch(() => undefined);
    return done;
  }

  private async run(): Promise<void> {
    while (this.waiting.length > 0) {
      // Between groups as well: a store that is kept busy with small blocks has to merge them all.
      await new Promise((resolve) => setTimeout(resolve, this.lingerMs));
      await this.between(() => this.commitNext());
    }
    this.running = undefined;
  }

  private async commitNext(): Promise<void> {
    const group = this.takeGroup();
    try {
      const failures = await this.commit(group.map(({ item }) => item));
      for (const { item, resolve, reject } of group)
        if (failures.has(item)) reject(failures.get(item));
        else resolve();
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  private takeGroup(): Waiting<T>[] {
    let bytes = 0;
    const end = this.waiting.findIndex((waiting) => (bytes += waiting.bytes) > MAX_BYTES);
    return this.waiting.splice(0, Math.min(MAX_ITEMS, end === -1 ? MAX_ITEMS : Math.max(1, end)));
  }
}
