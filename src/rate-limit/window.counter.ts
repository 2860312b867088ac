/** Length of a window in milliseconds (docs/contract.md#rate-limit). */
export const WINDOW_MS = 60_000;

/** A key's current window: it begins with the key's first hit and lasts a fixed time, whatever follows. */
export interface RateWindow {
  /** Hits in the window so far, the one that was just counted included. */
  readonly hits: number;
  /** When the window ends, in milliseconds since the Unix epoch; one and the same number for all its hits. */
  readonly endsAtMs: number;
  /** Milliseconds until it ends, by the clock that set the end. */
  readonly leftMs: number;
}

/** Counts hits per key. */
export interface HitCounter {
  /** Counts a hit on `key`, beginning a window where none is open. */
  hit(key: string): Promise<RateWindow>;
  /** The open window of `key` without counting; null when none is open. */
  peek(key: string): Promise<RateWindow | null>;
}

/**
 * Where hits are counted at the moment. `redis`: one count for all instances. `memory`: in this process, because
 * no Redis is configured. `fallback`: in this process, because the configured Redis does not answer.
 */
export type CounterState = 'redis' | 'memory' | 'fallback';

/** The counter that the application counts with; neither method ever rejects. */
export abstract class WindowCounter implements HitCounter {
  abstract readonly state: CounterState;
  abstract hit(key: string): Promise<RateWindow>;
  abstract peek(key: string): Promise<RateWindow | null>;
}

/** Whole seconds after which a client may try again, at least 1: the value of `Retry-After`. */
export function retryAfterSeconds({ leftMs }: RateWindow): number {
  return Math.max(1, Math.ceil(leftMs / 1000));
}
