import { rateLimitExceeded, serviceUnavailable } from '../http/api-error.js';

/** The part of the budget that one app may hold. */
const APP_SHARE = 1 / 4;
const RETRY_AFTER_SECONDS = 1;

/** What one message holds of the budget. */
export interface Reservation {
  /**
   * Holds so many bytes from now on, instead of what it held before.
   *
   * @throws ApiError 429 when the app would hold more than its share, 503 when the budget has no room. A message that is
   *   the only one of its app, or of all, is never refused: the limits on messages bound it.
   */
  resize(bytes: number): void;
  release(): void;
}

/**
 * Memory for messages that have no response yet, in bytes. It is shared by app, so that one app that sends too much, or stalls,
 * costs itself; client libraries keep what is refused and send it again.
 */
export class MemoryBudget {
  private total = 0;
  private readonly byApp = new Map<number, number>();

  constructor(private readonly max: number) {}

  /** Bytes held by all messages. */
  get used(): number {
    return this.total;
  }

  open(appId: number): Reservation {
    let own = 0;
    const hold = (bytes: number) => {
      const appBytes = (this.byApp.get(appId) ?? 0) + bytes - own;
      this.total += bytes - own;
      own = bytes;
      if (appBytes > 0) this.byApp.set(appId, appBytes);
      else this.byApp.delete(appId);
    };
    return {
      resize: (bytes) => {
        const others = this.total - own;
        const otherAppBytes = (this.byApp.get(appId) ?? 0) - own;
        if (bytes > own && otherAppBytes > 0 && otherAppBytes + bytes > this.max * APP_SHARE)
          throw rateLimitExceeded(RETRY_AFTER_SECONDS);
        if (bytes > own && others > 0 && others + bytes > this.max) throw serviceUnavailable();
        hold(bytes);
      },
      release: () => {
        hold(0);
      },
    };
  }
}
