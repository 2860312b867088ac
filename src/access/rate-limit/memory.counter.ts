import { type RateWindow, WINDOW_MS, WindowCounter } from './window.counter.js';

interface OpenWindow {
  hits: number;
  /** The end as reported to clients. */
  readonly endsAtMs: number;
  /** The end by this process's clock; it differs if the window began in a counter with another clock. */
  readonly closesAtMs: number;
}

interface MemoryCounterOptions {
  /** Length of a window in milliseconds. */
  windowMs?: number;
  /** Largest number of windows of one kind of key; a new one evicts the oldest. */
  maxWindows?: number;
  /** Milliseconds since the Unix epoch. */
  now?: () => number;
}

/**
 * Number of old windows that are checked for each new one: more than one, so that expired windows decrease,
 * but few, so that no request is slow.
 */
const SWEPT_PER_NEW = 2;

type Windows = Map<string, OpenWindow>;

/**
 * Fixed windows in this process. The kind of a key is its prefix before the colon. Windows of one kind never
 * evict those of another, so failed attempts cannot evict the counts of keys.
 */
export class MemoryCounter extends WindowCounter {
  readonly state = 'memory';
  private readonly windowsByKind = new Map<string, Windows>();
  private readonly windowMs: number;
  private readonly maxWindows: number;
  private readonly now: () => number;

  constructor({ windowMs = WINDOW_MS, maxWindows = 100_000, now = Date.now }: MemoryCounterOptions = {}) {
    super();
    this.windowMs = windowMs;
    this.maxWindows = maxWindows;
    this.now = now;
  }

  /** Number of windows, including expired ones that are not removed yet. */
  get size() {
    return [...this.windowsByKind.values()].reduce((sum, { size }) => sum + size, 0);
  }

  hit(key: string): Promise<RateWindow> {
    const now = this.now();
    const endsAtMs = now + this.windowMs;
    const window = this.open(key, now) ?? this.begin(key, { hits: 0, endsAtMs, closesAtMs: endsAtMs }, now);
    window.hits += 1;
    return Promise.resolve(toRateWindow(window, now));
  }

  /** Sets a window to the state of another counter, so that counting continues from there. */
  seed(key: string, { hits, endsAtMs, leftMs }: RateWindow) {
    const now = this.now();
    const window = this.open(key, now);
    if (window?.endsAtMs === endsAtMs) window.hits = Math.max(window.hits, hits);
    else this.begin(key, { hits, endsAtMs, closesAtMs: now + leftMs }, now);
  }

  peek(key: string): Promise<RateWindow | null> {
    const now = this.now();
    const window = this.open(key, now);
    return Promise.resolve(window ? toRateWindow(window, now) : null);
  }

  private windowsFor(key: string): Windows {
    const kind = key.slice(0, Math.max(0, key.indexOf(':')));
    const windows = this.windowsByKind.get(kind) ?? new Map<string, OpenWindow>();
    this.windowsByKind.set(kind, windows);
    return windows;
  }

  private open(key: string, now: number) {
    const window = this.windowsFor(key).get(key);
    return window && this.isOpen(window, now) ? window : undefined;
  }

  /**
   * An end further away than the window's length shows that the system clock was set back. The window then
   * counts as ended.
   */
  private isOpen({ closesAtMs }: OpenWindow, now: number) {
    return now < closesAtMs && closesAtMs <= now + this.windowMs;
  }

  private begin(key: string, window: OpenWindow, now: number) {
    const windows = this.windowsFor(key);
    // Deleted first, so that a key's new window comes after all older ones.
    windows.delete(key);
    this.sweep(windows, now);
    windows.set(key, window);
    return window;
  }

  /**
   * All windows have the same length, so the map's order, oldest first, is nearly the order in which they
   * end.
   */
  private sweep(windows: Windows, now: number) {
    let swept = 0;
    for (const [key, window] of windows) {
      const isNeeded = this.isOpen(window, now) && windows.size < this.maxWindows;
      if (isNeeded || swept === SWEPT_PER_NEW) return;
      windows.delete(key);
      swept += 1;
    }
  }
}

function toRateWindow({ hits, endsAtMs, closesAtMs }: OpenWindow, now: number): RateWindow {
  return { hits, endsAtMs, leftMs: closesAtMs - now };
}
