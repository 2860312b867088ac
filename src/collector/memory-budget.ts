import { rateLimitExceeded, serviceUnavailable } from '../http/api-error.js';

/** The share of the budget that one app may use. */
const APP_SHARE = 1 / 4;
const RETRY_AFTER_SECONDS = 1;

/** The memory that one message reserves. */
export interface Reservation {
  /**
   * Changes the reservation to this number of bytes.
   *
   * @throws ApiError 429 if the app would exceed its share, 503 if the budget is exhausted. A message that is
   *   the only one of its app, or of all, is never refused, because the size of a message is limited.
   */
  resize(bytes: number): void;
  release(): void;
}

/**
 * Memory for messages in flight, in bytes. Each app has a share, so that an app that sends too much, or stalls, affects only
 * itself. This is back-pressure: client libraries buffer and retry, and our heap does not grow.
 */
export class MemoryBudget {
  private total = 0;
  private readonly byApp = new Map<number, number>();

  constructor(private readonly max: number) {}

  /** Bytes reserved by all messages. */
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
