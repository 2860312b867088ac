/** Length of a window in milliseconds (docs/contract.md#rate-limit). */
export const WINDOW_MS = 60_000;

/** A key's current window: it begins with the key's first hit and has a fixed length. */
export interface RateWindow {
  /** Hits in the window so far, including the current one. */
  readonly hits: number;
  /** End of the window in milliseconds since the Unix epoch; the same for all its hits. */
  readonly endsAtMs: number;
  /** Milliseconds until the end, by the clock that set it. */
  readonly leftMs: number;
}

/**
 * Where hits are currently counted. `redis`: one count for all instances. `memory`: in this process, because
 * no Redis is configured. `fallback`: in this process, because the configured Redis is unavailable.
 */
export type CounterState = 'redis' | 'memory' | 'fallback';

/** Counts hits per key. The methods of the application's counter never reject. */
export abstract class WindowCounter {
  abstract readonly state: CounterState;
  /** Counts a hit on `key`; begins a window if none is open. */
  abstract hit(key: string): Promise<RateWindow>;
  /** The open window of `key`, without counting; null if none is open. */
  abstract peek(key: string): Promise<RateWindow | null>;
}

export type HitCounter = Pick<WindowCounter, 'hit' | 'peek'>;

/** Whole seconds after which a client may try again, at least 1: the value of `Retry-After`. */
export function retryAfterSeconds({ leftMs }: RateWindow): number {
  return Math.max(1, Math.ceil(leftMs / 1000));
}
