import type { ApiError } from '../../platform/http/api-error.js';
import { payloadTooLarge } from '../../platform/http/request-body.js';

/** What every body may unpack to: a few equal lines are no attack. */
const ALWAYS_UNPACKED_BYTES = 1024 * 1024;

/** How much a compressed body may unpack to: so many times its size, within the limit of its kind. */
export class UnpackLimit {
  constructor(
    readonly maxBytes: number,
    private readonly maxRatio: number,
  ) {}

  /** @param bytes of the body as it arrived, or of what arrived so far */
  find(bytes: number): number {
    return Math.min(this.maxBytes, Math.max(ALWAYS_UNPACKED_BYTES, bytes * this.maxRatio));
  }

  /** The error of a body that unpacks to more. */
  explain(bytes: number): ApiError {
    return this.find(bytes) === this.maxBytes
      ? payloadTooLarge()
      : payloadTooLarge(`unpacks to more than ${this.maxRatio} times its size (COLLECTOR_MAX_UNPACK_RATIO)`);
  }
}
