import { serviceUnavailable } from '../common/http/api-error.js';

/** What one message holds of the budget; it grows with the message. */
export interface Share {
  /** @throws ApiError 503 when the budget has no room for the bytes. */
  take(bytes: number): void;
  release(): void;
}

/**
 * Bytes of messages that have not been answered yet. Beyond it messages are refused, so that a slow store costs the
 * libraries, which keep and repeat what they send, and not this process's memory.
 */
export class Budget {
  private taken = 0;

  constructor(private readonly max: number) {}

  /** Bytes of the messages under way. */
  get used(): number {
    return this.taken;
  }

  open(): Share {
    let mine = 0;
    return {
      take: (bytes) => {
        if (this.taken + bytes > this.max) throw serviceUnavailable();
        this.taken += bytes;
        mine += bytes;
      },
      release: () => {
        this.taken -= mine;
        mine = 0;
      },
    };
  }
}
