import { Slices } from '../../shared/async/slices.js';
import type { ApiError } from '../../platform/http/api-error.js';
import { payloadTooLarge } from '../../platform/http/request-body.js';

/**
 * The work for one body. It runs in slices, for a limited time, and only while its sender waits for the
 * response.
 */
export class BodyWork extends Slices {
  /**
   * The work waits until `begin` is called.
   *
   * @param signal its reason is thrown where the work gives way
   */
  constructor(
    readonly maxMs: number,
    readonly signal: AbortSignal,
  ) {
    super();
    this.startedAt = Infinity;
  }

  /** @throws ApiError 413 if the work took too long, or the signal's reason */
  override async giveWay(): Promise<void> {
    await super.giveWay();
    this.signal.throwIfAborted();
    if (this.spentMs > this.maxMs) throw tooLong(this.maxMs);
  }

  /** Adds what another thread worked for the body. */
  spend(ms: number): void {
    this.workedMs += ms;
    this.beforeMs += ms;
  }
}

export function tooLong(maxMs: number): ApiError {
  return payloadTooLarge(`takes longer than ${maxMs / 1000} seconds (COLLECTOR_MAX_BODY_SECONDS)`);
}
