import { Slices } from '../../shared/async/slices.js';
import { payloadTooLarge } from '../../platform/http/request-body.js';

/**
 * The work for one body. It runs in slices, for a limited time, and only while its sender waits for the
 * response.
 */
export class BodyWork extends Slices {
  private pastMs = 0;

  /**
   * The work waits until `begin` is called.
   *
   * @param signal its reason is thrown where the work gives way
   */
  constructor(
    private readonly maxMs: number,
    readonly signal: AbortSignal,
  ) {
    super();
    this.startedAt = Infinity;
  }

  /** Milliseconds for which the work held the event loop. */
  get spentMs(): number {
    return this.pastMs + this.elapsedMs;
  }

  /** @throws ApiError 413 if the work took too long, or the signal's reason */
  override async giveWay(): Promise<void> {
    await super.giveWay();
    this.signal.throwIfAborted();
    if (this.pastMs > this.maxMs)
      throw payloadTooLarge(`takes longer than ${this.maxMs / 1000} seconds (COLLECTOR_MAX_BODY_SECONDS)`);
  }

  override async wait<T>(other: Promise<T>): Promise<T> {
    this.pastMs += this.elapsedMs;
    return super.wait(other);
  }
}
