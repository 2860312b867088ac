import { StoreUnavailable } from './clickhouse.errors.js';

/** The largest share of the queue for one group. */
const GROUP_SHARE = 1 / 4;

/**
 * The group has too many queued queries, or waited too long for its own queries; other groups are still
 * served.
 */
export class GroupOverloaded extends StoreUnavailable {}

/** Options of queued work. */
export interface QueueOptions {
  /** Runs before others in the queue: many queries wait for its result. */
  highPriority?: boolean | undefined;
  /** Owner of the work, such as a team or an app. */
  group?: number | undefined;
  /** Called after the work: milliseconds for which the group gets no slot. */
  groupPauseMs?: () => number;
}

/**
 * Limits concurrent queries: a fixed number runs at once, and the others wait in a queue. The queue is
 * bounded in length and in time, because waiting queries cost memory.
 *
 * The queue serves groups in rotation, and within a group first in, first out. No group can use all slots. So
 * a group with many queries delays only itself.
 */
export class QueryLimiter {
  private free: number;
  private readonly runningOfGroup = new Map<Group, number>();
  /** Queued work: of high priority, and the rest. */
  private readonly urgent = new WaitingGroups();
  private readonly others = new WaitingGroups();

  /**
   * @param concurrency how many queries run at once; for one group one fewer, but at least one.
   * @param maxQueueLength how many queries may wait; for one group a quarter.
   * @param maxWaitMs how long each query may wait.
   */
  constructor(
    readonly concurrency: number,
    private readonly maxQueueLength: number,
    private readonly maxWaitMs: number,
  ) {
    this.free = concurrency;
  }

  get running(): number {
    return this.concurrency - this.free;
  }

  get waiting(): number {
    return this.urgent.size + this.others.size;
  }

  /**
   * Runs the work once a slot is free.
   *
   * @throws GroupOverloaded if its group has too many in the queue, or others of the group were before it
   *   until the time limit; StoreUnavailable if the queue is full, or no slot became free in time; the
   *   signal's reason if it aborts first.
   */
  async run<T>(signal: AbortSignal, work: () => Promise<T>, options: QueueOptions = {}): Promise<T> {
    const { group, groupPauseMs } = options;
    signal.throwIfAborted();
    if (this.free > 0 && this.mayRun(group)) this.occupy(group);
    else await this.enqueue(signal, options);
    try {
      return await work();
    } finally {
      this.release(group, groupPauseMs?.() ?? 0);
    }
  }

  private readonly mayRun = (group: Group): boolean =>
    group === undefined || (this.runningOfGroup.get(group) ?? 0) < Math.max(1, this.concurrency - 1);

  private occupy(group: Group): void {
    this.free -= 1;
    if (group !== undefined) this.runningOfGroup.set(group, (this.runningOfGroup.get(group) ?? 0) + 1);
  }

  private release(group: Group, pauseMs: number): void {
    this.free += 1;
    if (pauseMs === 0) this.releaseGroup(group);
    else
      setTimeout(() => {
        this.releaseGroup(group);
        this.startNext();
      }, pauseMs);
    this.startNext();
  }

  private releaseGroup(group: Group): void {
    if (group === undefined) return;
    const running = (this.runningOfGroup.get(group) ?? 0) - 1;
    if (running > 0) this.runningOfGroup.set(group, running);
    else this.runningOfGroup.delete(group);
  }

  private startNext(): void {
    if (this.free === 0) return;
    const next = this.urgent.next(this.mayRun) ?? this.others.next(this.mayRun);
    if (!next) return;
    this.occupy(next.group);
    next.start();
  }

  private enqueue(signal: AbortSignal, { highPriority = false, group }: QueueOptions): Promise<void> {
    const queue = highPriority ? this.urgent : this.others;
    if (group !== undefined && queue.countFor(group) >= Math.max(1, this.maxQueueLength * GROUP_SHARE))
      return Promise.reject(new GroupOverloaded('the query queue of the group is full'));
    if (this.waiting >= this.maxQueueLength)
      return Promise.reject(new StoreUnavailable('the query queue is full'));
    const isBehindOwn = this.runningOfGroup.has(group) || (group !== undefined && queue.countFor(group) > 0);
    return new Promise((ok, no) => {
      // An aborted query leaves the queue at once: a slot given to it would be lost.
      const leave = () => {
        queue.delete(group, start);
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
        no(new (isBehindOwn ? GroupOverloaded : StoreUnavailable)('timed out in the query queue'));
      }, this.maxWaitMs);
      signal.addEventListener('abort', abort, { once: true });
      queue.add(group, start);
    });
  }
}

type Start = () => void;
/** Undefined for work without a group. */
type Group = number | undefined;

/** Queued work by group. */
class WaitingGroups {
  /** The group that is served next comes first. */
  private readonly groups = new Map<Group, Set<Start>>();
  size = 0;

  countFor(group: Group): number {
    return this.groups.get(group)?.size ?? 0;
  }

  add(group: Group, start: Start): void {
    const waiting = this.groups.get(group);
    if (waiting) waiting.add(start);
    else this.groups.set(group, new Set([start]));
    this.size += 1;
  }

  delete(group: Group, start: Start): void {
    const waiting = this.groups.get(group);
    if (!waiting?.delete(start)) return;
    this.size -= 1;
    if (waiting.size === 0) this.groups.delete(group);
  }

  /**
   * Takes the first item of the next group that may run and moves that group to the end; undefined if there
   * is none.
   */
  next(mayRun: (group: Group) => boolean): { group: Group; start: Start } | undefined {
    for (const [group, waiting] of this.groups) {
      const [start] = waiting;
      if (!start || !mayRun(group)) continue;
      this.groups.delete(group);
      this.groups.set(group, waiting);
      return { group, start };
    }
    return undefined;
  }
}
